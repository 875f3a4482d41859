"""What a family of component densities offers to EM, and the density of a mixture."""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...density import AbstractDensity, LogProb
from ...density.base import Condition
from ...manifolds import AbstractManifold
from ...registry import storable

Point = Float[Array, " size"]
Rows = Float[np.ndarray, "n f"]
Shares = Float[np.ndarray, "n k"]
Parameters = Any
"""A NamedTuple of float64 arrays with one entry for each component along the first axis."""


MAX_CONCENTRATION = 1e11
"""The largest concentration: components of 3.2e-6 radians, 20 m on the Earth.

With two far groups of such a spread on S¹, S², S⁵, T¹, T² and SO(3), float32 keeps the total mass
within 0.2 % and fresh rows within 0.01 nats of the truth. From 1e12 on, mass on SO(3) is off by
0.6 %.
"""


REACHED_RATIO = 1 - 1e-6
"""The ratio to the largest concentration from which on a component counts as reaching it."""


def log_sum(values: Shares) -> Float[np.ndarray, " n"]:
    """Compute log Σ exp of every row; the largest value of each row must be finite."""
    top = values.max(axis=1)
    return np.log(np.exp(values - top[:, None]).sum(1)) + top


class AbstractComponents(eqx.Module):
    """k normalised densities of one family."""

    @abc.abstractmethod
    def log_densities(self, y: Point) -> Float[Array, " k"]:
        """Evaluate the log density of y under each component."""

    @abc.abstractmethod
    def sample(self, number: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        """Draw one exact sample from the component of this number."""


class AbstractFamily(abc.ABC):
    """A family of densities for EM, in float64 on the host; methods handle k components at once."""

    @property
    @abc.abstractmethod
    def step_work(self) -> float:
        """Work units of one row and one component in a step of EM."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The family's name in the record of a fit."""

    @property
    @abc.abstractmethod
    def n_parameters(self) -> int:
        """The number of free parameters of one component."""

    max_concentration: float
    """The largest concentration of a component."""

    @property
    @abc.abstractmethod
    def least_spread(self) -> float:
        """The standard deviation in radians of the narrowest component that is allowed."""

    @abc.abstractmethod
    def are_narrowest(self, parameters: Parameters) -> Bool[np.ndarray, " k"]:
        """Whether each component is as narrow as allowed, in some direction."""

    @abc.abstractmethod
    def prepare(self, rows: Rows) -> np.ndarray:
        """Convert points of the manifold to the form that the other methods take."""

    @abc.abstractmethod
    def initialize(self, rows: Rows, shares: Shares) -> Parameters:
        """Fit first components to rows.

        Args:
            rows: The rows, as `prepare` returns them.
            shares: How much of each row belongs to each component.

        Returns:
            The components' parameters.
        """

    @abc.abstractmethod
    def log_densities(self, parameters: Parameters, rows: Rows) -> Shares:
        """Evaluate the log density of every row under every component."""

    @abc.abstractmethod
    def statistics(
        self, parameters: Parameters, rows: Rows, shares: Shares
    ) -> tuple[np.ndarray, ...]:
        """Compute expected sufficient statistics, which can be added over batches of rows.

        Args:
            parameters: The components' parameters.
            rows: The rows.
            shares: How much of each row belongs to each component.

        Returns:
            Arrays with one entry for each component.
        """

    @abc.abstractmethod
    def maximise(self, parameters: Parameters, statistics: tuple[np.ndarray, ...]) -> Parameters:
        """Increase the expected log-likelihood: the M step.

        Args:
            parameters: The components' current parameters.
            statistics: Sums of `statistics` over all rows.

        Returns:
            Parameters whose expected log-likelihood is at least that of the current ones.
        """

    @abc.abstractmethod
    def build(self, parameters: Parameters) -> AbstractComponents:
        """Build the densities of the components."""


@storable("rivals.MixtureDensity")
class MixtureDensity(AbstractDensity):
    """p(y) = Σ_i w_i f_i(y) + w_0/vol(Y): k components and a uniform one. It is exact.

    Args:
        manifold: The manifold, of finite volume.
        components: The k components.
        log_weights: The log weights; the last one is that of the uniform component.
    """

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
        drawn = self.components.sample(jnp.minimum(number, k - 1), key=k2)
        return jnp.where(number < k, drawn, self.manifold.sample_uniform(key=k3))

    @property
    def work(self) -> int:
        return 1

    def refine(self) -> MixtureDensity:
        return self
