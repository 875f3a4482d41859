"""Checkpoints of a training: written atomically, resumed to the same bits."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..atomic import open_atomic
from .callbacks import Callback
from .history import Record


class CheckpointError(ValueError):
    """A checkpoint that does not belong to this training, or is damaged."""


@dataclasses.dataclass(frozen=True)
class Checkpoint(Callback):
    """A file that a training writes after every `every` blocks and resumes from if it is there."""

    path: Path
    every: int = 1

    keeps_state = True

    def __post_init__(self):
        object.__setattr__(self, "path", Path(self.path))
        if self.every < 1:
            raise ValueError(f"A checkpoint is written every 1 or more blocks, not {self.every}.")

    def for_part(self, name: str) -> Checkpoint:
        """A file of its own for each of several trainings."""
        return dataclasses.replace(self, path=self.path.with_name(f"{self.path.name}.{name}"))

    def save(self, state: Any, record: Record, fingerprint: str) -> None:
        """Write state and record; a crash leaves the file as it was."""
        if len(record.history) % self.every:
            return
        header = {"training": fingerprint, "record": dataclasses.asdict(record)}
        # Serialise in memory: equinox hides the error of a full disk in one of its own.
        content = io.BytesIO()
        content.write(json.dumps(header).encode() + b"\n")
        eqx.tree_serialise_leaves(content, state)
        with open_atomic(self.path) as file:
            file.write(content.getbuffer())

    def restore(self, state: Any, record: Record, fingerprint: str) -> tuple[Any, Record]:
        """The state and record of the file, or those given where there is none."""
        if not self.path.exists():
            return state, record
        try:
            with self.path.open("rb") as file:
                header = json.loads(file.readline())
                if header["training"] != fingerprint:
                    raise CheckpointError(
                        f"{self.path} is of another training (settings, seed, data or model "
                        "differ). Remove it, or name another file."
                    )
                state = eqx.tree_deserialise_leaves(file, state)
        except (ValueError, KeyError, EOFError, RuntimeError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(f"{self.path} is damaged ({error}). Remove it.") from error
        return state, Record.from_json(header["record"])


def fingerprint(start: Any, run: Any, held_out: Any) -> str:
    """Digest of what must be equal to resume to the same bits: settings, model, key and data."""
    # Addresses of functions differ between processes; their names do not.
    model = re.sub(r" at 0x[0-9a-f]+", "", eqx.tree_pformat((start.params, run.static)))
    described = (run.training, run.objective, model)
    digest = hashlib.sha256(repr(described).encode())
    data = (start.params, run.static, run.data, held_out)
    leaves = jax.tree.leaves(eqx.filter(data, eqx.is_array))
    for leaf in [*leaves, jax.random.key_data(run.key)]:
        digest.update(f"{leaf.shape}{leaf.dtype}".encode() + np.asarray(leaf).tobytes())
    return digest.hexdigest()
