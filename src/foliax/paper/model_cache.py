"""Densities of our own rows, kept as model files for the figures."""

from __future__ import annotations

from pathlib import Path

from .. import io
from ..density import DequantizedDensity
from ..estimators import FitResult
from . import results, trial
from .recipes import OWN, Row

TRIAL = 0
"""Whose density is shown."""


def keep(folder: Path, row: Row, number: int, fitted: FitResult) -> None:
    """Store what a trial has trained, if figures may show it."""
    if number == TRIAL and row.method == OWN:
        path = path_of(folder, row)
        path.parent.mkdir(parents=True, exist_ok=True)
        about = results.settings(row, TRIAL)
        io.save(path, fitted.density, spec=row.spec, record=fitted.record, extra=about)


def learned(folder: Path, row: Row) -> DequantizedDensity:
    """The density that a row's first trial trains: stored, or else trained now."""
    if (found := _stored(path_of(folder, row), row)) is not None:
        return found
    fitted, _ = trial.fit(row, TRIAL)
    keep(folder, row, TRIAL, fitted)
    return fitted.density


def _stored(path: Path, row: Row) -> DequantizedDensity | None:
    """A model file's density, where it can be read and was trained in the same way."""
    try:
        saved = io.load(path)
    except (OSError, io.ModelFileError):
        return None
    same = results.has_settings(saved.extra, row, TRIAL)
    return saved.density if same and isinstance(saved.density, DequantizedDensity) else None


def path_of(folder: Path, row: Row) -> Path:
    """Where the model file of a row is."""
    return folder / "models" / f"{row.name}.foliax"
