"""Which pictures there are of a density on a manifold; registered by type, with a fallback."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..manifolds import AbstractManifold
from .pairs import pair_plot
from .scene import Scene

View = Callable[[Scene], None]


@functools.singledispatch
def views(manifold: AbstractManifold) -> dict[str, View]:
    """The views of a manifold by name."""
    return {"pair": pair_plot}


@functools.singledispatch
def usual(manifold: AbstractManifold, scene: Scene) -> View:
    """The view that is drawn where none is named: the first, but where the data decide."""
    return next(iter(views(manifold).values()))


def choose(scene: Scene, name: str | None) -> View:
    """A view by its name."""
    if name is None:
        return usual(scene.manifold, scene)
    known = views(scene.manifold)
    if name not in known:
        raise ValueError(
            f"There is no view '{name}' of a density on {scene.manifold}. Views of it: "
            f"{', '.join(known)}."
        )
    return known[name]
