"""Registration of views: a decorator next to the function that draws.

A view says which manifolds it serves. `views` lists the views of a manifold in their order;
nothing else in `plots` asks which manifold it has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from ..manifolds import AbstractManifold
from .scene import Scene

View = Callable[[Scene], None]
"""Draws a scene into its figure."""
Contents = Callable[[Scene], dict[str, Any]]
"""Computes the data that an interactive view needs."""

PAIR_ORDER = 90
"""Position of the pair plot, which serves all manifolds: after the special views."""
LAST_ORDER = 100
"""Position of a new view: after the pair plot, so that it changes no default."""


class Served(NamedTuple):
    """The manifolds that a view serves.

    Attributes:
        types: manifold types.
        dim: intrinsic dimension; None for any.
        where: a further condition on the manifold; None for none.
        quotients: whether quotients of these manifolds are served too.
    """

    types: tuple[type[AbstractManifold], ...]
    dim: int | None = None
    where: Callable[[AbstractManifold], bool] | None = None
    quotients: bool = False

    def includes(self, manifold: AbstractManifold) -> bool:
        """Whether the view serves this manifold."""
        base = manifold.symmetry.base
        return (
            isinstance(base, self.types)
            and (self.quotients or base is manifold)
            and self.dim in (None, manifold.dim)
            and (self.where is None or self.where(manifold))
        )


@dataclasses.dataclass(frozen=True)
class RegisteredView:
    """A view and what `view_for` says about it."""

    name: str
    draw: View
    served: Served
    order: int
    default_when: Callable[[Scene], bool] | None


class InteractiveKind(NamedTuple):
    """A kind of interactive view: its name in `interactive.js`, its data, its text."""

    kind: str
    contents: Contents
    served: Served
    description: str


_VIEWS: list[RegisteredView] = []
_INTERACTIVE: dict[str, InteractiveKind] = {}


def view_for(
    *types: type[AbstractManifold],
    name: str,
    dim: int | None = None,
    where: Callable[[AbstractManifold], bool] | None = None,
    quotients: bool = False,
    order: int = LAST_ORDER,
    default_when: Callable[[Scene], bool] | None = None,
) -> Callable[[View], View]:
    """Register a function that draws a density on some manifolds.

    Args:
        *types: manifold types; `AbstractManifold` for all.
        name: the view's name in `plots.draw(…, view=name)` and `foliax plot --view name`.
        dim: intrinsic dimension of the manifolds; None for any.
        where: a further condition on the manifold, such as a finite volume.
        quotients: whether the view also draws quotients of these manifolds. Off by default,
            because such a view must show all images of a row (`manifold.symmetry.images`).
        order: position among the views of a manifold, ascending; the first is the default view.
            A new view comes last, so that it changes no default.
        default_when: makes this view the default for the scenes for which it returns True.

    Returns:
        A decorator that registers the function and returns it unchanged.

    Raises:
        ValueError: another view of that name serves one of the types in that dimension.
    """
    served = Served(types, dim, where, quotients)

    def register(draw: View) -> View:
        for other in _VIEWS:
            same = other.name == name and other.served.dim == dim
            if same and set(types) & set(other.served.types):
                raise ValueError(
                    f"Two views are named '{name}': {other.draw.__module__} and "
                    f"{draw.__module__}. Give one of them another name."
                )
        _VIEWS.append(RegisteredView(name, draw, served, order, default_when))
        return draw

    return register


def interactive_for(
    *types: type[AbstractManifold], dim: int, kind: str, description: str
) -> Callable[[Contents], Contents]:
    """Register a function that computes the data of an interactive view.

    Args:
        *types: manifold types; their quotients are served too.
        dim: intrinsic dimension of the manifolds.
        kind: name of the function in `interactive.js` that draws the data.
        description: what the picture shows and how to move it, for screen readers.

    Returns:
        A decorator that registers the function and returns it unchanged.
    """

    def register(contents: Contents) -> Contents:
        served = Served(types, dim, quotients=True)
        _INTERACTIVE[kind] = InteractiveKind(kind, contents, served, description)
        return contents

    return register


def registered_views(manifold: AbstractManifold) -> list[RegisteredView]:
    """The views that serve a manifold, in their order."""
    found = [view for view in _VIEWS if view.served.includes(manifold)]
    return sorted(found, key=lambda view: (view.order, view.name))


def interactive_kinds() -> dict[str, InteractiveKind]:
    """All kinds of interactive views by name."""
    return dict(_INTERACTIVE)


def views(manifold: AbstractManifold) -> dict[str, View]:
    """List the views of a manifold.

    Args:
        manifold: the manifold of the density to draw.

    Returns:
        The functions that draw, by name. The first is the default; every manifold has `pair`.
    """
    return {view.name: view.draw for view in registered_views(manifold)}


def choose_view(scene: Scene, name: str | None) -> View:
    """The view of that name; without a name, the default for the scene."""
    known = registered_views(scene.manifold)
    if name is None:
        special = (v for v in known if v.default_when is not None and v.default_when(scene))
        return next(special, known[0]).draw
    for view in known:
        if view.name == name:
            return view.draw
    raise ValueError(
        f"There is no view '{name}' of a density on {scene.manifold}. Views of it: "
        f"{', '.join(view.name for view in known)}."
    )
