"""What a family of component densities offers to EM, and the mixture that comes of it."""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...density import AbstractDensity, LogProb
from ...density.base import Condition
from ...manifolds import AbstractManifold
from ...registry import storable

Point = Float[Array, " size"]
Rows = Float[np.ndarray, "n f"]
Shares = Float[np.ndarray, "n k"]
Parameters = Any
"""A NamedTuple of float64 arrays, stacked along the first axis: one entry for each component."""


def log_sum(values: Shares) -> Float[np.ndarray, " n"]:
    """log Σ exp of every row, whose largest is finite."""
    top = values.max(axis=1)
    return np.log(np.exp(values - top[:, None]).sum(1)) + top


class AbstractComponents(eqx.Module):
    """k normalised densities of one family."""

    @abc.abstractmethod
    def log_densities(self, y: Point) -> Float[Array, " k"]:
        """The log density of y under each."""

    @abc.abstractmethod
    def sample(self, number: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        """One exact draw of the numbered one."""


class AbstractFamily(abc.ABC):
    """A family of densities as EM sees it: float64 on the host, k components at once."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What the record calls it."""

    @property
    @abc.abstractmethod
    def free(self) -> int:
        """How many free parameters one component has."""

    @abc.abstractmethod
    def prepare(self, rows: Rows) -> np.ndarray:
        """Points of the manifold as the family works with them."""

    @abc.abstractmethod
    def start(self, rows: Rows, shares: Shares) -> Parameters:
        """Components that fit the shares of the rows, with nothing known before."""

    @abc.abstractmethod
    def log_densities(self, parameters: Parameters, rows: Rows) -> Shares:
        """The log density of every row under every component."""

    @abc.abstractmethod
    def statistics(
        self, parameters: Parameters, rows: Rows, shares: Shares
    ) -> tuple[np.ndarray, ...]:
        """The expected sufficient statistics of rows, to be added over chunks of rows."""

    @abc.abstractmethod
    def maximise(self, parameters: Parameters, statistics: tuple[np.ndarray, ...]) -> Parameters:
        """Components whose expected log-likelihood is no less than that of the given ones."""

    @abc.abstractmethod
    def build(self, parameters: Parameters) -> AbstractComponents:
        """The densities."""


@storable("rivals.MixtureDensity")
class MixtureDensity(AbstractDensity):
    """p(y) = Σ_i w_i f_i(y) + w_0/vol(Y): k components and, last in `log_weights`, the uniform."""

    manifold: AbstractManifold
    components: AbstractComponents
    log_weights: Float[Array, " k1"]

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        uniform = jnp.full(1, -self.manifold.log_total_volume(), y.dtype)
        each = jnp.concatenate([self.components.log_densities(y), uniform])
        value = jax.nn.logsumexp(each + self.log_weights)
        return LogProb(value, jnp.zeros_like(value))

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        k1, k2, k3 = jax.random.split(key, 3)
        k = len(self.log_weights) - 1
        number = jax.random.categorical(k1, self.log_weights)
        near = self.components.sample(jnp.minimum(number, k - 1), key=k2)
        return jnp.where(number < k, near, self.manifold.sample_uniform(key=k3))

    @property
    def work(self) -> int:
        return 1

    def refine(self) -> MixtureDensity:
        """Itself."""
        return self
