"""Several densities of one structure, trained and evaluated in one program."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PRNGKeyArray

from ..manifolds import AbstractManifold
from ..registry import storable
from .base import AbstractDensity, Condition, Point
from .log_prob import LogProb
from .mixture import Stacked


@storable("density.Members")
class Members(AbstractDensity):
    """p(y) = mean_k p_k(y), where the arrays of all p_k are stacked.

    Small arrays leave a processor idle most of the time, so that four members take less than
    twice the time of one.

    Args:
        densities: Densities that differ in their arrays only.
    """

    manifold: AbstractManifold
    stacked: AbstractDensity
    count: int = eqx.field(static=True)

    def __init__(self, *densities: AbstractDensity):
        self.manifold, self.count = densities[0].manifold, len(densities)
        arrays = [eqx.filter(density, eqx.is_array) for density in densities]
        rest = eqx.filter(densities[0], eqx.is_array, inverse=True)
        self.stacked = eqx.combine(jax.tree.map(lambda *each: jnp.stack(each), *arrays), rest)

    def log_prob_each(
        self, rows: Float[Array, "n size"], condition: Float[Array, "n c"] | None = None
    ) -> Float[Array, "k n"]:
        """Compute the log density of every row under each member."""

        @eqx.filter_vmap(in_axes=(eqx.if_array(0),))
        def log_prob(member: AbstractDensity):
            return member.log_prob(rows, condition=condition).value

        return log_prob(self.stacked)

    def separate(self) -> AbstractDensity:
        """The same density as a mixture of the members; a single member as it is."""
        arrays, rest = eqx.partition(self.stacked, eqx.is_array)
        members = [
            eqx.combine(jax.tree.map(lambda a, k=k: a[k], arrays), rest) for k in range(self.count)
        ]
        if self.count == 1:
            return members[0]
        return Stacked(tuple(members), jnp.full(self.count, -math.log(self.count)))

    @property
    def work(self) -> int:
        return self.count * self.stacked.work

    def refine(self) -> Members:
        return self

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        some = None if condition is None else condition[None]
        found = self._log_prob_batch(y[None], condition=some)
        return LogProb(found.value[0], found.error[0])

    def _log_prob_batch(
        self,
        rows: Float[Array, "n size"],
        *,
        condition: Float[Array, "n c"] | None = None,
        keys: Key[Array, " n"] | None = None,
    ) -> LogProb:
        each = self.log_prob_each(rows, condition)
        value = jax.nn.logsumexp(each, axis=0) - math.log(self.count)
        return LogProb(value, jnp.zeros_like(value))

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        return self.separate()._sample(condition=condition, key=key)
