"""q(z | y) by a location and a scale of the unconstrained u: Student, normal, logistic."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, PRNGKeyArray

from ..auxiliary import Auxiliary
from ..manifolds import AbstractDequantization
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

Tails = Literal["student", "normal", "logistic"]
MIN_SCALE = 1e-3
# Where u starts: radii within a factor of about 1.5 of one, cells filled about evenly.
START = {"positive": 0.4, "unit": 1.3, "real": 0.5}


class LocationScale(AbstractDequantizer):
    """z = c(u), u = a(y) + S(y) t, t of independent standard coordinates, S diagonal or triangular.

    `tails`: "student" (four degrees of freedom), "normal" (log-normal radii: the paper's) or
    "logistic". Only Student tails in u keep E w² finite for every scale: as a radius r -> 0 the
    integrand is r^d·π(0), so a log-normal, and a logistic of scale under 1/(2d), decay too fast.
    """

    net: eqx.nn.MLP
    auxiliary: Auxiliary
    tails: Tails = eqx.field(static=True)
    full: bool = eqx.field(static=True)

    def transform(self, features: Features, v: Uniforms) -> Aux:
        location, scale, corner = self._parameters(features)
        t = standard_quantile(self.tails, v)
        return self.auxiliary.constrain(location + scale * t + corner @ t)[0]

    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        location, scale, corner = self._parameters(features)
        u = self.auxiliary.unconstrain(z)
        if self.full:
            whole = corner + jnp.diag(scale)
            t = jax.scipy.linalg.solve_triangular(whole, u - location, lower=True)
        else:
            t = (u - location) / scale
        log_slope = self.auxiliary.constrain(u)[1]
        return standard_log_pdf(self.tails, t).sum() - jnp.log(scale).sum() - log_slope

    def _parameters(
        self, features: Features
    ) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, "k k"]]:
        """Location, diagonal of S, and S's corner below the diagonal (0 unless `full`)."""
        k = self.auxiliary.size
        out = self.net(features)
        corner = jnp.zeros((k, k), out.dtype)
        if self.full:
            corner = corner.at[np.tril_indices(k, -1)].set(out[2 * k :])
        return out[:k], jax.nn.softplus(out[k : 2 * k]) + MIN_SCALE, corner


def standard_quantile(tails: Tails, v: Uniforms) -> Float[Array, " k"]:
    """t with standard cdf v."""
    match tails:
        case "normal":
            return ndtri(v)
        case "logistic":
            return jnp.log(v) - jnp.log1p(-v)
        case "student":
            # Four degrees of freedom have a closed form (Shaw 2006): with cos θ = √(4v(1 − v)),
            # t² = 4 (cos(θ/3) − cos θ)/cos θ, here without the difference.
            root = jnp.sqrt(4 * v * (1 - v))
            third = jnp.arctan2(jnp.abs(2 * v - 1), root) / 3
            return jnp.sign(v - 0.5) * jnp.sqrt(8 * jnp.sin(2 * third) * jnp.sin(third) / root)


def standard_log_pdf(tails: Tails, t: Float[Array, " k"]) -> Float[Array, " k"]:
    """Log density of each standard coordinate."""
    match tails:
        case "normal":
            return -0.5 * t**2 - 0.5 * math.log(2 * math.pi)
        case "logistic":
            return -jax.nn.softplus(t) - jax.nn.softplus(-t)
        case "student":
            return math.log(3 / 8) - 2.5 * jnp.log1p(t**2 / 4)


@dataclasses.dataclass(frozen=True)
class Student(AbstractDequantizerSpec):
    """Student tails in u: the default; `full` for a triangular scale, correlations between z."""

    width: int = 16
    depth: int = 2
    full: bool = False

    def build(self, dequantization: AbstractDequantization, *, key: PRNGKeyArray) -> LocationScale:
        return _build("student", self, dequantization, key)


@dataclasses.dataclass(frozen=True)
class Normal(AbstractDequantizerSpec):
    """Normal in u, so log-normal radii: the paper's. Its weights can have infinite variance."""

    width: int = 16
    depth: int = 2
    full: bool = False

    def build(self, dequantization: AbstractDequantization, *, key: PRNGKeyArray) -> LocationScale:
        return _build("normal", self, dequantization, key)


def _build(tails: Tails, spec: Student | Normal, g: AbstractDequantization, key) -> LocationScale:
    k = g.auxiliary.size
    scales = inverse_softplus(jnp.array([START[kind] for kind in g.auxiliary.kinds]))
    corner = jnp.zeros(k * (k - 1) // 2 if spec.full else 0)
    out = jnp.concatenate([jnp.zeros(k), scales, corner])
    net = network(feature_count(g.manifold), out, spec.width, spec.depth, key=key)
    return LocationScale(net, g.auxiliary, tails, spec.full)
