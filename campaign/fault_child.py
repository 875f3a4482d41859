"""Run a foliax command in a child process, with a fault at a chosen system call."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import os
import pathlib
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import foliax.cli.tables
import foliax.evaluation.mass
import foliax.io.run_folder  # noqa: F401  (imported before children are forked, to save time)
from foliax import DequantizedFlow, Training
from foliax.cli import app, console, main
from foliax.estimators import dequantized_flow
from foliax.flows import GaussianMixture

CALLS = ("open", "write", "fsync", "replace")
"""Calls on files that a fault can hit."""

FLOW = DequantizedFlow(GaussianMixture(2), training=Training(steps=40, batch_size=8, eval_every=1))
"""A flow that trains in a second, with many blocks, so that faults hit each stage of a fit."""

NOBODY = 65534
"""The user without rights on Linux."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """What goes wrong at the n-th call on a file below a folder.

    Args:
        call: One of `CALLS`.
        number: Which call, from 1 on.
        error: Name of an error such as "ENOSPC", or of a signal such as "SIGKILL".
        folder: Calls on files elsewhere are not counted.
    """

    call: str
    number: int
    error: str
    folder: Path

    @contextlib.contextmanager
    def inject(self) -> Iterator[None]:
        """Replace the functions by those that fail, while the block runs."""
        count = 0

        def strike(call: str, path: Any) -> None:
            nonlocal count
            if call != self.call or not str(path).startswith(str(self.folder)):
                return
            count += 1
            if count == self.number:
                self._strike(str(path))

        saved = os.open, os.fsync, os.replace, pathlib.Path.open
        _replace_functions(strike)
        try:
            yield
        finally:
            os.open, os.fsync, os.replace, pathlib.Path.open = saved

    def _strike(self, path: str) -> None:
        if self.error.startswith("SIG"):
            os.kill(os.getpid(), signal.Signals[self.error])
            return
        number = getattr(errno, self.error)
        raise OSError(number, os.strerror(number), path)


class FaultyFile(io.BufferedWriter):
    """A file whose writes may fail."""

    def __init__(self, raw: Any, strike: Any):
        super().__init__(raw)
        self.strike = strike

    def write(self, data: Any) -> int:
        self.strike("write", self.name)
        return super().write(data)


def _replace_functions(strike: Any) -> None:
    """Let `strike` see each call with its path before the call happens."""
    real_open, real_fsync, real_replace = os.open, os.fsync, os.replace
    open_path = pathlib.Path.open

    def fake_open(path, *args, **named):
        strike("open", path)
        return real_open(path, *args, **named)

    def fake_fsync(handle):
        strike("fsync", os.readlink(f"/proc/self/fd/{handle}"))
        return real_fsync(handle)

    def fake_replace(source, target, **named):
        strike("replace", target)
        return real_replace(source, target, **named)

    def fake_open_path(self, mode="r", *args, **named):
        file = open_path(self, mode, *args, **named)
        return FaultyFile(file.detach(), strike) if mode == "wb" else file  # type: ignore[attr-defined]

    os.open, os.fsync, os.replace = fake_open, fake_fsync, fake_replace
    pathlib.Path.open = fake_open_path  # type: ignore[method-assign]


def become(user: int, words: list[str]) -> None:
    """Become another user, after a fit elsewhere that imports what this user may not read."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(SystemExit):
        app([w for w in words if w != "--resume"] + ["-o", f"{folder}/a.foliax"])
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def run_command(
    words: list[str],
    log: Path,
    started: Connection,
    fault: Fault | None = None,
    user: int | None = None,
    max_file_bytes: int | None = None,
) -> None:
    """Run a foliax command and exit with its code.

    Args:
        words: The command's words, without "foliax".
        log: Gets stdout and stderr.
        started: Gets a byte when the command handles signals.
        fault: What goes wrong.
        user: Number of the user to become.
        max_file_bytes: The largest file that the process may write, as `ulimit -f` sets it.
    """
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(handle, stream)
    dequantized_flow.FLOW = FLOW
    if user is not None:
        become(user, words)
    if max_file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    prepare = console.enable_compilation_cache

    def prepare_and_tell() -> None:
        prepare()
        started.send_bytes(b"1")

    console.enable_compilation_cache = prepare_and_tell
    sys.argv = ["foliax", *words]
    with contextlib.nullcontext() if fault is None else fault.inject():
        main()
