"""The kinds of interactive views: a globe, a map of two angles, a ball of rotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..manifolds import SpecialOrthogonal, Sphere, Torus
from ..manifolds.conversions import vectors_from_rotations
from .fields import SphereField
from .packing import MAX_PACKED_DOTS, pack_grid, pack_levels, pack_points, pack_scale
from .region import Cap, cap_of, directions_of
from .registry import interactive_for
from .scene import Scene, grid_side
from .sphere import viewpoint
from .style import colour_scale
from .torus import torus_grid

MAX_CLOUD_SAMPLES = 3_000
"""Samples that fill the ball of rotations: more make it slow to turn on a phone."""


@interactive_for(
    Sphere,
    dim=2,
    kind="globe",
    description="A globe coloured by the density. Drag it or use the arrow keys, + and -.",
)
def globe_contents(scene: Scene) -> dict[str, Any]:
    """A grid of the density on the sphere, the rows, and where to look from."""
    cap = cap_of(directions_of(scene))
    cells = 64_800 if cap.is_small else 16_200
    field = SphereField.from_function(scene.log_multiples, scene.grid_size(largest=cells))
    scale = colour_scale(field.logs, field.weights)
    return {
        "grid": pack_grid(field.logs, scale),
        "points": pack_points(scene.symmetry.images(scene.rows_to_draw(MAX_PACKED_DOTS))),
        "scale": pack_scale(scale),
        "facing": viewpoint(scene),
        "zoom": _zoom(cap),
    }


def _zoom(cap: Cap) -> float:
    """Zoom of a globe at which a small cap fills most of the picture."""
    if not cap.is_small:
        return 1.0
    return float(np.clip(0.8 / np.sin(np.deg2rad(max(cap.radius, 1.0))), 1, 6))


@interactive_for(
    Torus,
    dim=2,
    kind="torus",
    description="A map of two angles coloured by the density. Drag it or use the arrow keys.",
)
def torus_contents(scene: Scene) -> dict[str, Any]:
    """A grid of the density on the torus, and the rows in fractions of a turn."""
    _, logs = torus_grid(scene, grid_side(scene.grid_size(largest=14_400)))
    scale = colour_scale(logs, np.ones_like(logs))
    angles = scene.frame.values(scene.rows_to_draw(MAX_PACKED_DOTS))
    fractions = [
        (axis.to_unit(column) - axis.turn.start) / axis.turn.period
        for axis, column in zip(scene.axes, angles.T, strict=True)
        if axis.turn is not None
    ]
    return {
        "grid": pack_grid(logs, scale),
        "scale": pack_scale(scale),
        "points": pack_points(np.stack(fractions, axis=1)),
    }


@interactive_for(
    SpecialOrthogonal,
    dim=3,
    kind="ball",
    description="Rotations as points of a ball: axis × angle. Drag it or use the arrow keys.",
)
def ball_contents(scene: Scene) -> dict[str, Any]:
    """Samples with their densities, and the rows, as rotation vectors."""
    samples = scene.samples(scene.grid_size(largest=MAX_CLOUD_SAMPLES))
    logs = scene.log_multiples(samples)
    # All samples stand for the same mass, so each stands for 1/density of the volume.
    scale = colour_scale(logs, np.exp(-logs))
    return {
        "cloud": pack_points(_in_ball(scene, samples)),
        "levels": pack_levels(logs, scale),
        "points": pack_points(_in_ball(scene, scene.rows_to_draw(MAX_PACKED_DOTS))),
        "scale": pack_scale(scale),
    }


def _in_ball(scene: Scene, rows: np.ndarray) -> np.ndarray:
    """Rotation vectors over π, of each row's image nearest to the identity."""
    if not len(rows):
        return np.zeros((0, 3))
    images = scene.symmetry.images(rows).reshape(len(rows), -1, 9)
    nearest = np.argmax(images[..., [0, 4, 8]].sum(-1), axis=1)
    return vectors_from_rotations(images[np.arange(len(rows)), nearest]) / np.pi
