"""The dequantized flow: its description and its fit to rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from .. import dequantizers
from ..density import Dataset, DequantizedDensity
from ..dequantizers import AbstractDequantizerSpec, HeavyTailed
from ..flows import AbstractAmbientSpec, GaussianMixture, SplineCoupling
from ..flows.mass import reciprocal_mass
from ..manifolds import AbstractDequantization, AbstractManifold, covers
from ..manifolds.far_values import find_far_value
from ..registry import storable
from ..training import AbstractObjective, Callback, ImportanceWeighted, Training, train
from ..training.history import INTERRUPTED
from .base import MAX_HELD_OUT_ROWS, AbstractEstimator, FitResult, name_estimator
from .flow_work import MIN_STEPS, START_WORK_UNITS, step_work

START_ROWS = 4096
"""Rows that an untrained density is scaled to."""
DIRECTIONS = 64
"""Random directions among which the one that separates branches best is chosen."""
MAX_AMBIGUOUS = 0.01
"""Share of rows with two branches as far along from which on a direction cuts through clusters."""
WINDOW_SAMPLES = 2000
"""Samples by which the mass outside a truncated window of branches is measured."""
MAX_LOST_MASS = 1e-3
"""Mass outside the window that is not worth a warning."""


@storable("fit.DequantizedFlow", renamed_fields={"validation": "validation_fraction"})
@dataclasses.dataclass(frozen=True)
class DequantizedFlow(AbstractEstimator):
    """A density by dequantization: a flow on R^m, a q(z | y), an objective and a training.

    The record's events say what is wrong with the result: mass outside a truncated window of
    branches, and, for flows with a solver, log densities that are not those of the samples.

    Args:
        ambient: The flow on R^m; by default splines. Where R^m is a line, a Gaussian mixture
            replaces couplings, which need two coordinates.
        dequantizer: The density q(z | y).
        objective: The loss.
        training: Numbers of the training.
        validation_fraction: Share of the rows, and 2,000 at most, held out to choose the
            parameters, where no held-out rows are given.
        seeds: Independent trainings; the best on held-out rows is kept.
        precision: Bits of a float, 32 or 64; 64 needs JAX's x64 mode.
        dequantization: The map G; by default the manifold's own.
    """

    takes_condition: ClassVar[bool] = True
    min_rows: ClassVar[int] = 2000

    ambient: AbstractAmbientSpec | None = None
    dequantizer: AbstractDequantizerSpec = dataclasses.field(default_factory=HeavyTailed)
    objective: AbstractObjective = dataclasses.field(default_factory=ImportanceWeighted)
    training: Training = dataclasses.field(default_factory=Training)
    validation_fraction: float = 0.1
    seeds: int = 1
    precision: int = 32
    dequantization: AbstractDequantization | None = None

    def __post_init__(self):
        if (
            self.seeds < 1
            or self.precision not in (32, 64)
            or not 0 <= self.validation_fraction < 1
        ):
            raise ValueError(
                "DequantizedFlow needs seeds >= 1, precision 32 or 64 and 0 <= validation_fraction "
                "< 1, got "
                f"{self.seeds}, {self.precision} and {self.validation_fraction}."
            )

    def build(self, data: Dataset, *, key: PRNGKeyArray) -> DequantizedDensity:
        """The untrained density, scaled to the rows.

        Args:
            data: Rows with their conditions.
            key: Chooses the networks' parameters, and the z by which rows are scaled.
        """
        g = self.dequantization or data.manifold.dequantization()
        k1, k2, k3 = jax.random.split(key, 3)
        size = 0 if data.condition is None else data.condition.shape[1]
        dequantizer = dequantizers.build(self.dequantizer, g, condition_size=size, key=k1)
        ambient = self._ambient_for(g)
        x = ambient_points(g, dequantizer, data, k2, is_multimodal=ambient.is_multimodal)
        scaling = {"shift": x.mean(0), "scale": x.std(0)}
        flow = ambient.build(g.ambient_dim, **scaling, condition_size=size, key=k3)
        flow = ambient.initialize_from_data(flow, x)
        return DequantizedDensity(g, self._cast(flow), self._cast(dequantizer))

    def _ambient_for(self, g: AbstractDequantization) -> AbstractAmbientSpec:
        ambient = self.ambient or SplineCoupling()
        return ambient if g.ambient_dim >= ambient.min_dim else GaussianMixture(8)

    def fit_work(self, n: int, manifold: AbstractManifold) -> float:
        return START_WORK_UNITS + self.training.steps * self._step_work(manifold)

    def min_work(self, n: int, manifold: AbstractManifold) -> float:
        steps = min(MIN_STEPS, self.training.steps)
        return START_WORK_UNITS + steps * self._step_work(manifold)

    def within(self, work: float, n: int, manifold: AbstractManifold) -> DequantizedFlow:
        # Whole blocks, since the parameters are validated after each.
        block = self.training.eval_every
        blocks = (work - START_WORK_UNITS) / self._step_work(manifold) // block
        steps = min(self.training.steps, max(1, int(blocks)) * block)
        return dataclasses.replace(self, training=dataclasses.replace(self.training, steps=steps))

    def _step_work(self, manifold: AbstractManifold) -> float:
        """Work units of a training step, which do not depend on the number of rows."""
        g = self.dequantization or manifold.dequantization()
        z = self.objective.samples_per_row if g.auxiliary.size else 1
        evaluations = self.seeds * self.training.batch_size * z * g.branches
        return step_work(self._ambient_for(g), g.ambient_dim, evaluations)

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[DequantizedDensity]:
        split_key, check_key, *keys = jax.random.split(key, 2 + self.seeds)
        if data.is_sampler:
            start = Dataset(data.rows(split_key, START_ROWS), data.manifold)
        else:
            # Its likelihood at such a row would be all that training sees.
            if far := find_far_value(data.manifold, np.asarray(data.rows, np.float64)):
                raise far
            if validation is None and self.validation_fraction > 0:
                data, validation = data.split(
                    self.validation_fraction, key=split_key, max_held_out=MAX_HELD_OUT_ROWS
                )
            data = start = self._on_device(data)
        if validation is not None:
            validation = self._on_device(validation)
        results = []
        for number, seed_key in enumerate(keys):
            build_key, train_key = jax.random.split(seed_key)
            trained = train(
                self.build(start, key=build_key),
                data,
                key=train_key,
                training=self.training,
                objective=self.objective,
                validation=validation,
                callbacks=[c.for_part(str(number)) if self.seeds > 1 else c for c in callbacks],
            )
            results.append(trained)
            if trained[1].stopped == INTERRUPTED:
                break
        best = FitResult(*min(results, key=lambda pair: pair[1].best_validation))
        check_window(best, check_key)
        if self.ambient is not None and self.ambient.uses_solver:
            check_solver(best, check_key)
        return best

    def _on_device(self, data: Dataset) -> Dataset:
        return data.replace(rows=self._cast(jnp.asarray(data.rows)))

    def _cast(self, tree: PyTree) -> PyTree:
        """Every float in the wanted precision."""
        dtype = jnp.float32 if self.precision == 32 else jnp.float64
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                "precision=64 needs JAX's x64 mode: call jax.config.update('jax_enable_x64', True) "
                "before anything else."
            )
        return jax.tree.map(lambda a: a.astype(dtype) if eqx.is_inexact_array(a) else a, tree)


FLOW = DequantizedFlow(
    SplineCoupling(6, 64, 2, 12, 4.0, activation="silu"),
    HeavyTailed(32),
    ImportanceWeighted(4),
    Training(steps=6000, batch_size=256, learning_rate=2e-3, warmup=200, patience=8),
)
"""The flow that users get by name."""
name_estimator("flow", lambda: FLOW)


def check_window(result: FitResult[DequantizedDensity], key: PRNGKeyArray) -> None:
    """Add an event where a truncated window of branches loses mass."""
    g = result.density.dequantization
    if g.branches == 1:
        return
    lost = 1 - float(covered_share(result.density, jax.random.split(key, WINDOW_SAMPLES)))
    if lost > MAX_LOST_MASS:
        result.record.events.append(
            f"{lost:.1%} of the ambient mass is outside the branches of {type(g).__name__}, and "
            "missing from the log densities: use a wider window, or another dequantization."
        )


@eqx.filter_jit
def covered_share(density: DequantizedDensity, keys: Array) -> Float[Array, ""]:
    """Share of ambient samples, one for each key, that are among the branches."""
    ambient = paramax.unwrap(density.ambient)
    inside = jax.lax.map(
        lambda k: covers(density.dequantization, ambient.sample(key=k)), keys, batch_size=500
    )
    return inside.mean()


def check_solver(result: FitResult[DequantizedDensity], key: PRNGKeyArray) -> None:
    """Add an event where a solver's log densities are not those of its samples."""
    mass, error = (float(v) for v in reciprocal_mass(result.density.ambient, key=key))
    if abs(mass - 1) > 4 * error + 0.02:
        result.record.events.append(
            f"The ambient density is wrong: E g/π over its samples is {mass:.3f} ± {error:.3f}, "
            "not 1. Training exploited the solver's error: use tighter tolerances, more steps or "
            "a cost."
        )


def ambient_points(
    g: AbstractDequantization, dequantizer, data: Dataset, key: PRNGKeyArray, *, is_multimodal: bool
) -> Float[Array, "n m"]:
    """Preimages of up to `START_ROWS` rows under the untrained q(z | y).

    Each row uses one of its branches nearest to zero: a flow should not start at the far turns of
    a wrapped angle. Among several as near, rows choose by a common direction, see
    :func:`choose_branches`; or at random, if the flow is multimodal and no direction separates the
    clusters.
    """

    def preimages(y, condition, v):
        features = g.manifold.features(y)
        if condition is not None:
            features = jnp.concatenate([features, condition])
        x, _ = g.preimages(y, dequantizer.transform(features, v))
        size = jnp.linalg.norm(x, axis=1)
        return x, size <= size.min() * (1 + 1e-4)

    k1, k2, k3 = jax.random.split(key, 3)
    some = data.take(np.asarray(jax.random.permutation(k1, len(data)))[:START_ROWS])
    rows = jnp.asarray(some.rows)
    condition = None if some.condition is None else jnp.asarray(some.condition, rows.dtype)
    # Only the bulk of q: its tails are for the weights, not for the scale.
    v = jax.random.uniform(k2, (len(rows), g.auxiliary.size), minval=0.1, maxval=0.9)
    x, near = jax.jit(jax.vmap(preimages))(rows, condition, v)
    branch, ambiguous = choose_branches(x, near, key=k3)
    if is_multimodal and ambiguous > MAX_AMBIGUOUS:
        branch = jax.random.categorical(k3, jnp.where(near, 0.0, -jnp.inf))
    return jnp.take_along_axis(x, branch[:, None, None], axis=1)[:, 0]


def choose_branches(
    x: Float[Array, "n b m"], allowed: Bool[Array, "n b"], *, key: PRNGKeyArray
) -> tuple[Int[Array, " n"], Float[Array, ""]]:
    """Choose for each row the allowed branch that is farthest along one direction.

    Then rows that are near each other get branches that are. Branches at random would turn each
    cluster of rotations, by quaternions ±q, into two clusters with a bridge for the flow to learn.

    Args:
        x: The branches of every row.
        allowed: Which of them may be chosen.
        key: Chooses random directions; the one with the fewest ambiguous rows is used.

    Returns:
        The branch of each row, and the share of rows with two branches almost as far along.
    """

    def choose(u: Float[Array, " m"]) -> tuple[Int[Array, " n"], Float[Array, ""]]:
        along = jnp.where(allowed, x @ u, -jnp.inf)
        best = jnp.argmax(along, axis=1)
        rest = jnp.where(jnp.arange(along.shape[1]) == best[:, None], -jnp.inf, along)
        gap = (along.max(1) - rest.max(1)) / jnp.linalg.norm(x[:, 0], axis=1)
        return best, jnp.exp(-((gap / 0.3) ** 2)).mean()

    u = jax.random.normal(key, (DIRECTIONS if bool((allowed.sum(1) > 1).any()) else 1, x.shape[2]))
    u = u / jnp.linalg.norm(u, axis=1, keepdims=True)
    branches, ambiguous = jax.jit(lambda u: jax.lax.map(choose, u))(u)
    best = jnp.argmin(ambiguous)
    return branches[best], ambiguous[best]
