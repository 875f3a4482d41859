"""The density made of a flow on R^m, a dequantization and a q(z | y)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float, Key, PRNGKeyArray

from ..dequantizers import AbstractDequantizer
from ..flows import AbstractAmbient
from ..manifolds import AbstractDequantization, AbstractManifold
from ..registry import storable
from .base import AbstractDensity, Budget, Condition, Point
from .batches import map_batches, rows_at_once
from .digits import restore_digits
from .integrate import (
    AbstractIntegrator,
    Integrand,
    Own,
    budgeted_integrator,
    default_integrator,
)
from .log_prob import LogProb

Aux = Float[Array, " k"]
Scalar = Float[Array, ""]

PARAMETER_WORK_UNITS = 1.4e-10
"""Work units of one parameter of a flow in one evaluation: a product, a sum and their overhead."""


@storable("density.DequantizedDensity")
class DequantizedDensity(AbstractDensity):
    """p(y) = E_{z ~ q(·|y)} Σ_b π(x_b) exp(log_volume_b) / q(z | y); sample: y of G(x), x ~ π.

    Brofos et al. 2021, Corollary 3. `integrator`: by default exact without z, quadrature for
    one-dimensional z, else randomised quasi-Monte Carlo.
    """

    dequantization: AbstractDequantization
    ambient: AbstractAmbient
    dequantizer: AbstractDequantizer
    integrator: AbstractIntegrator
    manifold: AbstractManifold

    def __init__(
        self,
        dequantization: AbstractDequantization,
        ambient: AbstractAmbient,
        dequantizer: AbstractDequantizer,
        integrator: AbstractIntegrator | None = None,
    ):
        self.dequantization = dequantization
        self.ambient = ambient
        self.dequantizer = dequantizer
        self.integrator = integrator or default_integrator(dequantization.auxiliary.size)
        self.manifold = dequantization.manifold

    def __check_init__(self):
        g = self.dequantization
        if self.ambient.dim != g.ambient_dim:
            raise ValueError(
                f"The ambient density is on R^{self.ambient.dim}; {type(g).__name__} needs one on "
                f"R^{g.ambient_dim}."
            )
        if self.manifold is not g.manifold and repr(self.manifold) != repr(g.manifold):
            raise ValueError(f"The density is on {self.manifold}, but {g} is for {g.manifold}.")

    def features(self, y: Point, condition: Condition = None) -> Float[Array, " f"]:
        """What q(z | y) sees: the manifold's features of y, and those of the condition."""
        features = self.manifold.features(y)
        return features if condition is None else jnp.concatenate([features, condition])

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        return self._integrate(y, condition, None, key)

    def sample_and_log_prob(
        self, *, condition: Condition = None, key: PRNGKeyArray, noise: PRNGKeyArray
    ) -> tuple[Point, LogProb]:
        """Draw one point by `key`, with its log density by `noise` and the point's own z.

        The z comes from p(z | y), so it lies where q(z | y) may hardly look. With it among the z
        that are summed, 1/p̂ is unbiased, and log p̂ is not too low on average. Without it p̂ is
        unbiased, and log p̂ is too low, by any amount if q(z | y) misses the flow's mass.
        """
        model = paramax.unwrap(self)
        x = model.ambient.sample(condition=condition, key=key)
        y, z = self.dequantization.quantize(x)
        own = Own(
            model.dequantizer.noise(model.features(y, condition), z),
            model.log_weight(y, z, condition),
        )
        return y, self._integrate(y, condition, own, noise)

    def sample_rows_with_log_prob(
        self,
        keys: Key[Array, " n"],
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> tuple[np.ndarray, LogProb]:
        inputs = (np.asarray(jax.random.key_data(keys)), row_ids, condition)
        rows, found = map_batches(
            lambda data, ids, some: _sample_batch(self, data, ids, some, key), inputs, batch_size
        )
        return restore_digits(self.manifold, rows, keys), found

    def _integrate(
        self, y: Point, condition: Condition, own: Own | None, key: PRNGKeyArray | None
    ) -> LogProb:
        model, auxiliary = paramax.unwrap(self), self.dequantization.auxiliary
        features = model.features(y, condition)

        def log_weight(v):
            return model.log_weight(y, model.dequantizer.transform(features, v), condition)

        def log_joint(u):
            z, log_slope = auxiliary.constrain(u)
            return jax.nn.logsumexp(model.log_branches(y, z, condition)) + log_slope

        def place(v):
            return auxiliary.unconstrain(model.dequantizer.transform(features, v))

        return self.integrator(
            Integrand(auxiliary.size, log_weight, log_joint, place, own), key=key
        )

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        x = paramax.unwrap(self.ambient).sample(condition=condition, key=key)
        return self.dequantization.quantize(x)[0]

    @property
    def work(self) -> int:
        return self.integrator.work * self.dequantization.branches

    @property
    def evaluation_work(self) -> float:
        leaves = jax.tree.leaves(eqx.filter(self.ambient, eqx.is_inexact_array))
        return self.work * PARAMETER_WORK_UNITS * sum(leaf.size for leaf in leaves)

    def refine(self) -> DequantizedDensity:
        finer = self.integrator.refine()
        return self if finer is self.integrator else self.with_integrator(finer)

    def with_integrator(self, integrator: AbstractIntegrator) -> DequantizedDensity:
        """The same density with another way to integrate z out."""
        return DequantizedDensity(self.dequantization, self.ambient, self.dequantizer, integrator)

    def with_budget(self, budget: Budget) -> DequantizedDensity:
        integrator = budgeted_integrator(self.dequantization.auxiliary.size, budget)
        return self if integrator is None else self.with_integrator(integrator)

    def log_branches(self, y: Point, z: Aux, condition: Condition = None) -> Float[Array, " b"]:
        """log π(x_b) + log_volume_b of every branch."""
        x, log_volume = self.dequantization.preimages(y, z)
        if len(x) == 1:  # a batch axis of one would slow matrix products
            return self.ambient.log_prob(x[0], condition) + log_volume
        return jax.vmap(lambda x: self.ambient.log_prob(x, condition))(x) + log_volume

    def log_weight(self, y: Point, z: Aux, condition: Condition = None) -> Scalar:
        """log w(y, z) = logsumexp_b [log π(x_b) + log_volume_b] − log q(z | y)."""
        log_q = self.dequantizer.log_prob(self.features(y, condition), z)
        return jax.nn.logsumexp(self.log_branches(y, z, condition)) - log_q


@eqx.filter_jit
def _sample_batch(
    density: DequantizedDensity, key_data, row_ids, condition, key: PRNGKeyArray
) -> tuple[Array, LogProb]:
    def sample(row):
        key_data, row_id, condition = row
        return density.sample_and_log_prob(
            condition=condition,
            key=jax.random.wrap_key_data(key_data),
            noise=jax.random.fold_in(key, row_id),
        )

    rows = (key_data, row_ids, condition)
    return jax.lax.map(sample, rows, batch_size=rows_at_once(density))
