"""`draw`: the paper's figures, each learned density trained once and kept as a model file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from matplotlib.figure import Figure

from .. import store, targets
from ..ambient import RealNVP, SplineCoupling
from ..density import DequantizedDensity
from ..dequantizers import Safe
from ..fit import DequantizedFlow
from ..manifolds.conversions import vectors_from_latlon
from ..objectives import ImportanceWeighted
from ..plots import save
from ..plots.scene import grid_side
from ..plots.style import (
    DATA_EDGE,
    MAP,
    MODEL,
    SMALL,
    TINY,
    colour_bar,
    colour_scale,
    tidy,
    values_for,
)
from ..targets import AbstractTarget
from ..training import Training
from . import pictures
from .pictures import Pair, log_density, sheet
from .trial import sampler

SEED = 0
QUICK_STEPS = 200
CELLS, QUICK_CELLS = 12_800, 1_800
"""Log densities of a sphere's map; other maps have a part of that."""
SUFFIXES = (".png", ".pdf")
TARGETS: dict[str, Callable[[], AbstractTarget]] = {
    "s2": targets.sphere_s2,
    "s3": targets.sphere_s3,
    "correlated": targets.torus_correlated,
    "unimodal": targets.torus_unimodal,
    "multimodal": targets.torus_multimodal,
    "so3": targets.rotations_so3,
}
TORUS = (RealNVP(3, 35, activation="silu"), 35, 5, 3_000)
# The ambient density, the width of q(z | y)'s network, the objective's samples, and the steps.
SPECS = {
    "s2": (SplineCoupling(4, 24, 2, 8, 4.0, activation="silu"), 10, 2, 3_000),
    "s3": (SplineCoupling(4, 32, 2, 8, 4.0, activation="silu"), 10, 2, 2_000),
    "correlated": TORUS,
    "unimodal": TORUS,
    "multimodal": TORUS,
    "so3": (SplineCoupling(4, 32, 2, 8, 4.0, activation="silu"), 10, 2, 3_000),
}


def recipe(name: str, quick: bool) -> tuple[AbstractTarget, DequantizedFlow]:
    """A density to learn, and how."""
    ambient, width, samples, steps = SPECS[name]
    training = Training(steps, 200, 3e-3, warmup=200)
    if quick:
        training = Training(QUICK_STEPS, 200, 3e-3, warmup=20, block=QUICK_STEPS)
    spec = DequantizedFlow(ambient, Safe(width), ImportanceWeighted(samples), training)
    return TARGETS[name](), spec


def learned(name: str, folder: Path, quick: bool) -> DequantizedDensity:
    """The density that fresh draws of a target were learned by: stored, or else trained now."""
    target, spec = recipe(name, quick)
    about = {"target": repr(target), "seed": SEED}
    path = folder / "models" / f"{name}.foliax"
    if (found := _stored(path, spec, about)) is not None:
        return found
    fitted = spec.fit(target.manifold, sampler(target), key=jax.random.key(SEED))
    path.parent.mkdir(parents=True, exist_ok=True)
    store.save(path, fitted.density, spec=spec, record=fitted.record, extra=about)
    return fitted.density


def _stored(path: Path, spec: DequantizedFlow, about: dict) -> DequantizedDensity | None:
    """A model file's density, where it can be read and was trained in the same way."""
    try:
        saved = store.load(path)
    except (OSError, store.ModelFileError):
        return None
    same = saved.spec == spec and saved.extra == about
    return saved.density if same and isinstance(saved.density, DequantizedDensity) else None


def dequantization(pairs: tuple[Pair, ...], cells: int) -> Figure:
    """Along the equator of S²: the density, above p(r | s) of the flow and q(r | s) learned."""
    (pair,) = pairs
    side = 2 * grid_side(cells)
    lon = np.linspace(-180, 180, side + 1)
    points = vectors_from_latlon(np.zeros_like(lon), lon, degrees=True)
    radii = np.linspace(0, most_radius(pair.learned, points), side + 1)[1:]
    logs = np.stack(radius_logs(pair.learned, points, radii))
    scale = colour_scale(logs, np.ones_like(logs))
    figure = sheet(7.4, 4.2)
    axes: Any = figure.subplots(2, 2, height_ratios=(0.45, 1.0), sharex=True, sharey="row")
    curves = [np.exp(log_density(density, points)) for density in pair]
    for ax in axes[0]:
        ax.plot(lon, curves[0], color=MODEL, lw=1.4, ls="--")
        ax.plot(lon, curves[1], color=DATA_EDGE, lw=1.4)
        tidy(ax)
    names = ("exact: p(r | s) of the flow", "learned: q(r | s)")
    for ax, values, name in zip(axes[1], logs, names, strict=True):
        shown = values_for(scale, values).T
        look = {"norm": scale.norm, "cmap": MAP, "shading": "gouraud", "rasterized": True}
        ax.pcolormesh(lon, radii, shown, **look)
        ax.set_xlim(-180, 180)
        ax.set_xlabel("longitude (°)", fontsize=SMALL)
        ax.set_xticks(range(-180, 181, 90))
        ax.tick_params(labelsize=TINY)
        ax.set_title(name, fontsize=SMALL)
    figure.get_layout_engine().set(wspace=0.06)  # type: ignore[union-attr]
    axes[0, 0].set_ylabel("density\nper steradian", fontsize=SMALL)
    axes[1, 0].set_ylabel("radius r", fontsize=SMALL)
    axes[0, 0].legend(("target", "learned"), frameon=False, fontsize=TINY)
    colour_bar(figure, axes[1], scale, "density per unit of radius", shrink=0.9)
    return figure


@eqx.filter_jit
def _radius_logs(density: DequantizedDensity, point, radii) -> tuple[Any, Any]:
    model = paramax.unwrap(density)
    features = model.manifold.features(point)
    joint = jax.vmap(lambda r: jax.nn.logsumexp(model.log_branches_and_cost(point, r)[0]))
    learned = jax.vmap(lambda r: model.dequantizer.log_prob(features, r))
    total = density.log_prob(point).value
    return joint(radii) - total, learned(radii)


def radius_logs(
    density: DequantizedDensity, points: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms [point, radius] of p(r | s) = r² π(rs)/∫ r² π(rs) dr and of q(r | s) on S²."""
    column = jnp.asarray(radii, jnp.float32)[:, None]
    found = [_radius_logs(density, jnp.asarray(s, jnp.float32), column) for s in points]
    exact, learned = (
        np.stack([np.asarray(part, float) for part in parts]) for parts in zip(*found, strict=True)
    )
    return exact, learned


def most_radius(density: DequantizedDensity, points: np.ndarray) -> float:
    """A radius that q(r | s) exceeds by 1 % at most, whatever the point s."""
    model = paramax.unwrap(density)

    def high(s):
        return model.dequantizer.transform(model.manifold.features(s), jnp.full(1, 0.99))[0]

    return float(jax.jit(jax.vmap(high))(jnp.asarray(points, jnp.float32)).max())


class Picture(NamedTuple):
    """A figure: its name for people, the densities it shows, and how it is drawn."""

    words: str
    densities: tuple[str, ...]
    drawn: Callable[[tuple[Pair, ...], int], Figure]


PICTURES = {
    "sphere": Picture("S²", ("s2",), pictures.sphere),
    "hypersphere": Picture("S³", ("s3",), pictures.hypersphere),
    "torus": Picture("T²", ("correlated", "unimodal", "multimodal"), pictures.torus),
    "rotations": Picture("SO(3)", ("so3",), pictures.rotations),
    "dequantization": Picture("dequantization", ("s2",), dequantization),
}


def draw(folder: Path, *, quick: bool, show: Callable[[str], None]) -> list[Path]:
    """Every figure as a PNG and a PDF file in `folder`; `show` is told which one is next.

    `quick`: short trainings and coarse maps: whether it runs, not how well.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, picture in PICTURES.items():
        show(picture.words)
        pairs = tuple(
            Pair(recipe(density, quick)[0], learned(density, folder, quick))
            for density in picture.densities
        )
        figure = picture.drawn(pairs, QUICK_CELLS if quick else CELLS)
        made += [save(figure, folder / f"{name}{suffix}", dpi=200) for suffix in SUFFIXES]
    return made
