"""Rotations: sections of constant angle, and pole figures."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..manifolds import AbstractManifold, Quotient, SpecialOrthogonal
from ..manifolds.conversions import (
    latlon_from_vectors,
    rotations_from_vectors,
    vectors_from_rotations,
)
from . import projections
from .circle import circle_views
from .disks import disk, frame_names, rings, scatter
from .fields import SphereField, smoothed
from .images import images, quotient_views
from .pairs import pair_plot
from .scene import LABEL, Scene, data_handles
from .sphere import mollweide_map
from .style import SMALL, TINY, colour_bar, colour_scale, dots, legend, outlined
from .views import View, views

SECTIONS = 6


@views.register
def _(manifold: SpecialOrthogonal) -> dict[str, View]:
    own = {2: circle_views, 3: rotation_views}.get(manifold.n, dict)()
    return own | {"pair": pair_plot}


@quotient_views.register
def _(base: SpecialOrthogonal, manifold: Quotient) -> dict[str, View]:
    return {2: circle_views, 3: rotation_views}.get(base.n, dict)()


def rotation_views() -> dict[str, View]:
    """The views of SO(3)."""
    return {"sections": sections, "poles": poles}


def sections(scene: Scene) -> None:
    """The density at rotations of six angles, over the axes they turn about.

    Data are where their angle is nearest; a symmetry's images are all shown.
    """
    angles = section_angles(scene)
    n = scene.grid_size(most=6 * 7200) // SECTIONS
    fields = [SphereField.of(_at_angle(scene, a), max(n, 128)) for a in angles]
    logs = np.stack([f.logs for f in fields])
    # A shell of rotations by ω has the volume of 1 − cos ω.
    weights = np.stack([f.weights * (1 - np.cos(a)) for f, a in zip(fields, angles, strict=True)])
    scale = colour_scale(logs, weights)
    scene.size(8.4, 4.5)
    axes: Any = scene.figure.subplots(2, 3, subplot_kw={"projection": "mollweide"})
    dots_of = _by_section(scene, angles)
    width = round(float(np.rad2deg(angles[0])), 1)
    for ax, field, angle, vectors in zip(axes.flat, fields, angles, dots_of, strict=True):
        mollweide_map(ax, field, scale)
        ax.set_longitude_grid(90)
        ax.set_xticklabels([])
        ax.set_yticklabels([])
        for name, east, north in (("x", 0, 0), ("y", 90, 0), ("z", 0, 80)):
            outlined(ax, float(np.deg2rad(east)), float(np.deg2rad(north)), name, size=8)
        lat, lon = latlon_from_vectors(vectors, degrees=False)
        ax.scatter(lon, lat, **dots(4 * sum(map(len, dots_of))), zorder=3)
        ax.set_title(f"rotation by {round(np.rad2deg(angle), 1):g}°", fontsize=SMALL, pad=4)
        if len(vectors):
            ax.set_xlabel(f"{len(vectors):,} within ±{width:g}°", fontsize=TINY)
    colour_bar(scene.figure, axes, scale, LABEL)
    legend(scene.figure, data_handles(scene, len(scene.shown())))


def section_angles(scene: Scene) -> np.ndarray:
    """Six angles, evenly spaced up to the largest that a rotation has modulo the symmetry."""
    turns = Rotation.random(4000, rng=np.random.default_rng(0)).as_matrix().reshape(-1, 9)
    every = images(scene.manifold, turns).reshape(len(turns), -1, 9)
    traces = every[..., [0, 4, 8]].sum(-1).max(axis=1)
    largest = np.rad2deg(np.arccos(np.clip((traces.min() - 1) / 2, -1, 1)))
    step = np.ceil(largest / SECTIONS / 5) * 5
    return np.deg2rad(step * (np.arange(SECTIONS) + 0.5))


def _at_angle(scene: Scene, angle: float):
    return lambda axes: scene.log_multiples(rotations_from_vectors(angle * axes))


def _by_section(scene: Scene, angles: np.ndarray) -> list[np.ndarray]:
    """The axes of the data's images, by the section to which their angle belongs."""
    every = images(scene.manifold, scene.shown(1000))
    vectors = vectors_from_rotations(every) if len(every) else np.zeros((0, 3))
    turned = np.linalg.norm(vectors, axis=1)
    near = np.abs(turned[:, None] - angles) <= angles[0]
    chosen = near.any(axis=1) & (turned > 1e-6)
    nearest = np.argmin(np.abs(turned[:, None] - angles), axis=1)
    units = vectors / np.maximum(turned, 1e-6)[:, None]
    return [units[chosen & (nearest == i)] for i in range(len(angles))]


class Pole(NamedTuple):
    """A direction of the body (the crystal), by name."""

    name: str
    direction: tuple[float, float, float]


BODY = (
    Pole("body's x axis", (1, 0, 0)),
    Pole("body's y axis", (0, 1, 0)),
    Pole("body's z axis", (0, 0, 1)),
)
CUBIC = (Pole("{100}", (1, 0, 0)), Pole("{110}", (1, 1, 0)), Pole("{111}", (1, 1, 1)))
CRYSTAL = (
    Pole("crystal's x axis", (1, 0, 0)),
    Pole("crystal's y axis", (0, 1, 0)),
    Pole("crystal's z axis", (0, 0, 1)),
)


def poles(scene: Scene) -> None:
    """Where three directions of the body come to lie: their density over the sphere.

    A crystal's directions are axes, and their upper ends are shown; a body's are directions, and
    both halves are. The densities are those of the model's samples, smoothed.
    """
    found = symmetry(scene.manifold)
    side, order = found.side, len(found.group)
    named = BODY if order == 1 else CUBIC if found.cubic else CRYSTAL
    halves = (1, -1) if order == 1 else (1,)
    drawn = scene.samples(8_000)
    fields = [smoothed(turned(scene, drawn, p, side, most=16_000), 2450) for p in named]
    scale = colour_scale(np.stack([f.logs for f in fields]), np.stack([f.weights for f in fields]))
    scene.size(8.6, 6.2 if order == 1 else 3.9)
    axes: Any = scene.figure.subplots(len(halves), 3, squeeze=False)
    shown = scene.shown(2000)
    for column, pole, field in zip(axes.T, named, fields, strict=True):
        spots = turned(scene, shown, pole, side, most=4000)
        for ax, sign in zip(column, halves, strict=True):
            half = projections.hemisphere(sign)
            disk(ax, half, field, scale)
            rings(ax)
            frame_names(ax, sign)
            scatter(ax, half, spots, of=3 * len(spots))
        column[0].set_title(pole.name, fontsize=10, y=1.0)
    colour_bar(scene.figure, axes, scale, "pole density (× uniform)")
    legend(scene.figure, data_handles(scene, len(shown)))


class Symmetry(NamedTuple):
    """A group's matrices and the side on which they act."""

    side: str
    group: tuple

    @property
    def cubic(self) -> bool:
        """Whether x → y → z → x belongs to it; the order does not tell: 23 and 622 have 12."""
        cycle = np.roll(np.eye(3), 1, axis=0)
        return any(np.allclose(np.array(g), cycle, atol=1e-6) for g in self.group)


@functools.singledispatch
def symmetry(manifold: AbstractManifold) -> Symmetry:
    """What the points of a manifold are taken modulo: nothing, but in a quotient."""
    return Symmetry("right", (np.eye(3),))


@symmetry.register
def _(manifold: Quotient) -> Symmetry:
    return Symmetry(manifold.side, tuple(manifold.group))


def turned(scene: Scene, rows: np.ndarray, pole: Pole, side: str, *, most: int) -> np.ndarray:
    """A pole's places in the sample: O h for crystal-to-sample matrices, Oᵀ h for the inverse.

    With a symmetry of order g, h has up to g images, and of a crystal each has its opposite.
    """
    direction = np.array(pole.direction) / np.linalg.norm(pole.direction)
    matrices = images(scene.manifold, rows).reshape(-1, 3, 3)
    if side == "left":
        matrices = matrices.transpose(0, 2, 1)
    found = matrices @ direction
    if len(symmetry(scene.manifold).group) > 1:
        found = np.concatenate([found, -found])
    if len(found) <= most:
        return found
    return found[np.random.default_rng(0).choice(len(found), most, replace=False)]
