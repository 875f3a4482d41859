"""Keep the progress of `foliax fit` in a run folder, and offer to resume it."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .console import INTERRUPTED_MESSAGE, Console

if TYPE_CHECKING:
    import numpy as np

    from foliax.estimators import AbstractEstimator
    from foliax.io.run_folder import KeepProgress

    from .tables import Table


def run_folder(output: Path) -> Path:
    """Return the folder that keeps the progress of a fit, next to its output."""
    return output.with_name(f"{output.name}.run")


@contextmanager
def keep_progress(
    console: Console, output: Path, identity: dict[str, Any], *, resume: bool
) -> Iterator[KeepProgress]:
    """Keep the progress of a fit while the block runs, and remove it when the block has ended.

    After an interrupt, and where the output cannot be written, the progress stays, and the message
    offers the command that resumes the fit.

    Args:
        console: Says what was found and what is kept.
        output: The model file. Its name with `.run` is the folder's.
        identity: What must be equal to resume, from `identify_run`.
        resume: Continue an earlier run instead of starting over.

    Yields:
        The callback that keeps progress.

    Raises:
        RunFolderError: The earlier run is another one, or still running.
        KeyboardInterrupt: The fit was interrupted; the message offers to resume it.
    """
    from foliax.io.run_folder import SAVE_SECONDS, KeepProgress, RunFolder

    # Tests of resuming cannot wait half a minute.
    seconds = float(os.environ.get("FOLIAX_SAVE_SECONDS", SAVE_SECONDS))
    folder = RunFolder(run_folder(output), identity, save_seconds=seconds, warn=console.warn)
    try:
        if found := folder.start(resume=resume):
            console.log(found)
        try:
            yield KeepProgress(folder)
        except KeyboardInterrupt as interrupt:
            folder.flush()
            message = str(interrupt) or INTERRUPTED_MESSAGE
            offer = f" Continue: {resume_command()}" if folder.has_progress else ""
            raise KeyboardInterrupt(message + offer) from None
        except OSError:
            folder.flush()
            if folder.has_progress:
                console.log(f"The fit is kept. Continue: {resume_command()}")
            raise
        folder.remove()
    finally:
        folder.close()


def interrupted_model(output: Path) -> Path:
    """Return the model file of what an interrupted fit had reached."""
    return output.with_suffix(".interrupted.foliax")


def remove_interrupted_model(output: Path, about: dict[str, Any]) -> None:
    """Remove what the same fit had reached when it was interrupted; leave any other file.

    Args:
        output: The model file of the complete fit.
        about: The seed, and what else the model file states.
    """
    from foliax import io
    from foliax.training.history import INTERRUPTED

    path = interrupted_model(output)
    with suppress(OSError, ValueError):
        found = io.load(path)
        if found.record and found.record.stopped == INTERRUPTED and found.extra == about:
            path.unlink()


def resume_command() -> str:
    """Return the command that resumes this one."""
    words = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["foliax", *words, "--resume"])


def identify_run(
    table: Table, estimator: AbstractEstimator, held_out: float | None, about: dict[str, Any]
) -> dict[str, Any]:
    """Return what decides the result of a fit, and must be equal to resume it."""
    from foliax.io import to_json
    from foliax.io.model_file import package_versions

    return {
        "model": about["model"],
        "seed": about["seed"],
        "held-out fraction": held_out,
        "schema": table.schema.text(),
        "table": _describe_array(table.points),
        "weights": None if table.weights is None else _describe_array(table.weights),
        "blocks": None if table.blocks is None else _describe_array(table.blocks),
        "estimator": to_json(estimator),
        "version": package_versions(),
    }


def _describe_array(values: np.ndarray) -> str:
    digest = hashlib.sha256(f"{values.shape}{values.dtype}".encode() + values.tobytes())
    return f"{len(values)} rows with digest {digest.hexdigest()[:16]}"
