"""The axes on which points of a manifold are shown.

`frame.register` registers a frame for a manifold type. Without one, the entries of the flat point
are the axes.
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
from .axes import Axis, Unit, angle_axis, bounded_angle_axis


@dataclasses.dataclass(frozen=True)
class Frame:
    """The axes of a manifold, and the values of its points on them.

    Attributes:
        axes: the axes.
        values: maps points (n, size) to values (n, axes); angles in radians.
        groups: number of axes of each factor; empty for a single factor.
        points: the inverse of `values`; None if it has none.
    """

    axes: tuple[Axis, ...]
    values: Callable[[np.ndarray], np.ndarray]
    groups: tuple[int, ...] = ()
    points: Callable[[np.ndarray], np.ndarray] | None = None


def _entries(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows, float)


def _number_names(stem: str, k: int) -> list[str]:
    digits = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    return [stem] if k == 1 else [stem + str(i + 1).translate(digits) for i in range(k)]


def repeat_axis(axis: Axis, k: int) -> Frame:
    """A frame of k equal axes, one for each entry of the point, with numbered names."""
    axes = tuple(axis.with_name(name) for name in _number_names(axis.name, k))
    return Frame(axes, _entries, points=_entries)


@functools.singledispatch
def frame(manifold: AbstractManifold) -> Frame:
    """The axes on which points of a manifold are shown.

    Args:
        manifold: any manifold.

    Returns:
        The frame that is registered for the manifold's type; a quotient has that of its base, a
        product those of its factors. Otherwise the entries of the flat point.
    """
    if len(manifold.shape) == 2:
        rows, columns = manifold.shape
        names = [f"entry {i + 1},{j + 1}" for i in range(rows) for j in range(columns)]
        return Frame(tuple(Axis(name) for name in names), _entries)
    return repeat_axis(Axis("value" if manifold.size == 1 else "y"), manifold.size)


@frame.register
def _(manifold: Torus) -> Frame:
    return repeat_axis(angle_axis("angle" if manifold.d == 1 else "θ"), manifold.d)


@frame.register
def _(manifold: Sphere) -> Frame:
    if manifold.d == 1:
        return Frame(
            (angle_axis("angle"),),
            lambda rows: np.arctan2(rows[:, 1:], rows[:, :1]),
            points=lambda angles: np.concatenate([np.cos(angles), np.sin(angles)], axis=1),
        )
    if manifold.d == 2:
        axes = (bounded_angle_axis("latitude"), angle_axis("longitude"))
        return Frame(axes, lambda rows: np.stack(latlon_from_vectors(rows, degrees=False), axis=1))
    return repeat_axis(Axis("y", "", -1.0, 1.0), manifold.size)


@frame.register
def _(manifold: SpecialOrthogonal) -> Frame:
    if manifold.n == 2:
        return Frame(
            (angle_axis("angle"),),
            lambda rows: np.arctan2(rows[:, 2:3], rows[:, :1]),
            points=_plane_rotations,
        )
    if manifold.n == 3:
        parts = tuple(bounded_angle_axis(f"rotation vector {c}", share=0.5) for c in "xyz")
        return Frame(parts, vectors_from_rotations)
    return frame.dispatch(AbstractManifold)(manifold)


def _plane_rotations(angles: np.ndarray) -> np.ndarray:
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([cos, -sin, sin, cos], axis=1)


@frame.register
def _(manifold: Quotient) -> Frame:
    return frame(manifold.unfolded)


@frame.register
def _(manifold: Interval) -> Frame:
    return repeat_axis(Axis("value", low=manifold.low, high=manifold.high), manifold.d)


@frame.register
def _(manifold: PositiveReals) -> Frame:
    return repeat_axis(Axis("value", positive=True), manifold.d)


@frame.register
def _(manifold: Naturals) -> Frame:
    return repeat_axis(Axis("count", low=0.0, step=1.0), manifold.d)


@frame.register
def _(manifold: Rounded) -> Frame:
    return repeat_axis(Axis("value", step=manifold.step, offset=manifold.offset), manifold.d)


@frame.register
def _(manifold: Product) -> Frame:
    frames = [frame(factor) for factor in manifold.parts]
    ends = np.cumsum([factor.size for factor in manifold.parts])[:-1]

    def values(rows):
        parts = np.split(np.asarray(rows, float), ends, axis=1)
        return np.concatenate([f.values(p) for f, p in zip(frames, parts, strict=True)], axis=1)

    axes = tuple(
        axis.with_name(f"{axis.name} [{i + 1}]") for i, f in enumerate(frames) for axis in f.axes
    )
    return Frame(axes, values, tuple(len(f.axes) for f in frames))


Labels = str | Sequence[str | Sequence[str]]
Units = Unit | Sequence[Unit | Sequence[Unit]]


def label_axes(
    manifold: AbstractManifold, labels: Labels | None, units: Units | None
) -> tuple[Frame, tuple[Axis, ...]]:
    """The frame of a manifold, and its axes with the caller's names and units.

    Args:
        manifold: the manifold.
        labels: one for each axis, or one for each factor; a factor's may be a list with one for
            each of its axes. None for the frame's own names.
        units: given as the labels are. None for the frame's own units.

    Returns:
        The frame and the labelled axes.

    Raises:
        ValueError: the number of labels or units fits neither the axes nor the factors.
    """
    found = frame(manifold)
    groups, axes = found.groups or (len(found.axes),), found.axes
    if units is not None:
        given = [units] if isinstance(units, str | Turn) else list(units)
        each = _assign("units", given, groups, axes)
        axes = tuple(a.with_unit(u) if u else a for a, (u, _) in zip(axes, each, strict=True))
    if labels is not None:
        given = [labels] if isinstance(labels, str) else list(labels)
        each = _assign("labels", given, groups, axes)
        axes = tuple(_rename(a, name, own) for a, (name, own) in zip(axes, each, strict=True))
    return found, axes


def _rename(axis: Axis, name: str, own: bool) -> Axis:
    """Give the axis its own name, or its factor's name and its role, "epicentre latitude"."""
    return axis.with_name(name if own else f"{name} {axis.name.partition(' [')[0]}")


def _assign(
    what: str, given: list, groups: tuple[int, ...], axes: tuple[Axis, ...]
) -> list[tuple[Any, bool]]:
    """For each axis its label or unit, and whether that is the axis' own or its factor's."""
    if len(given) == len(axes) and all(isinstance(one, str | Turn) for one in given):
        return [(one, True) for one in given]
    if len(given) == len(groups):
        parts = [_assign_factor(one, k) for one, k in zip(given, groups, strict=True)]
        if all(parts):
            return [one for part in parts for one in part]
    names = ", ".join(a.name for a in axes)
    by_factor = f", or {len(groups)}, one for each factor" if len(groups) < len(axes) else ""
    raise ValueError(f"Give {len(axes)} {what} ({names}){by_factor}; got {len(given)}: {given}.")


def _assign_factor(given: Any, k: int) -> list[tuple[Any, bool]]:
    """One value for all k axes of a factor, or a list of k; empty for any other number."""
    if isinstance(given, str | Turn):
        return [(given, k == 1)] * k
    return [(one, True) for one in given] if len(given) == k else []
