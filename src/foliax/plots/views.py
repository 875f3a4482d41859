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
    """The views of a manifold by name, the one drawn by default first."""
    return {"pair": pair_plot}


def choose(manifold: AbstractManifold, name: str | None) -> View:
    """A view by its name."""
    known = views(manifold)
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise ValueError(
            f"There is no view '{name}' of a density on {manifold}. Views of it: "
            f"{', '.join(known)}."
        )
    return known[name]
