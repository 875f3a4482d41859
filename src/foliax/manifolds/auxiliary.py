"""Constrained sets of the auxiliary z, and their maps from unconstrained u in R^k."""

from __future__ import annotations

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..registry import storable

Kind = Literal["positive", "unit", "real"]


@storable("manifolds.Auxiliary")
class Auxiliary(eqx.Module):
    """A box of real coordinates z, each positive (0, ∞), unit [0, 1) or real; z = c(u), u ∈ R^k.

    positive: z = exp u; unit: z = 1/(1 + exp(−u)); real: z = u. Measure: Lebesgue, dz.
    """

    kinds: tuple[Kind, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.kinds)

    def constrain(self, u: Float[Array, " k"]) -> tuple[Float[Array, " k"], Float[Array, ""]]:
        """Return z(u) and log |dz/du|."""
        positive, unit = self._masks()
        # The unit interval is half open, and charts such as floor and log break at its end points:
        # rounding must not reach them.
        info = jnp.finfo(u.dtype)
        inside = jnp.clip(jax.nn.sigmoid(u), info.tiny, 1 - info.epsneg)
        z = jnp.where(positive, jnp.exp(jnp.where(positive, u, 0)), jnp.where(unit, inside, u))
        log_slope = jnp.where(
            positive, u, jnp.where(unit, -jax.nn.softplus(u) - jax.nn.softplus(-u), 0)
        )
        return z, log_slope.sum()

    def unconstrain(self, z: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return the u with z(u) = z."""
        positive, unit = self._masks()
        logs = jnp.log(jnp.where(positive | unit, z, 1))
        return jnp.where(
            positive, logs, jnp.where(unit, logs - jnp.log1p(-jnp.where(unit, z, 0)), z)
        )

    def _masks(self) -> tuple[np.ndarray, np.ndarray]:
        kinds = np.array(self.kinds, dtype=object)
        return kinds == "positive", kinds == "unit"


def empty() -> Auxiliary:
    """Return the set of the empty z, for a dequantization without a sampled auxiliary."""
    return Auxiliary(())


def positive(k: int) -> Auxiliary:
    """Return R₊^k, e.g. for radii."""
    return Auxiliary(("positive",) * k)


def unit(k: int) -> Auxiliary:
    """Return [0, 1)^k, e.g. for positions within a cell."""
    return Auxiliary(("unit",) * k)


def triangular(p: int) -> Auxiliary:
    """Return Tri₊(p): lower-triangular p × p matrices with positive diagonal, row-major."""
    return Auxiliary(
        tuple("positive" if i == j else "real" for i in range(p) for j in range(i + 1))
    )


def join(*parts: Auxiliary) -> Auxiliary:
    """Return the product of several sets, with their coordinates concatenated."""
    return Auxiliary(tuple(kind for part in parts for kind in part.kinds))
