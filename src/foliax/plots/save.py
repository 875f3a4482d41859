"""`save`: a figure as a PNG, SVG or PDF file, wholly or not at all."""

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


def save(figure: Figure, path: str | Path, *, dpi: int = 200) -> Path:
    """Write a figure; the suffix says the format: .png, .svg or .pdf."""
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
