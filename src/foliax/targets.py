"""Densities with exact samplers and normalisers: the paper's synthetic targets."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.integrate import quad
from scipy.special import ive

from .density import AbstractDensity
from .manifolds import SpecialOrthogonal, Sphere, Torus
from .manifolds.rotations import rotation_of_quaternion
from .manifolds.torus import wrap
from .marginal import LogProb

Point = Float[Array, " size"]
Vectors = tuple[tuple[float, ...], ...]


class AbstractTarget(AbstractDensity):
    """A density known exactly."""

    @property
    def work(self) -> int:
        return 1

    def refined(self) -> AbstractTarget:
        """Itself."""
        return self


def exactly(value: Float[Array, ""]) -> LogProb:
    """A log density without error."""
    return LogProb(value, jnp.zeros_like(value))


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
        return modes, log_vmf_mass(self.kappa * norms, self.manifold.dim)


def log_vmf_mass(kappa: Float[np.ndarray, ...], d: int) -> Float[np.ndarray, ...]:
    """log ∫ exp(κ yᵀμ) dA over S^d = log (2π)^{(d+1)/2} I_ν(κ)/κ^ν, ν = (d−1)/2."""
    order = (d - 1) / 2
    log_bessel = np.log(ive(order, kappa)) + kappa
    return (d + 1) / 2 * math.log(2 * math.pi) + log_bessel - order * np.log(kappa)


def sample_von_mises_fisher(
    mean: Point, kappa: Float[Array, ""] | float, *, key: PRNGKeyArray
) -> Point:
    """One draw on S^d around a unit vector: a height, and a uniform direction to the side."""
    height_key, side_key = jax.random.split(key)
    height = _vmf_height(kappa, len(mean) - 1, height_key)
    side = jax.random.normal(side_key, mean.shape)
    side = side - (side @ mean) * mean
    side = side / jnp.linalg.norm(side)
    y = height * mean + jnp.sqrt(jnp.maximum(1 - height**2, 0)) * side
    return y / jnp.linalg.norm(y)


def _vmf_height(kappa, d: int, key: PRNGKeyArray) -> Float[Array, ""]:
    """h = yᵀμ, density ∝ exp(κh)(1 − h²)^{d/2−1}: inverted for d = 2, else Wood (1994)."""
    if d == 2:
        u = jax.random.uniform(key, minval=jnp.finfo(jnp.float32).tiny)
        return jnp.clip(1 + jnp.log(u + (1 - u) * jnp.exp(-2 * kappa)) / kappa, -1, 1)
    b = d / (2 * kappa + jnp.sqrt(4 * kappa**2 + d**2))
    x0 = (1 - b) / (1 + b)
    top = kappa * x0 + d * jnp.log1p(-(x0**2))

    def propose(key):
        k1, k2 = jax.random.split(key)
        # A height of the uniform law on S^d: twice a Beta(d/2, d/2) less one.
        uniform = jax.random.normal(k1, (d + 1,))
        beta = (1 + uniform[0] / jnp.linalg.norm(uniform)) / 2
        height = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)
        log_ratio = kappa * height + d * jnp.log1p(-x0 * height) - top
        return height, log_ratio >= jnp.log(jax.random.uniform(k2))

    return rejection(propose, key)


def rejection(propose, key: PRNGKeyArray, *, at_once: int = 4) -> Array:
    """The first accepted proposal of propose(key) -> (value, accepted), tried in small batches."""

    def some(key):
        values, accepted = jax.vmap(propose)(jax.random.split(key, at_once))
        return values[jnp.argmax(accepted)], accepted.any()

    def again(state):
        key, use = jax.random.split(state[2])
        return *some(use), key

    key, use = jax.random.split(key)
    return jax.lax.while_loop(lambda state: ~state[1], again, (*some(use), key))[0]


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
        return wrap(mode + jax.vmap(sample_von_mises)(keys))


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
        total = self.phase + sample_von_mises(k2)
        return wrap(jnp.stack([first, total - first]))


LOG_CIRCLE = float(log_vmf_mass(np.ones(1), 1)[0])
"""log ∫ exp(cos θ) dθ = log 2π I₀(1)."""


def sample_von_mises(key: PRNGKeyArray) -> Float[Array, ""]:
    """One angle of density ∝ exp(cos θ)."""
    x, y = sample_von_mises_fisher(jnp.array([1.0, 0.0]), 1.0, key=key)
    return jnp.arctan2(y, x)


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
        rate = 2 / self.sigma**2
        # 1 − cos ω ≥ 2ω²/π² on [0, π]: a Maxwell law of the angle is an envelope.
        width = math.sqrt(math.pi**2 / (4 * rate))

        def propose(key):
            k1, k2 = jax.random.split(key)
            angle = width * jnp.linalg.norm(jax.random.normal(k1, (3,)))
            rise = 2 * jnp.sin(angle / 2) ** 2
            log_ratio = (
                -rate * (rise - 2 * angle**2 / math.pi**2) + jnp.log(rise) - jnp.log(angle**2 / 2)
            )
            accepted = log_ratio >= jnp.log(jax.random.uniform(k2))
            return angle, accepted & (angle <= math.pi)

        k1, k2, k3 = jax.random.split(key, 3)
        angle = rejection(propose, k1)
        axis = jax.random.normal(k2, (3,))
        axis = axis / jnp.linalg.norm(axis)
        turn = rotation_of_quaternion(
            jnp.concatenate([jnp.cos(angle / 2)[None], jnp.sin(angle / 2) * axis])
        )
        mode = jnp.asarray(self.modes)[jax.random.randint(k3, (), 0, len(self.modes))]
        return (mode[:, None] * turn).reshape(-1)

    def _log_mass(self) -> float:
        rate = 2 / self.sigma**2
        mass, _ = quad(
            lambda a: math.exp(-rate * (1 - math.cos(a))) * (1 - math.cos(a)), 0, math.pi
        )
        one = self.manifold.log_total_volume() + math.log(mass / math.pi)
        return one + math.log(len(self.modes))


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
