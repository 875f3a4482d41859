"""The spline flow: exact densities by a flow that maps fibres to fibres."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..density import AbstractDensity, Dataset, Members
from ..density.covered import CoveredDensity, Standardizer
from ..flows.manifold.block_splines import BlockSplines
from ..flows.manifold.cell_splines import CellSplines
from ..flows.manifold.moves import parameter_count
from ..flows.manifold.spline import check_bins
from ..manifolds import AbstractManifold
from ..manifolds.cover import AbstractCover
from ..manifolds.local import location_and_scale
from ..registry import storable
from ..training import Callback, MemberLikelihood, Training, train
from .base import (
    MAX_HELD_OUT_ROWS,
    AbstractEstimator,
    FitResult,
    named_estimator,
    unsupported,
)
from .flow_work import GRADIENT_WORK_UNITS, MIN_STEPS
from .manifold_flow.base import in_single_precision

START_WORK_UNITS = 20.0
"""Work units of building a flow and compiling its training."""
BIN_WORK_UNITS = 6.3e-8
"""Work units of one bin of a block's spline in one evaluation with its gradient."""
AXIS_COST = 2.0
"""The cost of a layer with an axis, over that of others: networks are evaluated for both signs."""
LOGISTIC_SCALE = 0.55
"""Scale of a logistic distribution of standard deviation 1."""
MAX_SCALING_ROWS = 100_000
"""Rows by which coordinates are scaled; more would not change the scale."""
MOVES = 24
"""Moves of all layers: a layer moves one number of each block."""
LAYERS = (8, 12)
"""The fewest and the most layers for these moves."""
WIDTHS = (32, 64)
"""Widths of the networks for few and for many rows; wide ones overfit few rows."""
MANY_ROWS = 30_000
"""Rows from which on they are many."""


def _upgrade(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of older files, which had one flow."""
    return {"members": 1} | fields


@named_estimator("spline flow")
@storable("estimators.SplineFlow", upgrade=_upgrade)
@dataclasses.dataclass(frozen=True)
class SplineFlow(AbstractEstimator):
    """A flow on R^m that maps fibres to fibres, so that z integrates out in closed form.

    Log densities are exact and take one evaluation of the networks for each branch: SO(3) has two.
    It serves spheres, tori, rotations, frames, manifolds of one chart, discrete values, their
    quotients and products. Discrete values are modelled given all others.

    The density is the mean of several members, which differ by their random start: p = mean p_k.
    Members overfit few rows each in another way, and their mean loses most of that. They are
    trained side by side in one program. Lakshminarayanan et al. 2017.

    Args:
        layers: Layers of the flow; a sphere is moved along one axis in each. By default they make
            `MOVES` moves, and are 8 to 12.
        width: Width of the networks' hidden layers; by default 32, and 64 for 30,000 rows or more.
        depth: Number of the networks' hidden layers.
        bins: Bins of each spline.
        members: Flows whose mean is the density.
        training: Numbers of the training.
        validation_fraction: Share of the rows, and 2,000 at most, held out to choose the
            parameters, where no held-out rows are given.
    """

    takes_condition: ClassVar[bool] = True
    min_rows: ClassVar[int] = 500

    layers: int | None = None
    width: int | None = None
    depth: int = 1
    bins: int = 6
    members: int = 4
    training: Training = dataclasses.field(
        default_factory=lambda: Training(
            steps=6000, batch_size=128, learning_rate=4e-3, warmup=200, patience=6
        )
    )
    validation_fraction: float = 0.1

    def __post_init__(self):
        check_bins(self.bins)
        sizes = (self.layers, self.width, self.members)
        is_small = any(size is not None and size < 1 for size in sizes)
        if is_small or not 0 <= self.validation_fraction < 1:
            raise ValueError(
                "SplineFlow needs layers, width and members >= 1 and 0 <= validation_fraction < 1, "
                f"got {', '.join(map(str, sizes))} and {self.validation_fraction}."
            )

    def serves(self, manifold: AbstractManifold) -> bool:
        return manifold.cover() is not None

    def build(self, data: Dataset, *, key: PRNGKeyArray) -> CoveredDensity:
        """An untrained member, scaled to the rows.

        Args:
            data: Rows with their conditions.
            key: Chooses the networks' parameters.
        """
        cover = self._cover_of(data.manifold)
        flow_key, cell_key = jax.random.split(key)
        some = data.take(np.arange(min(len(data), MAX_SCALING_ROWS)))
        x, features, middles = (np.asarray(v, float) for v in describe_rows(cover, some))
        size = 0 if data.condition is None else data.condition.shape[1]
        condition = np.zeros((1, 0)) if some.condition is None else np.asarray(some.condition)
        layers, width = self._sizes(len(data), cover)
        nets = {"width": width, "depth": self.depth, "bins": self.bins}
        flow = cells = None
        if cover.blocks:
            flow = BlockSplines(cover.blocks, size, layers=layers, **nets, key=flow_key)
        if cover.cell_count:
            location, scale = find_scale(middles)
            count = features.shape[1] + size
            cells = CellSplines(location, LOGISTIC_SCALE * scale, count, **nets, key=cell_key)
        return CoveredDensity(
            data.manifold,
            cover,
            flow,
            cells,
            scale_lines(cover, x),
            Standardizer(*find_scale(features)),
            Standardizer(*find_scale(condition)),
        )

    def fit_work(self, n: int, manifold: AbstractManifold) -> float:
        return START_WORK_UNITS + self.training.steps * self._step_work(n, manifold)

    def min_work(self, n: int, manifold: AbstractManifold) -> float:
        steps = min(MIN_STEPS, self.training.steps)
        return START_WORK_UNITS + steps * self._step_work(n, manifold)

    def within(self, work: float, n: int, manifold: AbstractManifold) -> SplineFlow:
        # Whole blocks, since the parameters are validated after each.
        block = self.training.eval_every
        blocks = (work - START_WORK_UNITS) / self._step_work(n, manifold) // block
        steps = min(self.training.steps, max(1, int(blocks)) * block)
        return dataclasses.replace(self, training=dataclasses.replace(self.training, steps=steps))

    def _sizes(self, n: int, cover: AbstractCover) -> tuple[int, int]:
        """The number of layers and the width of the networks for n rows."""
        layers, width = self.layers, self.width
        if layers is None:
            layers = int(np.clip(MOVES // max(1, len(cover.blocks)), *LAYERS))
        return layers, WIDTHS[n >= MANY_ROWS] if width is None else width

    def _step_work(self, n: int, manifold: AbstractManifold) -> float:
        """Work units of a training step; more rows change only the width of the networks."""
        cover = self._cover_of(manifold)
        layers, width = self._sizes(n, cover)
        inputs, outputs = cover.size, parameter_count(self.bins)
        network = width * (inputs + width * (self.depth - 1) + outputs)
        one_network, spline = GRADIENT_WORK_UNITS * network, BIN_WORK_UNITS * self.bins
        layer = (spline + one_network) * len(cover.blocks)
        if any(block.kind == "axis" for block in cover.blocks):
            layer *= AXIS_COST
        flow = layers * cover.branches * layer if cover.blocks else 0.0
        cells = cover.cell_count * (spline + one_network)
        return (flow + cells) * self.members * self.training.batch_size

    def _cover_of(self, manifold: AbstractManifold) -> AbstractCover:
        cover = manifold.cover()
        if cover is None:
            raise unsupported(self, manifold, "manifolds with a cover by spheres and lines")
        return cover

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[AbstractDensity]:
        split_key, build_key, train_key = jax.random.split(key, 3)
        if validation is None and self.validation_fraction > 0:
            data, validation = data.split(
                self.validation_fraction, key=split_key, max_held_out=MAX_HELD_OUT_ROWS
            )
        keys = jax.random.split(build_key, self.members)
        density, record = train(
            Members(*(self.build(data, key=key) for key in keys)),
            in_single_precision(data),
            key=train_key,
            training=self.training,
            objective=MemberLikelihood(),
            validation=None if validation is None else in_single_precision(validation),
            callbacks=callbacks,
        )
        return FitResult(density.separate(), record)


@eqx.filter_jit
def _describe(cover: AbstractCover, rows):
    def one(y):
        return cover.lift(y)[0][0], cover.features(y), cover.cells(y).middle

    return jax.vmap(one)(rows)


def describe_rows(cover: AbstractCover, data: Dataset):
    """Compute coordinates, features and middles of cells of all rows."""
    return _describe(cover, jnp.asarray(data.rows, jnp.float32))


def find_scale(
    values: Float[np.ndarray, "n k"],
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Find a location and a positive scale of each column."""
    if not values.shape[1]:
        return jnp.zeros(0), jnp.ones(0)
    location, scale = location_and_scale(values)
    return jnp.asarray(location, jnp.float32), jnp.asarray(scale, jnp.float32)


def scale_lines(cover: AbstractCover, x: Float[np.ndarray, "n m"]) -> Standardizer:
    """Scale the lines to the base; spheres and circles stay as they are."""
    kinds = np.repeat([b.kind for b in cover.blocks], [b.size for b in cover.blocks])
    location, scale = find_scale(x)
    is_line = kinds == "line"
    return Standardizer(
        jnp.where(is_line, location, 0), jnp.where(is_line, LOGISTIC_SCALE * scale, 1)
    )
