"""Densities with exact samplers and normalisers: the paper's synthetic targets."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.integrate import quad

from ..density import AbstractTarget, LogProb
from ..density.target import exactly
from ..distributions import (
    bingham,
    envelopes,
    log_vmf_normaliser,
    sample_bingham,
    sample_rotation,
    sample_turn,
    sample_von_mises_fisher,
)
from ..manifolds import Orthogonal, SpecialOrthogonal, Sphere, Stiefel, Torus
from ..manifolds.quaternion import quaternion_form, rotation_of_quaternion
from ..manifolds.torus import wrap
from ..registry import storable

Point = Float[Array, " size"]
Vectors = tuple[tuple[float, ...], ...]


@storable("targets.SphereModes")
class SphereModes(AbstractTarget):
    """p(y) ∝ Σ_i exp(κ yᵀμ_i) on S^d: a mixture of von Mises–Fisher, of concentrations κ‖μ_i‖."""

    manifold: Sphere
    modes: Vectors = eqx.field(static=True)
    kappa: float = eqx.field(static=True)

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        modes, log_masses = self._modes()
        heights = self.kappa * jnp.asarray(modes, y.dtype) @ y
        return exactly(jax.nn.logsumexp(heights) - np.logaddexp.reduce(log_masses))

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        modes, log_masses = self._modes()
        mode = jnp.asarray(modes)[jax.random.categorical(k1, jnp.asarray(log_masses))]
        norm = jnp.linalg.norm(mode)
        return sample_von_mises_fisher(mode / norm, self.kappa * norm, key=k2)

    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        modes = np.array(self.modes)
        norms = np.linalg.norm(modes, axis=1)
        kappas = self.kappa * norms
        return modes, log_vmf_normaliser(kappas, self.manifold.dim) + kappas


@storable("targets.TorusModes")
class TorusModes(AbstractTarget):
    """p(θ) ∝ Σ_i exp(Σ_j cos(θ_j − φ_ij)) on T^d: equal von Mises products of concentration 1."""

    manifold: Torus
    modes: Vectors = eqx.field(static=True)

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        heights = jnp.cos(y - jnp.asarray(self.modes, y.dtype)).sum(1)
        log_mass = math.log(len(self.modes)) + self.manifold.dim * LOG_CIRCLE
        return exactly(jax.nn.logsumexp(heights) - log_mass)

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        mode = jnp.asarray(self.modes)[jax.random.randint(k1, (), 0, len(self.modes))]
        keys = jax.random.split(k2, self.manifold.dim)
        return wrap(mode + jax.vmap(lambda k: sample_turn(1.0, key=k))(keys))


@storable("targets.TorusCorrelated")
class TorusCorrelated(AbstractTarget):
    """p(θ) ∝ exp(cos(θ₁ + θ₂ − φ)) on T²."""

    manifold: Torus
    phase: float = eqx.field(static=True)

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        return exactly(jnp.cos(y.sum() - self.phase) - LOG_CIRCLE - math.log(2 * math.pi))

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        first = jax.random.uniform(k1, minval=-jnp.pi, maxval=jnp.pi)
        total = self.phase + sample_turn(1.0, key=k2)
        return wrap(jnp.stack([first, total - first]))


LOG_CIRCLE = float(log_vmf_normaliser(1.0, 1)) + 1
"""log ∫ exp(cos θ) dθ = log 2π I₀(1)."""


@storable("targets.RotationModes")
class RotationModes(AbstractTarget):
    """p(O) ∝ Σ_i exp(−‖O − Ω_i‖²/(2σ²)) on SO(3): equal matrix Fisher densities, isotropic.

    `modes`: the diagonals of the Ω_i. Each factor depends on the angle ω from Ω_i only:
    exp(−2(1 − cos ω)/σ²), against the Haar density (1 − cos ω)/π of angles.
    """

    manifold: SpecialOrthogonal
    modes: Vectors = eqx.field(static=True)
    sigma: float = eqx.field(static=True)

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        diagonal = jnp.diagonal(y.reshape(3, 3))
        squared = 6 - 2 * jnp.asarray(self.modes, y.dtype) @ diagonal
        return exactly(jax.nn.logsumexp(-squared / (2 * self.sigma**2)) - self._log_mass())

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        turn = sample_rotation(1 / self.sigma**2, 3, key=k1)
        mode = jnp.asarray(self.modes)[jax.random.randint(k2, (), 0, len(self.modes))]
        return (mode[:, None] * turn).reshape(-1)

    def _log_mass(self) -> float:
        rate = 2 / self.sigma**2
        mass, _ = quad(
            lambda a: math.exp(-rate * (1 - math.cos(a))) * (1 - math.cos(a)), 0, math.pi
        )
        one = self.manifold.log_total_volume() + math.log(mass / math.pi)
        return one + math.log(len(self.modes))


@storable("targets.Procrustes")
class Procrustes(AbstractTarget):
    """p(O) ∝ exp(−‖B − OA‖²/(2σ²)) ∝ exp(tr FᵀO) on O(3), F = BAᵀ/σ².

    Two matrix Fisher densities: rotations R with F, and reflections −R with −F. With the
    eigenvalues e₀ ≥ e₁ ≥ … of the form S of F, qᵀSq = tr FᵀR, each is Bingham's in the quaternion
    q of R, of rates e₀ − e_j and mass e^{e₀} E exp(−Σ (e₀ − e_j) q_j²).
    """

    manifold: Stiefel
    attraction: Vectors = eqx.field(static=True)
    """F, by rows."""

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        height = jnp.asarray(self.attraction, y.dtype).reshape(-1) @ y
        return exactly(height - np.logaddexp.reduce(self._parts()[2]))

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        frames, rates, log_masses = map(jnp.asarray, self._parts())
        side = jax.random.categorical(k1, log_masses)
        envelope = jnp.asarray(envelopes(self._parts()[1]))[side]
        q = sample_bingham(rates[side], envelope, key=k2) @ frames[side]
        turn = rotation_of_quaternion(q / jnp.linalg.norm(q))
        return (jnp.where(side == 0, turn, -turn)).reshape(-1)

    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Frames (the mode first), rates and log masses of the rotations and the reflections."""
        with jax.ensure_compile_time_eval():
            form = np.asarray(quaternion_form(jnp.asarray(self.attraction)), float)
        heights, vectors = np.linalg.eigh(np.stack([form, -form]))
        heights, frames = heights[:, ::-1], vectors[:, :, ::-1].swapaxes(1, 2)
        rates = heights[:, :1] - heights[:, 1:]
        log_masses = heights[:, 0] + bingham(rates).log_constant
        return frames, rates, log_masses + SpecialOrthogonal(3).log_total_volume()


def sphere_s2() -> SphereModes:
    """The paper's four modes on S²."""
    modes = (
        (0.763, 0.643, 0.071),
        (0.455, -0.708, 0.540),
        (0.396, 0.271, 0.878),
        (-0.579, 0.488, -0.654),
    )
    return SphereModes(Sphere(2), modes, 10.0)


def sphere_s3() -> SphereModes:
    """The paper's four modes on S³."""
    modes = (
        (-0.129, 0.070, 0.659, -0.738),
        (-0.990, -0.076, 0.118, -0.017),
        (0.825, -0.484, 0.061, 0.285),
        (-0.801, 0.592, -0.024, 0.081),
    )
    return SphereModes(Sphere(3), modes, 10.0)


def torus_unimodal() -> TorusModes:
    """The paper's unimodal density on T²."""
    return TorusModes(Torus(2), ((4.18, 5.96),))


def torus_multimodal() -> TorusModes:
    """The paper's three modes on T²."""
    return TorusModes(Torus(2), ((0.21, 2.85), (1.89, 6.18), (3.77, 1.56)))


def torus_correlated() -> TorusCorrelated:
    """The paper's correlated density on T²."""
    return TorusCorrelated(Torus(2), 1.94)


def rotations_so3() -> RotationModes:
    """The paper's three modes on SO(3), σ = 1/2."""
    modes = ((1.0, 1.0, 1.0), (-1.0, -1.0, 1.0), (-1.0, 1.0, -1.0))
    return RotationModes(SpecialOrthogonal(3), modes, 0.5)


def procrustes(seed: int = 0, points: int = 10, sigma: float = 1.0) -> Procrustes:
    """The paper's posterior on O(3) of B = OA + σ·noise; the seed draws A, O and the noise."""
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(3, points))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moved = turn @ cloud + sigma * rng.normal(size=cloud.shape)
    attraction = moved @ cloud.T / sigma**2
    return Procrustes(Orthogonal(3), tuple(map(tuple, attraction.tolist())))
