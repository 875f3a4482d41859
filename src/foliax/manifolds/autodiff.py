"""Theorem 1 by automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .auxiliary import Auxiliary
from .base import AbstractDequantization, AbstractManifold, Ambient, Aux, Point, Scalar


def log_volume_by_autodiff(quantize: Callable[[Ambient], tuple[Point, Aux]], x: Ambient) -> Scalar:
    """−½ log det(∇Gᵀ∇G) at x, Theorem 1: the measure on Y is the one its flat points induce."""

    def stacked(x: Ambient) -> Float[Array, " s"]:
        y, z = quantize(x)
        return jnp.concatenate([y, z])

    # R of a QR factorisation, so that the condition number is not squared by ∇Gᵀ∇G.
    triangle = jnp.linalg.qr(jax.jacfwd(stacked)(x), mode="r")
    return -jnp.log(jnp.abs(jnp.diagonal(triangle))).sum()


class ByAutodiff(AbstractDequantization):
    """Theorem 1 and Corollary 2 for any manifold: G and its inverses given as plain functions.

    `quantize`: x -> (y, z). `inverses`: one (y, z) -> x for each branch; together they must
    list every x with G(x) = (y, z). The volume term is −½ log det(∇Gᵀ∇G), by autodiff.
    """

    manifold: AbstractManifold
    _auxiliary: Auxiliary
    _ambient_dim: int = eqx.field(static=True)
    _quantize: Callable[[Ambient], tuple[Point, Aux]] = eqx.field(static=True)
    _inverses: tuple[Callable[[Point, Aux], Ambient], ...] = eqx.field(static=True)

    def __init__(
        self,
        manifold: AbstractManifold,
        auxiliary: Auxiliary,
        ambient_dim: int,
        quantize: Callable[[Ambient], tuple[Point, Aux]],
        *inverses: Callable[[Point, Aux], Ambient],
    ):
        self.manifold = manifold
        self._auxiliary = auxiliary
        self._ambient_dim = ambient_dim
        self._quantize = quantize
        self._inverses = inverses

    @property
    def auxiliary(self) -> Auxiliary:
        return self._auxiliary

    @property
    def ambient_dim(self) -> int:
        return self._ambient_dim

    @property
    def branches(self) -> int:
        return len(self._inverses)

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        return self._quantize(x)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x = jnp.stack([inverse(y, z) for inverse in self._inverses])
        return x, jax.vmap(lambda x: log_volume_by_autodiff(self._quantize, x))(x)
