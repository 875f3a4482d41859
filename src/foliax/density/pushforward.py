"""The uniform density pushed forward by a bijection of the manifold."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..flows.manifold import AbstractBijection
from ..flows.manifold.bijections import Point, Scalar
from ..manifolds import AbstractManifold
from ..registry import storable
from .base import AbstractDensity, Condition
from .log_prob import LogProb


@storable("rivals.PushForward")
class PushForward(AbstractDensity):
    """y = f(x), x uniform on a manifold of finite volume V: log q(y) = log |dx/dy| − log V."""

    manifold: AbstractManifold
    bijection: AbstractBijection

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        _, log_stretch = self.bijection.inverse(y)
        value = log_stretch - self.manifold.log_total_volume()
        return LogProb(value, jnp.zeros_like(value))

    def push(self, x: Point) -> tuple[Point, Scalar]:
        """(f(x), log q(f(x))): what training by reverse KL sees."""
        y, log_stretch = self.bijection.forward(x)
        return y, -log_stretch - self.manifold.log_total_volume()

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        return self.bijection.forward(self.manifold.sample_uniform(key=key))[0]

    def accurate(self) -> PushForward:
        """The same density as it is used after training."""
        return PushForward(self.manifold, self.bijection.accurate())

    @property
    def work(self) -> int:
        return 1

    def refine(self) -> PushForward:
        return self
