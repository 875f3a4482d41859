"""q(z | y) by a location and a scale of the unconstrained u, with normal or heavy tails."""

from __future__ import annotations

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, PRNGKeyArray

from ..manifolds import AbstractDequantization
from ..manifolds.auxiliary import Auxiliary
from ..registry import storable
from .base import (
    AbstractDequantizer,
    AbstractDequantizerSpec,
    Aux,
    Features,
    Uniforms,
    feature_count,
    inverse_softplus,
    network,
)

MIN_SCALE = 1e-3
"""The smallest scale of u, which keeps log q finite."""
INITIAL_SCALES = {"positive": 0.4, "unit": 1.3, "real": 0.5}
"""The first scale of u: radii vary by a factor of about 1.5, and cells are filled about evenly."""
TAIL_START = 2.0
"""Standard deviations beyond which heavy tails differ from a normal's."""


@storable("dequantizers.LocationScale")
class LocationScale(AbstractDequantizer):
    """z = c(u), u_i = a_i(y) + Σ_j S_ij(y) n_j + tail(n_i), n standard normal, S lower-triangular.

    Without heavy tails, tail(n) = 0 and radii are log-normal, as in the paper. The weights can then
    have infinite variance: as a radius r → 0 the integrand is r^d·π(0), and a log-normal decays
    faster than any power. With heavy tails, tail(n) = −½(−n − 2)² below n = −2, so that
    q(u) ~ exp(−|u|) for every scale, and E w² is finite. The upper tails of cells and reals are
    heavy too. Those of radii are not: there π itself decays like exp(−r²/2), and a power tail of r
    would make the ELBO −∞.

    Args:
        net: The network from features to the parameters of u.
        auxiliary: The set of z, with the map c.
        safe: Whether the tails are heavy.
        full: Whether S has entries below its diagonal.
    """

    net: eqx.nn.MLP
    auxiliary: Auxiliary
    safe: bool = eqx.field(static=True)
    full: bool = eqx.field(static=True)

    def transform(self, features: Features, v: Uniforms) -> Aux:
        location, scale, corner = self._parameters(features)
        n = ndtri(v)
        u = location + scale * n + corner @ n
        return self.auxiliary.constrain(u + stretch_tails(n, self.auxiliary) if self.safe else u)[0]

    def noise(self, features: Features, z: Aux) -> Uniforms:
        return ndtr(self._normals(features, self.auxiliary.unconstrain(z))[0])

    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        u = self.auxiliary.unconstrain(z)
        n, log_stretch = self._normals(features, u)
        log_normal = -0.5 * (n**2).sum() - len(u) / 2 * math.log(2 * math.pi)
        return log_normal - log_stretch - self.auxiliary.constrain(u)[1]

    def _normals(
        self, features: Features, u: Float[Array, " k"]
    ) -> tuple[Float[Array, " k"], Float[Array, ""]]:
        """Compute the n that gives u, and log |du/dn|."""
        location, scale, corner = self._parameters(features)
        solve = invert_tails if self.safe else _unscale
        if not self.full:
            return solve(u - location, scale, self.auxiliary)
        n, log_stretch = jnp.zeros_like(u), jnp.zeros((), u.dtype)
        for i in range(len(u)):
            alone = Auxiliary(self.auxiliary.kinds[i : i + 1])
            rest = (u - location - corner @ n)[i : i + 1]
            found, stretch = solve(rest, scale[i : i + 1], alone)
            n, log_stretch = n.at[i].set(found[0]), log_stretch + stretch
        return n, log_stretch

    def _parameters(
        self, features: Features
    ) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, "k k"]]:
        """Compute a, the diagonal of S, and S below its diagonal (0 unless `full`)."""
        k = self.auxiliary.size
        out = self.net(features)
        corner = jnp.zeros((k, k), out.dtype)
        if self.full:
            corner = corner.at[np.tril_indices(k, -1)].set(out[2 * k :])
        return out[:k], jax.nn.softplus(out[k : 2 * k]) + MIN_SCALE, corner


def stretch_tails(n: Float[Array, " k"], auxiliary: Auxiliary) -> Float[Array, " k"]:
    """Compute tail(n) = ±½(|n| − 2)² beyond two deviations; for radii the lower tail only."""
    beyond = jnp.maximum(jnp.abs(n) - TAIL_START, 0)
    return jnp.where((n < 0) | _has_two_heavy_tails(auxiliary), jnp.sign(n) * 0.5 * beyond**2, 0)


def invert_tails(
    wide: Float[Array, " k"], scale: Float[Array, " k"], auxiliary: Auxiliary
) -> tuple[Float[Array, " k"], Float[Array, ""]]:
    """Solve scale·n + tail(n) = wide, which is quadratic in the tails.

    Args:
        wide: The values, less their location.
        scale: The scale of each coordinate.
        auxiliary: The set of z, which says where tails are heavy.

    Returns:
        n, and Σ log |d wide/dn|.
    """
    far = jnp.maximum(jnp.abs(wide) - TAIL_START * scale, 0)
    far = jnp.where((wide < 0) | _has_two_heavy_tails(auxiliary), far, 0)
    root = jnp.sqrt(scale**2 + 2 * far)
    beyond = 2 * far / (scale + root)
    n = jnp.where(far > 0, jnp.sign(wide) * (TAIL_START + beyond), wide / scale)
    return n, jnp.log(root).sum()


def _unscale(wide, scale, auxiliary) -> tuple[Float[Array, " k"], Float[Array, ""]]:
    return wide / scale, jnp.log(scale).sum()


def _has_two_heavy_tails(auxiliary: Auxiliary) -> np.ndarray:
    return np.array([kind != "positive" for kind in auxiliary.kinds], dtype=bool)


@storable("dequantizers.Safe")
@dataclasses.dataclass(frozen=True)
class HeavyTailed(AbstractDequantizerSpec):
    """Normal in u with heavy tails, which keep the variance of the weights finite: the default.

    Args:
        width: The width of the hidden layers. Small networks suffice, since only the variance of
            the density's estimate depends on q.
        depth: The number of hidden layers.
        full: Whether coordinates of z may be correlated, by a triangular scale.
    """

    width: int = 16
    depth: int = 2
    full: bool = False

    def build(
        self, dequantization: AbstractDequantization, *, condition_size: int = 0, key: PRNGKeyArray
    ) -> LocationScale:
        return _build(True, self, dequantization, condition_size, key)


@storable("dequantizers.Normal")
@dataclasses.dataclass(frozen=True)
class Normal(AbstractDequantizerSpec):
    """Normal in u, so log-normal radii, as in the paper. The weights can have infinite variance.

    Args:
        width: The width of the hidden layers. Small networks suffice, since only the variance of
            the density's estimate depends on q.
        depth: The number of hidden layers.
        full: Whether coordinates of z may be correlated, by a triangular scale.
    """

    width: int = 16
    depth: int = 2
    full: bool = False

    def build(
        self, dequantization: AbstractDequantization, *, condition_size: int = 0, key: PRNGKeyArray
    ) -> LocationScale:
        return _build(False, self, dequantization, condition_size, key)


def _build(
    safe: bool, spec: HeavyTailed | Normal, g: AbstractDequantization, condition_size: int, key
) -> LocationScale:
    k = g.auxiliary.size
    scales = inverse_softplus(jnp.array([INITIAL_SCALES[kind] for kind in g.auxiliary.kinds]))
    corner = jnp.zeros(k * (k - 1) // 2 if spec.full else 0)
    out = jnp.concatenate([jnp.zeros(k), scales, corner])
    features = feature_count(g.manifold) + condition_size
    net = network(features, out, spec.width, spec.depth, key=key)
    return LocationScale(net, g.auxiliary, safe, spec.full)
