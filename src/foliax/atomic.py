"""Atomic writing: a file is replaced completely, or a failure leaves the old one unchanged."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MAX_NAME_CHARACTERS = 40
"""Characters of the file's name in the temporary name; file systems allow 255 bytes in all."""


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of an empty temporary file, which replaces `path` when the block ends.

    Use it for writers that need a path. The temporary file has an unpredictable name in the same
    folder, and the same ending, by which writers choose a format.

    Args:
        path: The file to create or replace. A symbolic link stays, and its target is replaced. A
            file that exists keeps its permissions.

    Yields:
        The path to write to.

    Raises:
        OSError: The folder does not exist or is not writable, or the disk is full. The old file
            then stays unchanged, and the temporary file is removed.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = target.with_name(f".{secrets.token_hex(8)}-{path.name[-MAX_NAME_CHARACTERS:]}")
    # While it is written, a file that replaces another is readable by its owner only.
    created = os.open(temporary, os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    os.close(created)
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file for writing, which replaces `path` when the block ends.

    Args:
        path: The file to create or replace, as in `atomic_path`.

    Yields:
        The open file.

    Raises:
        OSError: As in `atomic_path`.
    """
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        yield file
