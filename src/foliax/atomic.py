"""Atomic writing: a file is replaced completely, or a failure leaves the old one unchanged."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MAX_NAME_CHARACTERS = 40
"""Characters of the file's name in the temporary name; file systems allow 255 bytes in all."""

PROBE_BYTES = 1 << 16
"""Bytes that `check_writable` writes: more than what file systems keep inside an inode."""

TEMPORARY_NAME = re.compile(r"\.foliax-([0-9a-f]{8})-([0-9]{1,10})-[0-9a-f]{16}-")
"""Start of a temporary name: the machine, the number of the process, and random digits."""


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of an empty temporary file, which replaces `path` when the block ends.

    Use it for writers that need a path. The temporary file has an unpredictable name in the same
    folder, and the same ending, by which writers choose a format. Temporary files of processes that
    were killed are removed.

    Args:
        path: The file to create or replace. A symbolic link stays, and its target is replaced. A
            file that exists keeps its permissions, and its owner where the system allows that.

    Yields:
        The path to write to.

    Raises:
        OSError: The folder does not exist or is not writable, `path` is not a file, or the disk is
            full. The old file then stays unchanged, and the temporary file is removed.
    """
    path = Path(path)
    with _explain_errors(path):
        target = Path(os.path.realpath(path))
        old = _status(target)
        remove_leftovers(target.parent)
        temporary = _create_temporary(target, path.name, private=old is not None)
    try:
        with _explain_errors(path, temporary):
            yield temporary
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            if old is not None:
                _copy_permissions(old, temporary)
            os.replace(temporary, target)
        _sync_folder(target.parent)
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


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that `atomic_path` can write a file, so that hours of work are not lost at the end.

    It writes a small temporary file next to `path` and removes it again.

    Args:
        path: The file to create or replace later.

    Raises:
        OSError: As in `atomic_path`.
    """
    path = Path(path)
    with _explain_errors(path):
        target = Path(os.path.realpath(path))
        _status(target)
        remove_leftovers(target.parent)
        temporary = _create_temporary(target, path.name, private=True)
    try:
        with _explain_errors(path, temporary), temporary.open("wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of processes of this machine that ended without removing them.

    Args:
        folder: Where to look. Files with other names are never touched.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = TEMPORARY_NAME.match(entry.name)
            if found and found[1] == _machine() and not _is_running(int(found[2])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _create_temporary(target: Path, name: str, *, private: bool) -> Path:
    """Create an empty file; a private one is readable by its owner only."""
    start = f".foliax-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}-"
    temporary = target.with_name(start + name[-MAX_NAME_CHARACTERS:])
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666))
    return temporary


@functools.cache
def _machine() -> str:
    """Eight digits for this machine or container, whose process numbers are comparable."""
    names = socket.gethostname()
    with contextlib.suppress(OSError):
        names += os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(names.encode()).hexdigest()[:8]


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # Windows has no signal that only asks.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # It belongs to another user.
    return True


def _status(target: Path) -> os.stat_result | None:
    """The status of the file to replace, or None if there is none."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(found.st_mode):
        # A device or a pipe: replacing it would remove it for everybody.
        raise OSError(errno.EINVAL, "it is not a regular file", str(target))
    return found


def _copy_permissions(old: os.stat_result, temporary: Path) -> None:
    with contextlib.suppress(OSError):  # Only root may give files away.
        os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; file systems without this have nothing to sync."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _explain_errors(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Name the user's file in an `OSError`, instead of the temporary file or none."""
    try:
        yield
    except OSError as error:
        if temporary is not None and error.filename not in (None, str(temporary), temporary):
            raise  # It is about another file, which the block reads.
        explained = type(error)(_describe(path, error))
        explained.errno = error.errno
        raise explained from error


def _describe(path: Path, error: OSError) -> str:
    folder = os.path.dirname(os.path.realpath(path))
    reasons = {
        errno.ENOENT: f"there is no folder {folder}. Create it first",
        errno.ENOTDIR: f"{folder} is not a folder",
        errno.EISDIR: "it is a folder. Name a file in it",
        errno.EACCES: f"you may not write to the folder {folder}. Choose another",
        errno.EPERM: f"you may not write to the folder {folder}. Choose another",
        errno.EROFS: "its file system is read-only. Choose another folder",
        errno.ENAMETOOLONG: "its name is too long. Choose a shorter one",
        errno.ENOSPC: "no space is left on the disk. Free some, or choose another folder",
        errno.EDQUOT: "your disk quota is used up. Free some space, or choose another folder",
        errno.ELOOP: "its symbolic links form a loop",
    }
    if error.errno == errno.ENOENT and os.path.isdir(folder):
        reasons[errno.ENOENT] = "another program removed its temporary file. Try again"
    if error.errno is None:  # NumPy's error for a full disk has no number.
        return f"{path} cannot be written: {error}. Is the disk full?"
    return f"{path} cannot be written: {reasons.get(error.errno, error.strerror)}."
