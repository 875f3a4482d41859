"""Run folders: the progress of a fit, kept in files from which another process resumes it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..atomic import TEMPORARY_NAME, open_atomic
from ..estimators import FitResult
from ..training import Callback, Checkpoint, Record
from ..training.history import CUT_SHORT, INTERRUPTED
from .model_file import dumps, load

try:
    import fcntl
except ImportError:  # Windows has other locks; there, two processes must not share an output.
    fcntl = None

SAVE_SECONDS = 30.0
"""Seconds of training that a kill may lose; saving takes far less."""

MAX_DIFFERENCES = 3
"""Differences between two runs that an error names."""

IDENTITY_NAME, LOCK_NAME = "run.json", "lock"
CHECKPOINT_ENDING, PART_ENDING = ".checkpoint", ".part"


class RunFolderError(ValueError):
    """A run folder that is of another run, damaged, or in use."""


class RunFolder:
    """Files with the progress of one fit. The folder is created when there is something to keep.

    A failure to write is reported once and does not end the fit.

    Args:
        path: The folder.
        identity: What must be equal to resume: a JSON object.
        save_seconds: Seconds between two saves of a training.
        warn: Gets a sentence where progress cannot be kept.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        identity: dict[str, Any],
        *,
        save_seconds: float = SAVE_SECONDS,
        warn: Callable[[str], None] = lambda text: None,
    ):
        self.path = Path(path)
        self.identity = json.loads(json.dumps(identity))
        self.save_seconds = save_seconds
        self.has_progress = False
        self._warn = warn
        self._pending: dict[str, Callable[[Path], None]] = {}
        self._saved_at = time.monotonic()
        self._lock: int | None = None
        self._is_off = False

    def start(self, *, resume: bool) -> str:
        """Look for an earlier run, and lock its folder.

        Args:
            resume: Continue the earlier run. Otherwise its files stay until this run saves its own.

        Returns:
            A sentence on what was found.

        Raises:
            RunFolderError: The earlier run cannot be resumed.
        """
        if not self.path.is_dir():
            return "There is no earlier run to resume: the fit starts over." if resume else ""
        if not self._can_acquire():
            text = f"Another process is fitting, and keeps its progress in {self.path}."
            if resume:
                raise RunFolderError(f"{text} Wait until it ends, or name another output.")
            self._is_off = True
            return f"{text} This run keeps no progress."
        earlier = self._read_identity()
        if earlier is None:
            return f"{self.path} holds nothing to resume: the fit starts over." if resume else ""
        differences = describe_differences(earlier, self.identity)
        if not resume:
            text = f"{self.path} holds the progress of a run that did not end"
            if differences:
                return f"{text}. It differs from this one ({differences}), which replaces it."
            return f"{text}. This run starts over; with --resume it would continue that one."
        if differences:
            raise RunFolderError(
                f"{self.path} is of another run: {differences}. Give the same data and options, or "
                "leave out --resume to start over."
            )
        self.has_progress = True
        return f"Resuming the run in {self.path}."

    def put(self, name: str, write: Callable[[Path], None], *, at_once: bool) -> None:
        """Keep a file.

        Args:
            name: Its name. It replaces an earlier file of this name.
            write: Writes a path, now or when the interval has passed.
            at_once: Write it now.
        """
        self._pending[name] = write
        if at_once or time.monotonic() - self._saved_at >= self.save_seconds:
            self.flush()

    def flush(self) -> None:
        """Write everything that has not been written yet."""
        if self._is_off or not self._pending:
            return
        try:
            self._create()
            for name in list(self._pending):
                self._pending[name](self.path / name)
                del self._pending[name]
        except OSError as error:
            self._warn(f"Progress cannot be kept, and the fit goes on: {error}")
            self._warn = lambda text: None
        self._saved_at = time.monotonic()

    def remove(self) -> None:
        """Remove the folder, unless another process uses it or it holds other files too."""
        if self._lock is None and not self.has_progress:
            return
        self._remove_files()
        with contextlib.suppress(OSError):
            (self.path / LOCK_NAME).unlink(missing_ok=True)
            self.path.rmdir()
        self.has_progress = False

    def close(self) -> None:
        """Let other processes use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _create(self) -> None:
        """Create or take over the folder, before this run's first file."""
        if self.has_progress:
            return
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise OSError(f"{self.path} cannot be created: {error.strerror}.") from error
        if self._lock is None and not self._can_acquire():
            self._is_off = True
            raise BlockingIOError(f"another process uses {self.path}.")
        self._remove_files()
        with open_atomic(self.path / IDENTITY_NAME) as file:
            file.write(json.dumps(self.identity).encode())
        self.has_progress = True

    def _can_acquire(self) -> bool:
        """Lock the folder until the process ends; False where another process has the lock."""
        if fcntl is None:
            return True
        name = self.path / LOCK_NAME
        try:
            handle = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # The other process has just removed it; or the folder is read-only.
            return True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_current = os.path.samestat(os.fstat(handle), os.stat(name))
        except OSError as error:  # Some network file systems have no locks.
            os.close(handle)
            return not isinstance(error, BlockingIOError)
        if is_current:
            self._lock = handle
        else:
            os.close(handle)
        return True

    def _read_identity(self) -> dict[str, Any] | None:
        try:
            found = json.loads((self.path / IDENTITY_NAME).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise RunFolderError(f"{self.path} is damaged ({error}). Remove it.") from error
        return found if isinstance(found, dict) else {}

    def _remove_files(self) -> None:
        """Remove the files of a run, the identity first, and no others."""
        with contextlib.suppress(OSError):
            (self.path / IDENTITY_NAME).unlink(missing_ok=True)
            for entry in list(self.path.iterdir()):
                is_temporary = TEMPORARY_NAME.match(entry.name) is not None
                if is_temporary or entry.suffix in (CHECKPOINT_ENDING, PART_ENDING):
                    entry.unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True)
class KeepProgress(Callback):
    """Keeps finished parts of a fit at once, and the state of a training every half minute.

    Args:
        folder: Where to keep them.
        part: Start of the names of files, for one of several parts of a fit.
    """

    folder: RunFolder
    part: str = ""

    keeps_state: ClassVar[bool] = True

    def for_part(self, name: str) -> KeepProgress:
        return dataclasses.replace(self, part=f"{self.part}{name}.")

    def restore(self, state: Any, record: Record, fingerprint: str) -> tuple[Any, Record]:
        if not self.folder.has_progress:
            return state, record
        return self._checkpoint(fingerprint).restore(state, record, fingerprint)

    def save(self, state: Any, record: Record, fingerprint: str) -> None:
        # The training goes on to change its record.
        names = ("history", "events", "warnings")
        snapshot = dataclasses.replace(record, **{n: list(getattr(record, n)) for n in names})
        name = self._checkpoint(fingerprint).path.name

        def write(path: Path) -> None:
            Checkpoint(path).save(state, snapshot, fingerprint)

        self.folder.put(name, write, at_once=bool(record.stopped))

    def find_result(self, name: str) -> tuple[FitResult, np.ndarray] | None:
        path = self.folder.path / f"{self.part}{name}{PART_ENDING}"
        if not self.folder.has_progress or not path.exists():
            return None
        found = load(path)
        assert found.record is not None
        scores = [float.fromhex(score) for score in found.about["scores"]]
        return FitResult(found.density, found.record), np.array(scores, found.about["dtype"])

    def keep_result(self, name: str, result: FitResult, scores: np.ndarray) -> None:
        if result.record.stopped in (INTERRUPTED, CUT_SHORT):
            return
        # JSON has no infinities.
        extra = {"scores": [float(s).hex() for s in scores], "dtype": str(scores.dtype)}

        def write(path: Path) -> None:
            data = dumps(result.density, record=result.record, extra=extra)
            with open_atomic(path) as file:
                file.write(data)

        self.folder.put(f"{self.part}{name}{PART_ENDING}", write, at_once=True)

    def _checkpoint(self, fingerprint: str) -> Checkpoint:
        """The file of one training; a part may have several."""
        return Checkpoint(self.folder.path / f"{self.part}{fingerprint[:16]}{CHECKPOINT_ENDING}")


def describe_differences(earlier: dict[str, Any], now: dict[str, Any]) -> str:
    """Say in which values two identities differ; "" where they are equal."""
    before, after = dict(_flatten(earlier)), dict(_flatten(now))
    names = [name for name in after | before if before.get(name) != after.get(name)]
    told = [f"{name} is {after.get(name)}, was {before.get(name)}" for name in names]
    more = len(told) - MAX_DIFFERENCES
    return "; ".join(told[:MAX_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers and texts of a JSON value, each with the names that lead to it."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, inner in value.items():
        is_class = key in ("fields", "class")  # Words of the codec, which users do not know.
        yield from _flatten(inner, name if is_class else f"{name}.{key}".lstrip("."))
