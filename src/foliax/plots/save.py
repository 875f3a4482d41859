"""`save`: a figure as a PNG, SVG or PDF file, written completely or not at all."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from ..atomic import atomic_path

# Without dates, so that the same figure gives the same file.
FORMATS: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "ModDate": None},
}
"""Metadata to leave out of each format: without dates the same figure gives the same file."""


def save(figure: Figure, path: str | Path, *, dpi: int = 200) -> Path:
    """Write a figure to a file.

    Args:
        figure: the figure.
        path: the file; its suffix chooses the format: .png, .svg or .pdf.
        dpi: dots per inch of a PNG; 200 is sharp in print and on dense screens.

    Returns:
        The path.

    Raises:
        ValueError: the suffix is another one, or the folder does not exist.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{path}: pictures are {', '.join(FORMATS)} files, not '{path.suffix}'.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}. Create it first.")
    settings = matplotlib.rc_context({"svg.hashsalt": "foliax", "pdf.fonttype": 42})
    with atomic_path(path) as temporary, settings:
        figure.savefig(temporary, format=suffix[1:], dpi=dpi, metadata=FORMATS[suffix])
    return path
