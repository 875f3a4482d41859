"""The axes on which points of a manifold are shown.

A frame is registered for a manifold type by `frame.register`; without one, the entries of the flat
point are the axes.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..manifolds import (
    AbstractManifold,
    Interval,
    Naturals,
    PositiveReals,
    Product,
    Quotient,
    Rounded,
    SpecialOrthogonal,
    Sphere,
    Torus,
)
from ..manifolds.conversions import latlon_from_vectors, vectors_from_rotations
from ..tables.periods import Turn
from .axes import Axis, Unit, angle, fraction


@dataclasses.dataclass(frozen=True)
class Frame:
    """The axes of a manifold and the values on them; `groups`: how many axes each factor has."""

    axes: tuple[Axis, ...]
    values: Callable[[np.ndarray], np.ndarray]
    """(n, size) -> (n, axes); angles in radians."""
    groups: tuple[int, ...] = ()


def _rows(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows, float)


def _numbered(stem: str, k: int) -> list[str]:
    digits = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    return [stem] if k == 1 else [stem + str(i + 1).translate(digits) for i in range(k)]


def alike(axis: Axis, k: int) -> Frame:
    """k axes that differ in nothing but their names."""
    return Frame(tuple(axis.named(name) for name in _numbered(axis.name, k)), _rows)


@functools.singledispatch
def frame(manifold: AbstractManifold) -> Frame:
    """The axes of a manifold; where none are registered, the entries of its flat points."""
    if len(manifold.shape) == 2:
        rows, columns = manifold.shape
        names = [f"entry {i + 1},{j + 1}" for i in range(rows) for j in range(columns)]
        return Frame(tuple(Axis(name) for name in names), _rows)
    return alike(Axis("value" if manifold.size == 1 else "y"), manifold.size)


@frame.register
def _(manifold: Torus) -> Frame:
    return alike(angle("angle" if manifold.d == 1 else "θ"), manifold.d)


@frame.register
def _(manifold: Sphere) -> Frame:
    if manifold.d == 1:
        return Frame((angle("angle"),), lambda rows: np.arctan2(rows[:, 1:], rows[:, :1]))
    if manifold.d == 2:
        axes = (fraction("latitude"), angle("longitude"))
        return Frame(axes, lambda rows: np.stack(latlon_from_vectors(rows, degrees=False), axis=1))
    return alike(Axis("y", "", -1.0, 1.0), manifold.size)


@frame.register
def _(manifold: SpecialOrthogonal) -> Frame:
    if manifold.n == 2:
        return Frame((angle("angle"),), lambda rows: np.arctan2(rows[:, 2:3], rows[:, :1]))
    if manifold.n == 3:
        parts = tuple(fraction(f"rotation vector {c}", of=0.5) for c in "xyz")
        return Frame(parts, vectors_from_rotations)
    return frame.dispatch(AbstractManifold)(manifold)


@frame.register
def _(manifold: Quotient) -> Frame:
    return frame(manifold.base)


@frame.register
def _(manifold: Interval) -> Frame:
    return alike(Axis("value", low=manifold.low, high=manifold.high), manifold.d)


@frame.register
def _(manifold: PositiveReals) -> Frame:
    return alike(Axis("value", positive=True), manifold.d)


@frame.register
def _(manifold: Naturals) -> Frame:
    return alike(Axis("count", low=0.0, step=1.0), manifold.d)


@frame.register
def _(manifold: Rounded) -> Frame:
    return alike(Axis("value", step=manifold.step, offset=manifold.offset), manifold.d)


@frame.register
def _(manifold: Product) -> Frame:
    frames = [frame(factor) for factor in manifold.parts]
    cuts = np.cumsum([factor.size for factor in manifold.parts])[:-1]

    def values(rows):
        parts = np.split(np.asarray(rows, float), cuts, axis=1)
        return np.concatenate([f.values(p) for f, p in zip(frames, parts, strict=True)], axis=1)

    axes = tuple(
        axis.named(f"{axis.name} [{i + 1}]") for i, f in enumerate(frames) for axis in f.axes
    )
    return Frame(axes, values, tuple(len(f.axes) for f in frames))


Labels = str | Sequence[str | Sequence[str]]
Units = Unit | Sequence[Unit | Sequence[Unit]]


def described(
    manifold: AbstractManifold, labels: Labels | None, units: Units | None
) -> tuple[Frame, tuple[Axis, ...]]:
    """The frame, and its axes under the caller's names and in the caller's units.

    Given is one for each axis, or one for each factor, or for a factor a list of its axes' own.
    """
    found = frame(manifold)
    groups, axes = found.groups or (len(found.axes),), found.axes
    if units is not None:
        listed = [units] if isinstance(units, str | Turn) else list(units)
        each = _spread("units", listed, groups, axes)
        axes = tuple(a.measured(u) if u else a for a, (u, _) in zip(axes, each, strict=True))
    if labels is not None:
        listed = [labels] if isinstance(labels, str) else list(labels)
        each = _spread("labels", listed, groups, axes)
        axes = tuple(_named(a, name, own) for a, (name, own) in zip(axes, each, strict=True))
    return found, axes


def _named(axis: Axis, name: str, own: bool) -> Axis:
    """Under its own name, or its factor's and what it is there: "epicentre latitude"."""
    return axis.named(name if own else f"{name} {axis.name.partition(' [')[0]}")


def _spread(
    what: str, given: list, groups: tuple[int, ...], axes: tuple[Axis, ...]
) -> list[tuple[Any, bool]]:
    """For each axis what is given for it, and whether it is the axis' own or its factor's."""
    if len(given) == len(axes) and all(isinstance(one, str | Turn) for one in given):
        return [(one, True) for one in given]
    if len(given) == len(groups):
        parts = [_of_factor(one, k) for one, k in zip(given, groups, strict=True)]
        if all(parts):
            return [one for part in parts for one in part]
    names = ", ".join(a.name for a in axes)
    by_factor = f", or {len(groups)}, one for each factor" if len(groups) < len(axes) else ""
    raise ValueError(f"Give {len(axes)} {what} ({names}){by_factor}; got {len(given)}: {given}.")


def _of_factor(given: Any, k: int) -> list[tuple[Any, bool]]:
    """One thing for all k axes of a factor, or a list of k; nothing if it is another number."""
    if isinstance(given, str | Turn):
        return [(given, k == 1)] * k
    return [(one, True) for one in given] if len(given) == k else []
