"""`save`: a figure as a PNG, SVG or PDF file, written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

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
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=suffix, dir=path.parent)
    os.close(handle)
    try:
        with matplotlib.rc_context({"svg.hashsalt": "foliax", "pdf.fonttype": 42}):
            figure.savefig(name, format=suffix[1:], dpi=dpi, metadata=FORMATS[suffix])
        # Only the owner can read a temporary file; give it the permissions of any new file.
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
