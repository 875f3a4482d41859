"""Integrate z out of a weight: quadrature, randomised quasi-Monte Carlo.

∫ joint(y, z) dz is E w(v) over uniform noise v ∈ (0, 1)^k, where z(v) follows the dequantization
density and w = joint/q: what sampling sees. In unconstrained u it is ∫ joint(y, z(u)) |dz/du| du:
what quadrature sees.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from .log_prob import LogProb


class Own(NamedTuple):
    """The z of a sample of the density, which the estimate of its log density includes."""

    v: Float[Array, " k"]
    """Its noise."""
    log_weight: Float[Array, ""]
    """log w, given separately because the rounding of v loses a z that is far out."""


class Integrand(NamedTuple):
    """The integrand over z for one y."""

    k: int
    """Dimension of z."""
    log_weight: Callable[[Float[Array, " k"]], Float[Array, ""]]
    """Uniform noise v -> log w(z(v))."""
    log_joint: Callable[[Float[Array, " k"]], Float[Array, ""]]
    """Unconstrained u -> log joint(y, z(u)) + log |dz/du|."""
    place: Callable[[Float[Array, " k"]], Float[Array, " k"]]
    """Uniform noise v -> u of the dequantization density, which is where the joint is large."""
    own: Own | None = None
    """A z ~ p(z | y) to include among the sampled ones."""


class AbstractIntegrator(eqx.Module):
    """A method that integrates z out and estimates its own error."""

    @abc.abstractmethod
    def __call__(self, integrand: Integrand, *, key: PRNGKeyArray | None) -> LogProb:
        """Log of the integral, and the standard error of that logarithm."""

    @property
    @abc.abstractmethod
    def work(self) -> int:
        """How many z are evaluated for one y."""

    @abc.abstractmethod
    def refine(self) -> AbstractIntegrator:
        """The same with four times the work; itself where it is exact."""


@storable("marginal.Exact")
class Exact(AbstractIntegrator):
    """No integral: z is only branches, which the weight has summed already."""

    def __call__(self, integrand: Integrand, *, key: PRNGKeyArray | None) -> LogProb:
        value = integrand.log_weight(jnp.zeros(0))
        return LogProb(value, jnp.zeros_like(value))

    @property
    def work(self) -> int:
        return 1

    def refine(self) -> Exact:
        return self


@storable("marginal.Quadrature")
class Quadrature(AbstractIntegrator):
    """The trapezoidal rule for one-dimensional z, by u = c + s·sinh t, |u − c| ≤ `reach`.

    c and s are the middle and the half-width of the dequantization density. sinh makes the rule
    fine where the joint is large, and wide enough for its tails. For smooth joints (tanh, SiLU
    networks) the error falls exponentially with the number of nodes, and 64 suffice. With the kinks
    of ReLU networks it falls quadratically; the default serves these. Error: the difference from
    the rule with half as many nodes, which overestimates that of the full rule.
    """

    nodes: int = eqx.field(static=True, default=352)
    reach: float = eqx.field(static=True, default=16.0)

    def __call__(self, integrand: Integrand, *, key: PRNGKeyArray | None) -> LogProb:
        if integrand.k != 1:
            raise ValueError(
                f"Quadrature is for one-dimensional z, not {integrand.k}-dimensional: use RQMC."
            )
        centre, half_width = middle(integrand)
        end = jnp.arcsinh(self.reach / half_width)
        t = end * jnp.linspace(-1.0, 1.0, self.nodes + 1)[:, None]
        log_slope = jnp.log(half_width * jnp.cosh(t) * end * 2 / self.nodes)[:, 0]
        values = jax.vmap(integrand.log_joint)(centre + half_width * jnp.sinh(t)) + log_slope
        fine = jax.nn.logsumexp(values)
        coarse = jax.nn.logsumexp(values[::2]) + jnp.log(2.0)
        return LogProb(fine, jnp.abs(jnp.expm1(coarse - fine)))

    @property
    def work(self) -> int:
        return self.nodes + 1

    def refine(self) -> Quadrature:
        return Quadrature(4 * self.nodes, self.reach)


def middle(integrand: Integrand) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Middle and half-width of the dequantization density in u: medians and one deviation."""
    low, centre, high = (integrand.place(jnp.full(integrand.k, v)) for v in (0.16, 0.5, 0.84))
    return centre, jnp.abs(high - low) / 2


@storable("marginal.RQMC")
class RQMC(AbstractIntegrator):
    """Randomised quasi-Monte Carlo: Sobol' points with an independent shift per replicate.

    Value: the log of the mean over all replicates. Standard error: from the spread of their means.
    The own z of a sample replaces a random point of the first replicate, whose shift moves that
    point to it. The points are then distributed as if one of them came from p(z | y) instead of q,
    so the reciprocal of the mean has expectation 1/p.

    Args:
        points: Points of a replicate, a power of two.
        replicates: Independent shifts, at least 2; 16 give a reliable standard error.
    """

    points: int = eqx.field(static=True, default=64)
    replicates: int = eqx.field(static=True, default=16)

    def __check_init__(self):
        if self.points & (self.points - 1) or self.replicates < 2:
            raise ValueError(
                "RQMC needs a power of two of points and at least 2 replicates, "
                f"got {self.points} and {self.replicates}."
            )

    def __call__(self, integrand: Integrand, *, key: PRNGKeyArray | None) -> LogProb:
        if key is None:
            raise ValueError("This log density is estimated by sampling: pass key=.")
        # Nearly a second to import, and not every density needs it.
        from scipy.stats import qmc

        net = qmc.Sobol(integrand.k, scramble=True, rng=0).random(self.points)
        shifts = jax.random.uniform(key, (self.replicates, 1, integrand.k))
        tiny = jnp.finfo(shifts.dtype).epsneg
        net, place = jnp.asarray(net, shifts.dtype), None
        if integrand.own is not None:
            place = jax.random.randint(jax.random.fold_in(key, 1), (), 0, self.points)
            shifts = shifts.at[0, 0].set(integrand.own.v - net[place])
        v = jnp.clip((net + shifts) % 1.0, tiny, 1 - tiny)
        each = jax.vmap(integrand.log_weight)
        # Many points keep a processor busy; more replicates at a time only take memory.
        log_w = jax.lax.map(each, v) if self.points >= 1024 else jax.vmap(each)(v)
        if integrand.own is not None:
            log_w = log_w.at[0, place].set(integrand.own.log_weight)
        return combine_replicates(jax.nn.logsumexp(log_w, axis=1) - jnp.log(self.points))

    @property
    def work(self) -> int:
        return self.points * self.replicates

    def refine(self) -> RQMC:
        return RQMC(4 * self.points, self.replicates)


@storable("marginal.MonteCarlo")
class MonteCarlo(AbstractIntegrator):
    """Importance sampling with independent z; the standard error comes from the weights.

    Args:
        samples: How many z.
    """

    samples: int = eqx.field(static=True, default=1000)

    def __call__(self, integrand: Integrand, *, key: PRNGKeyArray | None) -> LogProb:
        if key is None:
            raise ValueError("This log density is estimated by sampling: pass key=.")
        v = open_uniform(key, (self.samples, integrand.k))
        log_w = jax.vmap(integrand.log_weight)(v)
        if integrand.own is not None:
            log_w = log_w.at[0].set(integrand.own.log_weight)
        return combine_replicates(log_w)

    @property
    def work(self) -> int:
        return self.samples

    def refine(self) -> MonteCarlo:
        return MonteCarlo(4 * self.samples)


def combine_replicates(log_means: Float[Array, " r"]) -> LogProb:
    """Log of the mean of r independent estimates, with its standard error (to first order)."""
    r = log_means.shape[0]
    value = jax.nn.logsumexp(log_means) - jnp.log(r)
    return LogProb(value, jnp.std(jnp.exp(log_means - value), ddof=1) / jnp.sqrt(r))


def open_uniform(
    key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any = float
) -> Float[Array, ...]:
    """Uniform noise that reaches neither 0 nor 1."""
    tiny = jnp.finfo(jnp.zeros((), dtype).dtype).epsneg
    return jax.random.uniform(key, shape, dtype, minval=tiny, maxval=1 - tiny)


def default_integrator(k: int) -> AbstractIntegrator:
    """Exact without z, quadrature in one dimension, else RQMC."""
    if k == 0:
        return Exact()
    return Quadrature() if k == 1 else RQMC()


def budgeted_integrator(k: int, budget: str) -> AbstractIntegrator | None:
    """The integrator of k-dimensional z for a budget; None where the default one serves it.

    `"coarse"`: few nodes, for `evaluate` to refine where they are too few. `"thorough"`: 4,096
    samples, for rows whose error is not checked.
    """
    if budget == "coarse" and k > 0:
        return Quadrature(48) if k == 1 else RQMC(16)
    if budget == "thorough" and k > 1:
        return RQMC(256)
    if budget not in ("coarse", "default", "thorough"):
        raise ValueError(f"budget is 'coarse', 'default' or 'thorough', not {budget!r}.")
    return None
