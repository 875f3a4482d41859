"""Checkpoints on a disk that fails."""

import contextlib
import errno

import jax.numpy as jnp
import pytest

from foliax.training import Checkpoint, Record


class FullDisk(contextlib.nullcontext):
    """A file that takes the header but no array."""

    def __enter__(self):
        return self

    def write(self, content):
        if b"NUMPY" in bytes(content):
            raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_its_own_error(tmp_path, monkeypatch):
    monkeypatch.setattr("foliax.training.checkpoint.open_atomic", lambda path: FullDisk())
    with pytest.raises(OSError, match="No space left"):
        Checkpoint(tmp_path / "training").save({"weights": jnp.ones(3)}, Record(3), "one")
