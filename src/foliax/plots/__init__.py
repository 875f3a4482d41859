"""Pictures of densities with data: `draw`, `save`, and interactive views for a page."""

from . import circle, numbers, rotations, sphere, torus  # noqa: F401  they register their views
from .axes import TURNS, Axis, Turn
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
