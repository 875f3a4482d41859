"""Kernels of spheres, tori and rotations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ....distributions import (
    log_rotation_mass,
    log_vmf_normaliser,
    sample_rotation,
    sample_turn,
    sample_von_mises_fisher,
)
from ....manifolds import SpecialOrthogonal, Sphere, TangentError, Torus
from ....manifolds.tangent import AbstractTangent
from ....registry import storable
from ...base import UnsupportedManifoldError
from .base import AbstractKernelFamily, Kappas, Point, kernel_for


@kernel_for(Sphere)
@storable("rivals.SphereLeaf")
class VonMisesFisherKernel(AbstractKernelFamily):
    """von Mises–Fisher on S^d: ½κ‖y − μ‖² = κ(1 − yᵀμ)."""

    manifold: Sphere

    @property
    def scales(self) -> tuple[int, ...]:
        return (0,) * self.manifold.size

    def embed(self, y: Point) -> Float[Array, " e"]:
        return y

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        return float(log_vmf_normaliser(kappa[0], self.manifold.dim))

    def sample(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        return sample_von_mises_fisher(y, kappa[0], key=key)

    def tangent(self) -> AbstractTangent:
        return self.manifold.tangent()


@kernel_for(Torus)
@storable("rivals.TorusLeaf")
class VonMisesKernel(AbstractKernelFamily):
    """Products of von Mises densities on T^d; each angle has its own bandwidth."""

    manifold: Torus

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.manifold.dim)) * 2

    def embed(self, y: Point) -> Float[Array, " e"]:
        return jnp.concatenate([jnp.cos(y), jnp.sin(y)])

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        return float(log_vmf_normaliser(kappa, 1).sum())

    def sample(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        turns = jax.vmap(lambda k, key: sample_turn(k, key=key))(
            kappa, jax.random.split(key, len(y))
        )
        return self.manifold.project(y + turns)

    def tangent(self) -> AbstractTangent:
        return self.manifold.tangent()


@kernel_for(SpecialOrthogonal)
@storable("rivals.RotationLeaf")
class MatrixFisherKernel(AbstractKernelFamily):
    """Matrix Fisher on SO(n) with one concentration: ½κ‖R − M‖² = κ(n − tr RᵀM)."""

    manifold: SpecialOrthogonal

    @property
    def scales(self) -> tuple[int, ...]:
        return (0,) * self.manifold.size

    def embed(self, y: Point) -> Float[Array, " e"]:
        return y

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        n = self.manifold.shape[0]
        return self.manifold.log_total_volume() + log_rotation_mass(float(kappa[0]), n)

    def sample(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        n = self.manifold.shape[0]
        return (y.reshape(n, n) @ sample_rotation(kappa[0], n, key=key)).reshape(-1)

    def tangent(self) -> AbstractTangent:
        try:
            return self.manifold.tangent()
        except TangentError as error:
            raise UnsupportedManifoldError(f"{error} Use ScaleMixtureKernel there.") from error
