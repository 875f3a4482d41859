"""What an interactive view shows, as plain data: small enough for a page, ready for JSON."""

from __future__ import annotations

import base64
import functools
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import PRNGKeyArray
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ..density import AbstractDensity
from ..manifolds import AbstractManifold, Quotient, SpecialOrthogonal, Sphere, Torus
from ..manifolds.base import as_points
from ..manifolds.conversions import vectors_from_rotations
from .axes import Axis
from .coasts import coastlines
from .fields import SphereField
from .frames import Labels, Units, described
from .images import images
from .region import Cap, cap_of, directions_of
from .scene import LABEL, Scene, grid_side
from .sphere import facing
from .style import MAP, Scale, colour_scale, values_for
from .torus import torus_grid

MOST_POINTS = 2_000
CLOUD = 3_000


def interactive(
    density: AbstractDensity,
    rows: Any = None,
    *,
    labels: Labels | None = None,
    units: Units | None = None,
    key: PRNGKeyArray,
    title: str = "",
    earth: bool | str | Path = False,
) -> dict[str, Any]:
    """Data for a globe (S², axes), a map of two angles (T²) or a ball of rotations (SO(3)).

    `kind`: "globe", "torus" or "ball". `scale`: `low`, `high`, `log`; levels 0..255 run from one
    to the other along `palette`. `grid`: `rows` × `columns` of levels, one byte each, south to
    north and west to east (second angle, first angle). `cloud`: samples in the ball with a level
    each. `points`: the data, as shares of 32767: unit vectors, shares of a turn, rotation vectors
    over π. `facing`: latitude and longitude in degrees above which the viewer of a globe begins,
    `zoom`: how close. All arrays are base64, little-endian.
    """
    rows = None if rows is None else as_points(density.manifold, rows)
    frame, axes = described(density.manifold, labels, units)
    scene = Scene(density, rows, frame, axes, key, Figure(), coastlines(earth))
    found = contents(density.manifold, scene)
    shown = len(scene.shown(MOST_POINTS))
    colours = matplotlib.colormaps[MAP](np.linspace(0, 1, 33))
    return found | {
        "title": title,
        "density": LABEL,
        "data": "" if rows is None else scene.data_label(shown),
        "palette": [to_hex(colour) for colour in colours],
        "axes": [_axis(axis) for axis in axes],
        "coasts": [_short(line) for line in scene.coasts],
    }


class NoInteractiveViewError(ValueError):
    """A manifold that has only still pictures."""


@functools.singledispatch
def contents(manifold: AbstractManifold, scene: Scene) -> dict[str, Any]:
    """What is particular to the kind of view."""
    raise NoInteractiveViewError(
        f"There is no interactive view of a density on {manifold}: there is one on S² and its "
        "quotients (globe), T² (map) and SO(3) and its quotients (ball). Use draw instead."
    )


@contents.register
def _(manifold: Sphere, scene: Scene) -> dict[str, Any]:
    if manifold.d != 2:
        return contents.dispatch(AbstractManifold)(manifold, scene)
    cap = cap_of(directions_of(scene))
    most = 64_800 if cap.small else 16_200
    field = SphereField.of(scene.log_multiples, scene.grid_size(most=most))
    scale = colour_scale(field.logs, field.weights)
    return {
        "kind": "globe",
        "grid": _grid(field.logs, scale),
        "points": packed(images(scene.manifold, scene.shown(MOST_POINTS))),
        "scale": _scale(scale),
        "facing": facing(scene),
        "zoom": _zoom(cap),
    }


def _zoom(cap: Cap) -> float:
    """How close a globe is seen, so that a small cap fills most of the picture."""
    if not cap.small:
        return 1.0
    return float(np.clip(0.8 / np.sin(np.deg2rad(max(cap.radius, 1.0))), 1, 6))


@contents.register
def _(manifold: Torus, scene: Scene) -> dict[str, Any]:
    if manifold.d != 2:
        return contents.dispatch(AbstractManifold)(manifold, scene)
    _, logs = torus_grid(scene, grid_side(scene.grid_size(most=14_400)))
    scale = colour_scale(logs, np.ones_like(logs))
    angles = scene.frame.values(scene.shown(MOST_POINTS))
    shares = [
        (axis.shown(column) - axis.turn.start) / axis.turn.period
        for axis, column in zip(scene.axes, angles.T, strict=True)
        if axis.turn is not None
    ]
    return {"kind": "torus", "grid": _grid(logs, scale), "scale": _scale(scale)} | {
        "points": packed(np.stack(shares, axis=1))
    }


@contents.register
def _(manifold: SpecialOrthogonal, scene: Scene) -> dict[str, Any]:
    if manifold.n != 3:
        return contents.dispatch(AbstractManifold)(manifold, scene)
    drawn = scene.samples(scene.grid_size(most=CLOUD))
    logs = scene.log_multiples(drawn)
    # Samples are where the mass is: each stands for as much of it, so for 1/density of volume.
    scale = colour_scale(logs, np.exp(-logs))
    return {
        "kind": "ball",
        "cloud": packed(_in_ball(scene, drawn)),
        "levels": _levels(logs, scale),
        "points": packed(_in_ball(scene, scene.shown(MOST_POINTS))),
        "scale": _scale(scale),
    }


@contents.register
def _(manifold: Quotient, scene: Scene) -> dict[str, Any]:
    return contents(manifold.base, scene)


def _in_ball(scene: Scene, rows: np.ndarray) -> np.ndarray:
    """Rotation vectors over π, of the image nearest to the identity."""
    if not len(rows):
        return np.zeros((0, 3))
    every = images(scene.manifold, rows).reshape(len(rows), -1, 9)
    nearest = np.argmax(every[..., [0, 4, 8]].sum(-1), axis=1)
    return vectors_from_rotations(every[np.arange(len(rows)), nearest]) / np.pi


def _grid(logs: np.ndarray, scale: Scale) -> dict[str, Any]:
    return {"rows": logs.shape[0], "columns": logs.shape[1], "levels": _levels(logs, scale)}


def _levels(logs: np.ndarray, scale: Scale) -> str:
    """Places on the colour scale, 0 to 255, one byte each."""
    places = np.asarray(scale.norm(values_for(scale, logs)), float)
    return _text(np.round(255 * np.clip(places, 0, 1)).astype(np.uint8))


def packed(values: np.ndarray) -> dict[str, Any]:
    """Numbers within ±1 as two bytes each."""
    return {"n": len(values), "values": _text(np.round(32767 * np.asarray(values)).astype("<i2"))}


def _text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def _scale(scale: Scale) -> dict[str, Any]:
    return {"low": scale.low, "high": scale.high, "log": scale.logarithmic}


def _axis(axis: Axis) -> dict[str, Any]:
    start, period = (0.0, 0.0) if axis.turn is None else (axis.turn.start, axis.turn.period)
    return {"name": axis.name, "unit": axis.unit, "start": start, "period": period}


def _short(line: np.ndarray) -> list[list[float] | None]:
    """A line in tenths of a degree, gaps as null."""
    return [None if np.isnan(p).any() else [round(float(v), 1) for v in p] for p in line]
