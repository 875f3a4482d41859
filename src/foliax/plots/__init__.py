"""Plots of densities and rows, one module for each kind of manifold.

Each module registers its views for a manifold type; `draw` and `interactive` choose among them.
May import: `evaluation`, `tables.periods` and everything below `estimators`.
"""

from ..tables.periods import TURNS, Turn
from . import circle, numbers, rotations, sphere, torus  # noqa: F401  they register their views
from .axes import Axis
from .coasts import coastlines
from .draw import draw
from .frames import Frame, frame
from .interactive import NoInteractiveViewError, interactive
from .page import interactive_html
from .save import save
from .scene import Scene
from .views import views

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
    "views",
]
