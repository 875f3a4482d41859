"""Views of rotations: sections of constant angle, and pole figures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..manifolds import SpecialOrthogonal
from ..manifolds.conversions import (
    latlon_from_vectors,
    rotations_from_vectors,
    vectors_from_rotations,
)
from ..manifolds.symmetry import Symmetry
from . import projections
from .disks import draw_disk, draw_dots, draw_rings, label_space_axes
from .fields import SphereField, smooth_directions
from .registry import view_for
from .scene import DENSITY_LABEL, Scene, data_handles
from .sphere import paint_mollweide
from .style import (
    LABEL_PT,
    TICK_PT,
    add_colour_bar,
    add_legend,
    colour_scale,
    dot_style,
    draw_outlined_text,
)

SECTION_COUNT = 6
"""Two rows of three panels fit on a page."""
MAX_SECTION_ROWS = 1000
"""Rows drawn as dots; each has an image for every element of the symmetry."""
POLE_SAMPLES = 8_000
"""Samples whose pole density is estimated."""
MAX_POLE_DIRECTIONS = 16_000
"""Directions that the kernels of a pole figure use; their cost grows with them."""
POLE_CELLS = 2450
"""Cells of the grid of a pole figure: 35 × 70, 5° each."""
MAX_POLE_ROWS = 2000
"""Rows drawn in pole figures."""
MAX_POLE_DOTS = 4000
"""Dots drawn in a pole figure: images and opposites of the rows."""


@view_for(SpecialOrthogonal, name="sections", dim=3, quotients=True, order=10)
def draw_sections(scene: Scene) -> None:
    """The density of rotations by six angles, as functions of the rotation axis.

    A row is drawn in the section of the nearest angle, with all its images.
    """
    angles = section_angles(scene)
    n = scene.grid_size(largest=6 * 7200) // SECTION_COUNT
    fields = [SphereField.from_function(_log_density_at(scene, a), max(n, 128)) for a in angles]
    logs = np.stack([f.logs for f in fields])
    # The volume of rotations by ω is proportional to 1 − cos ω.
    weights = np.stack([f.weights * (1 - np.cos(a)) for f, a in zip(fields, angles, strict=True)])
    scale = colour_scale(logs, weights)
    scene.set_size(8.4, 4.5)
    axes: Any = scene.figure.subplots(2, 3, subplot_kw={"projection": "mollweide"})
    by_section = _assign_to_sections(scene, angles)
    dots = dot_style(4 * sum(map(len, by_section)))
    width = round(float(np.rad2deg(angles[0])), 1)
    for ax, field, angle, vectors in zip(axes.flat, fields, angles, by_section, strict=True):
        paint_mollweide(ax, field, scale)
        ax.set_longitude_grid(90)
        ax.set_xticklabels([])
        ax.set_yticklabels([])
        for name, east, north in (("x", 0, 0), ("y", 90, 0), ("z", 0, 80)):
            position = float(np.deg2rad(east)), float(np.deg2rad(north))
            draw_outlined_text(ax, *position, name, size=8)
        lat, lon = latlon_from_vectors(vectors, degrees=False)
        ax.scatter(lon, lat, **dots, zorder=3)
        ax.set_title(f"rotation by {round(np.rad2deg(angle), 1):g}°", fontsize=LABEL_PT, pad=4)
        if len(vectors):
            ax.set_xlabel(f"{len(vectors):,} within ±{width:g}°", fontsize=TICK_PT)
    add_colour_bar(scene.figure, axes, scale, DENSITY_LABEL)
    add_legend(scene.figure, data_handles(scene, len(scene.rows_to_draw())))


def section_angles(scene: Scene) -> np.ndarray:
    """Six angles, evenly spaced up to the largest rotation angle modulo the symmetry."""
    uniform = Rotation.random(4000, rng=np.random.default_rng(0)).as_matrix().reshape(-1, 9)
    images = scene.symmetry.images(uniform).reshape(len(uniform), -1, 9)
    traces = images[..., [0, 4, 8]].sum(-1).max(axis=1)
    largest = np.rad2deg(np.arccos(np.clip((traces.min() - 1) / 2, -1, 1)))
    step = np.ceil(largest / SECTION_COUNT / 5) * 5
    return np.deg2rad(step * (np.arange(SECTION_COUNT) + 0.5))


def _log_density_at(scene: Scene, angle: float):
    return lambda axes: scene.log_multiples(rotations_from_vectors(angle * axes))


def _assign_to_sections(scene: Scene, angles: np.ndarray) -> list[np.ndarray]:
    """Rotation axes of all images of the data, by section."""
    images = scene.symmetry.images(scene.rows_to_draw(MAX_SECTION_ROWS))
    vectors = vectors_from_rotations(images) if len(images) else np.zeros((0, 3))
    rotated = np.linalg.norm(vectors, axis=1)
    near = np.abs(rotated[:, None] - angles) <= angles[0]
    chosen = near.any(axis=1) & (rotated > 1e-6)
    nearest = np.argmin(np.abs(rotated[:, None] - angles), axis=1)
    units = vectors / np.maximum(rotated, 1e-6)[:, None]
    return [units[chosen & (nearest == i)] for i in range(len(angles))]


class Pole(NamedTuple):
    """A direction that is fixed in the body or the crystal, with its name."""

    name: str
    direction: tuple[float, float, float]


BODY_POLES = (
    Pole("body's x axis", (1, 0, 0)),
    Pole("body's y axis", (0, 1, 0)),
    Pole("body's z axis", (0, 0, 1)),
)
CUBIC_POLES = (Pole("{100}", (1, 0, 0)), Pole("{110}", (1, 1, 0)), Pole("{111}", (1, 1, 1)))
CRYSTAL_POLES = (
    Pole("crystal's x axis", (1, 0, 0)),
    Pole("crystal's y axis", (0, 1, 0)),
    Pole("crystal's z axis", (0, 0, 1)),
)


@view_for(SpecialOrthogonal, name="poles", dim=3, quotients=True, order=20)
def draw_poles(scene: Scene) -> None:
    """Pole figures: the density of three directions of the body, rotated into space.

    The directions of a crystal are axes; the upper half shows one end of each. The directions of a
    body need both halves. Kernels estimate the densities from samples of the model.
    """
    symmetry = scene.symmetry
    is_body = symmetry.order == 1
    poles = BODY_POLES if is_body else CUBIC_POLES if symmetry.is_cubic else CRYSTAL_POLES
    halves = (1, -1) if is_body else (1,)
    samples = scene.samples(POLE_SAMPLES)
    directions = [rotate_pole(symmetry, samples, p, limit=MAX_POLE_DIRECTIONS) for p in poles]
    fields = [smooth_directions(found, POLE_CELLS) for found in directions]
    scale = colour_scale(np.stack([f.logs for f in fields]), np.stack([f.weights for f in fields]))
    scene.set_size(8.6, 6.2 if is_body else 3.9)
    axes: Any = scene.figure.subplots(len(halves), 3, squeeze=False)
    rows = scene.rows_to_draw(MAX_POLE_ROWS)
    for column, pole, field in zip(axes.T, poles, fields, strict=True):
        ends = rotate_pole(symmetry, rows, pole, limit=MAX_POLE_DOTS)
        for ax, sign in zip(column, halves, strict=True):
            half = projections.hemisphere(sign)
            draw_disk(ax, half, field, scale)
            draw_rings(ax)
            label_space_axes(ax, sign)
            draw_dots(ax, half, ends, style_count=3 * len(ends))
        column[0].set_title(pole.name, fontsize=10, y=1.0)
    add_colour_bar(scene.figure, axes, scale, "pole density (× uniform)")
    add_legend(scene.figure, data_handles(scene, len(rows)))


def rotate_pole(symmetry: Symmetry, rows: np.ndarray, pole: Pole, *, limit: int) -> np.ndarray:
    """Directions of a pole h in space: O h for crystal-to-sample matrices O, else Oᵀ h.

    A symmetry of order g gives h up to g images; in a crystal each has its opposite. Of more
    directions than `limit`, returns a random subsample.
    """
    direction = np.array(pole.direction) / np.linalg.norm(pole.direction)
    matrices = symmetry.images(rows).reshape(-1, 3, 3)
    if symmetry.side == "left":
        matrices = matrices.transpose(0, 2, 1)
    found = matrices @ direction
    if symmetry.order > 1:
        found = np.concatenate([found, -found])
    if len(found) <= limit:
        return found
    return found[np.random.default_rng(0).choice(len(found), limit, replace=False)]
