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
from .base import AbstractDensity
from .batches import at_once, in_chunks
from .integrate import RQMC, AbstractIntegrator, Integrand, Own, Quadrature, default_integrator
from .log_prob import LogProb

Point = Float[Array, " size"]
Aux = Float[Array, " k"]
Scalar = Float[Array, ""]


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
        if ambient.dim != dequantization.ambient_dim:
            raise ValueError(
                f"The ambient density is on R^{ambient.dim}; {type(dequantization).__name__} "
                f"needs one on R^{dequantization.ambient_dim}."
            )
        self.dequantization = dequantization
        self.ambient = ambient
        self.dequantizer = dequantizer
        self.integrator = integrator or default_integrator(dequantization.auxiliary.size)
        self.manifold = dequantization.manifold

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        return self._integral(y, None, key)

    def sample_and_log_prob(
        self, *, key: PRNGKeyArray, noise: PRNGKeyArray
    ) -> tuple[Point, LogProb]:
        """One exact draw, by `key`, and its log density, by `noise` and the draw's own z.

        z is of p(z | y), so that it is where q(z | y) may hardly look: with it among the z that are
        summed, 1/p̂ is without bias, and log p̂ not too low in the mean. (Without it p̂ is without
        bias, and log p̂ too low: by any amount, if q(z | y) misses where the flow has its mass.)
        """
        model = paramax.unwrap(self)
        y, z = self.dequantization.quantize(model.ambient.sample(key=key))
        own = Own(
            model.dequantizer.noise(model.manifold.features(y), z),
            model.log_weight_and_cost(y, z)[0],
        )
        return y, self._integral(y, own, noise)

    def draws_and_log_probs(
        self, keys: Key[Array, " n"], numbers: np.ndarray, key: PRNGKeyArray, chunk: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        data = np.asarray(jax.random.key_data(keys))
        rows, found = in_chunks(_draws_and_log_probs, self, data, numbers, key, chunk)
        return rows, found.value, found.error

    def _integral(self, y: Point, own: Own | None, key: PRNGKeyArray | None) -> LogProb:
        model, auxiliary = paramax.unwrap(self), self.dequantization.auxiliary
        features = model.manifold.features(y)

        def log_weight(v):
            return model.log_weight_and_cost(y, model.dequantizer.transform(features, v))[0]

        def log_joint(u):
            z, log_slope = auxiliary.constrain(u)
            return jax.nn.logsumexp(model.log_branches_and_cost(y, z)[0]) + log_slope

        def place(v):
            return auxiliary.unconstrain(model.dequantizer.transform(features, v))

        return self.integrator(
            Integrand(auxiliary.size, log_weight, log_joint, place, own), key=key
        )

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        return self.dequantization.quantize(paramax.unwrap(self.ambient).sample(key=key))[0]

    @property
    def work(self) -> int:
        return self.integrator.work * self.dequantization.branches

    def refined(self) -> DequantizedDensity:
        finer = self.integrator.refined()
        if finer is self.integrator:
            return self
        return self.by(finer)

    def by(self, integrator: AbstractIntegrator) -> DequantizedDensity:
        """The same density with another way to integrate z out."""
        return DequantizedDensity(self.dequantization, self.ambient, self.dequantizer, integrator)

    def log_branches_and_cost(self, y: Point, z: Aux) -> tuple[Float[Array, " b"], Scalar]:
        """log π(x_b) + log_volume_b of every branch, and the mean cost of the ambient paths."""
        x, log_volume = self.dequantization.preimages(y, z)
        if len(x) == 1:  # a batch axis of one would slow matrix products
            log_prob, cost = self.ambient.log_prob_and_cost(x[0])
            return log_prob + log_volume, cost
        log_prob, cost = jax.vmap(self.ambient.log_prob_and_cost)(x)
        return log_prob + log_volume, jnp.mean(cost)

    def log_weight_and_cost(self, y: Point, z: Aux) -> tuple[Scalar, Scalar]:
        """log w(y, z) = logsumexp_b [log π(x_b) + log_volume_b] − log q(z | y), and the cost."""
        branches, cost = self.log_branches_and_cost(y, z)
        log_q = self.dequantizer.log_prob(self.manifold.features(y), z)
        return jax.nn.logsumexp(branches) - log_q, cost


@eqx.filter_jit
def _draws_and_log_probs(
    density: DequantizedDensity, data: Array, numbers: Array, key: PRNGKeyArray
) -> tuple[Array, LogProb]:
    def one(data_and_number):
        data, number = data_and_number
        return density.sample_and_log_prob(
            key=jax.random.wrap_key_data(data), noise=jax.random.fold_in(key, number)
        )

    return jax.lax.map(one, (data, numbers), batch_size=at_once(density))


def thorough(density: AbstractDensity) -> AbstractDensity:
    """The density with 4,096 samples for z; as it is where z is not sampled."""
    if not isinstance(density, DequantizedDensity) or density.dequantization.auxiliary.size < 2:
        return density
    return density.by(RQMC(256))


def coarse(density: AbstractDensity) -> AbstractDensity:
    """The density with few nodes or samples for z: `evaluate` refines where that is not enough."""
    if not isinstance(density, DequantizedDensity) or density.dequantization.auxiliary.size == 0:
        return density
    return density.by(Quadrature(48) if density.dequantization.auxiliary.size == 1 else RQMC(16))
