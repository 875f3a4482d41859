"""Plots of densities and rows, one module for each kind of manifold.

`view_for` registers a view next to the function that draws it; `draw` and `interactive` choose
among the views of a manifold. Every module of this package is imported, so a new view is one file.
May import: `evaluation`, `tables.periods` and everything below `estimators`.
"""

import importlib
import pkgutil

from ..tables.periods import TURNS, Turn
from .axes import Axis
from .coasts import coastlines
from .draw import draw
from .frames import Frame, frame
from .interactive import NoInteractiveViewError, interactive
from .page import interactive_html
from .registry import view_for, views
from .save import save
from .scene import Scene

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "TURNS",
    "Axis",
    "Frame",
    "NoInteractiveViewError",
    "Scene",
    "Turn",
    "coastlines",
    "draw",
    "frame",
    "interactive",
    "interactive_html",
    "save",
    "view_for",
    "views",
]
