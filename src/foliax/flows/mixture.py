"""Mixtures of Gaussians with full covariances."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, Condition
from foliax.flows.spec import AbstractAmbientSpec
from foliax.registry import storable


@storable("ambient.MixtureOfGaussians")
class MixtureOfGaussians(AbstractAmbient):
    """p(x) = Σ_k w_k N(x; μ_k, Σ_k), with Σ_k⁻¹ = L_k L_kᵀ and L_k lower triangular, diagonal > 0.

    log N = −m/2 log 2π + Σ_i log L_ii − ½ |Lᵀ(x − μ)|² needs no solve and no factorisation.

    Args:
        logits: The logits of w.
        means: The μ_k.
        log_diagonals: The logs of the diagonals of L_k.
        lowers: The strictly lower parts of L_k, row by row.
        dim: The dimension m.
    """

    logits: Float[Array, " k"]
    means: Float[Array, "k m"]
    log_diagonals: Float[Array, "k m"]
    lowers: Float[Array, "k t"]
    dim: int = eqx.field(static=True)

    def _factors(self) -> Float[Array, "k m m"]:
        rows, columns = jnp.tril_indices(self.dim, -1)
        diagonal = jax.vmap(jnp.diag)(jnp.exp(self.log_diagonals))
        return diagonal.at[:, rows, columns].set(self.lowers)

    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x; cost 0."""
        # One matrix product for all components. Two nested sums over small axes would do as well,
        # but XLA's CPU backend (jaxlib 0.10.2) gets them wrong from 3,000 rows: test_mixture.py.
        factors = self._factors()
        offsets = jnp.einsum("kij,ki->kj", factors, self.means)
        whitened = (x @ jnp.concatenate(factors, axis=1)).reshape(offsets.shape) - offsets
        log_normals = (
            jnp.sum(self.log_diagonals, axis=1)
            - 0.5 * jnp.sum(whitened**2, axis=1)
            - 0.5 * self.dim * jnp.log(2 * jnp.pi)
        )
        log_prob = jax.nn.logsumexp(jax.nn.log_softmax(self.logits) + log_normals)
        return log_prob, jnp.zeros_like(log_prob)

    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw: a component k, then x = μ_k + L_k⁻ᵀ ε."""
        which_key, noise_key = jr.split(key)
        k = jr.categorical(which_key, self.logits)
        noise = jr.normal(noise_key, (self.dim,), self.means.dtype)
        factor = self._factors()[k]
        return self.means[k] + jax.scipy.linalg.solve_triangular(factor.T, noise, lower=False)


@storable("ambient.GaussianMixture")
@dataclasses.dataclass(frozen=True)
class GaussianMixture(AbstractAmbientSpec):
    """A mixture of Gaussians of full covariance, whose means start as normal samples.

    Args:
        components: The number of Gaussians.
    """

    components: int = 16

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        return initial_mixture(self.components, dim, key=key)


def initial_mixture(k: int, dim: int, *, key: PRNGKeyArray) -> MixtureOfGaussians:
    """Build k Gaussians of equal weight and deviation k^(−1/m), with a total variance of 1.

    One component is N(0, I).

    Args:
        k: The number of components.
        dim: The dimension m.
        key: Draws the means.

    Returns:
        The mixture.
    """
    return MixtureOfGaussians(
        logits=jnp.zeros(k),
        means=jnp.sqrt(1 - k ** (-2 / dim)) * jr.normal(key, (k, dim)),
        log_diagonals=jnp.full((k, dim), jnp.log(k) / dim),
        lowers=jnp.zeros((k, dim * (dim - 1) // 2)),
        dim=dim,
    )


def mixture_by_em(k: int, x: Float[Array, "n m"], *, seed: int = 0) -> MixtureOfGaussians:
    """Fit k Gaussians by EM on the host, from the best of three k-means++ starts.

    Args:
        k: The number of components.
        x: The points.
        seed: Chooses the starts.

    Returns:
        The mixture.
    """
    # Imported here because it takes more than a second.
    from sklearn import mixture

    points = np.asarray(x, float)
    found = mixture.GaussianMixture(
        k, init_params="k-means++", n_init=3, reg_covar=1e-4, max_iter=200, random_state=seed
    ).fit(points)
    factors = np.linalg.cholesky(np.asarray(found.precisions_))
    diagonals = np.diagonal(factors, axis1=1, axis2=2)
    dim = points.shape[1]
    return MixtureOfGaussians(
        logits=jnp.log(jnp.asarray(found.weights_, x.dtype)),
        means=jnp.asarray(found.means_, x.dtype),
        log_diagonals=jnp.log(jnp.asarray(diagonals, x.dtype)),
        lowers=jnp.asarray(factors[:, *np.tril_indices(dim, -1)], x.dtype),
        dim=dim,
    )
