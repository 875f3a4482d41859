"""Store the densities of our own rows as model files for the figures."""

from __future__ import annotations

from pathlib import Path

from .. import io
from ..density import AbstractDensity
from ..estimators import FitResult
from . import results, trial
from .recipes import OWN, Row

SHOWN_TRIAL = 0
"""The trial whose density the figures show."""


def save(folder: Path, row: Row, number: int, fitted: FitResult) -> None:
    """Store the density of a trial, if the figures show it."""
    if number == SHOWN_TRIAL and row.method == OWN:
        path = path_of(folder, row)
        path.parent.mkdir(parents=True, exist_ok=True)
        about = results.settings(row, SHOWN_TRIAL)
        io.save(path, fitted.density, estimator=row.estimator, record=fitted.record, extra=about)


def load_or_train(folder: Path, row: Row) -> AbstractDensity:
    """Load the density of a row's first trial; train and store it if that fails.

    Args:
        folder: Where the model files are, in the subfolder `models`.
        row: The row of the table.

    Returns:
        The density, trained with the row's settings.
    """
    if (found := _load(path_of(folder, row), row)) is not None:
        return found
    fitted, _ = trial.fit(row, SHOWN_TRIAL)
    save(folder, row, SHOWN_TRIAL, fitted)
    return fitted.density


def _load(path: Path, row: Row) -> AbstractDensity | None:
    """Load a density; return None if the file is unreadable or has other settings."""
    try:
        saved = io.load(path)
    except (OSError, io.ModelFileError):
        return None
    return saved.density if results.has_settings(saved.extra, row, SHOWN_TRIAL) else None


def path_of(folder: Path, row: Row) -> Path:
    """Return the path of a row's model file."""
    return folder / "models" / f"{row.name}.foliax"
