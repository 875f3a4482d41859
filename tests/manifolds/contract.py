"""The suite that every manifold passes. Its test file declares a `Case` with known values.

CASES = [Case("S²", Hyperspherical(Sphere(2)), invalid=[([1.0, 1.0, 0.0], "norm")])]
test_contract = suite(CASES)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliax.manifolds import (
    AbstractDequantization,
    OffManifoldError,
    check_points,
    covers,
    log_joint,
    log_volume_by_autodiff,
)

Proposal = Callable[[jax.Array], tuple[jax.Array, jax.Array]]


@dataclass(frozen=True)
class Case:
    """A dequantization with its invalid points, difficult points and known values."""

    name: str
    dequantization: AbstractDequantization
    invalid: tuple[tuple[list[float], str], ...] = ()
    """Points off the manifold, each with a part of the expected error message."""
    awkward: tuple[tuple[list[float], list[float]], ...] = ()
    """(y, z) at which a careless formula loses digits or returns NaN."""
    known: Callable[[jax.Array], jax.Array] | None = None
    """y -> the exact log marginal of an ambient Gaussian N(`loc`, diag `scale`²)."""
    loc: float = 0.0
    scale: float = 1.0
    spread: float = 0.2
    """Anisotropy and offset of the ambient Gaussian in the mass check, relative to `scale`."""
    proposal: Proposal | None = None
    """For infinite volumes: key -> (y, log density), wide enough for `mass`."""
    tol32: float = 1e-4

    def __str__(self):
        return self.name

    def x(self, key: jax.Array, n: int) -> jax.Array:
        return jnp.asarray(gaussian_sample(*self.skewed, key, n))

    @cached_property
    def skewed(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and triangular factor of a Gaussian that is off-centre and anisotropic."""
        m = self.dequantization.ambient_dim
        rng = np.random.default_rng(m)
        mean = self.loc + self.scale * self.spread * rng.normal(size=m)
        factor = np.diag(1 + self.spread * rng.uniform(-1, 1, size=m))
        factor += self.spread * np.tril(rng.normal(size=(m, m)), -1) / math.sqrt(m)
        return mean, self.scale * factor

    @property
    def plain(self) -> tuple[np.ndarray, np.ndarray]:
        m = self.dequantization.ambient_dim
        return np.full(m, self.loc), self.scale * np.eye(m)


def gaussian_sample(mean, factor, key, n):
    return mean + np.asarray(jax.random.normal(key, (n, len(mean)))) @ factor.T


@eqx.filter_jit
def quantize_rows(g: AbstractDequantization, x):
    return jax.vmap(g.quantize)(x)


@eqx.filter_jit
def covers_rows(g: AbstractDequantization, x):
    return jax.vmap(lambda v: covers(g, v))(x)


def gaussian_log_prob(mean, factor):
    constant = np.log(np.abs(np.diag(factor))).sum() + len(mean) / 2 * math.log(2 * math.pi)
    inverse = np.linalg.inv(factor)

    def log_prob(x):
        white = inverse.astype(x.dtype) @ (x - mean.astype(x.dtype))
        return -0.5 * (white**2).sum() - constant

    return log_prob


class StudentProposal:
    """A proposal q(z): a Student density for u, fitted to the u of ambient samples."""

    df = 8

    def __init__(self, case: Case, ambient):
        self.auxiliary = case.dequantization.auxiliary
        x = jnp.asarray(gaussian_sample(*ambient, jax.random.key(7), 10_000))
        _, z = quantize_rows(case.dequantization, x)
        u = np.asarray(jax.jit(jax.vmap(self.auxiliary.unconstrain))(z))
        self.k = u.shape[1]
        self.mean = u.mean(0)
        self.factor = np.linalg.cholesky(np.atleast_2d(np.cov(u.T))) if self.k else np.eye(0)

    def __call__(self, key):
        """(z, log q(z))."""
        k1, k2 = jax.random.split(key)
        df, k = self.df, self.k
        chi_square = 2 * jax.random.exponential(k2, (df // 2,)).sum()
        white = jax.random.normal(k1, (k,)) * jnp.sqrt(df / chi_square)
        constant = (
            math.lgamma((df + k) / 2)
            - math.lgamma(df / 2)
            - k / 2 * math.log(df * math.pi)
            - np.log(np.diag(self.factor)).sum()
        )
        log_q = constant - (df + k) / 2 * jnp.log1p((white**2).sum() / df)
        z, log_slope = self.auxiliary.constrain(self.mean + self.factor @ white)
        return z, log_q - log_slope


def mean_of_weights(log_w: Callable[[jax.Array], jax.Array], n: int, seed: int = 0):
    """Average exp(log_w(key)), a vector, over n keys; also return the standard errors."""

    @jax.jit
    def block(key):
        w = jnp.exp(jax.vmap(log_w)(jax.random.split(key, 10_000)))
        return w.mean(0), (w**2).mean(0)

    n_blocks = max(1, n // 10_000)
    keys = jax.random.split(jax.random.key(seed), n_blocks)
    first, second = np.array([block(key) for key in keys], dtype=float).mean(0)
    return first, np.sqrt(np.maximum(second - first**2, 0) / (10_000 * n_blocks))


def marginals(case: Case, ambient, ys, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute log densities of ys by importance sampling over z, with standard errors."""
    log_prob, q = gaussian_log_prob(*ambient), StudentProposal(case, ambient)

    def log_w(key):
        z, log_q = q(key)
        joint = jax.vmap(lambda y: log_joint(case.dequantization, log_prob, y, z))(ys)
        return joint - log_q

    value, error = mean_of_weights(log_w, n if q.k else 1)
    return np.log(value), error / value


def mass(case: Case, n: int) -> tuple[float, float]:
    """Compute the total mass on Y of the skewed Gaussian's density, with its standard error."""
    manifold = case.dequantization.manifold
    log_prob, q = gaussian_log_prob(*case.skewed), StudentProposal(case, case.skewed)

    def draw(key):
        if case.proposal is not None:
            return case.proposal(key)
        return manifold.sample_uniform(key=key), -manifold.log_total_volume()

    def log_w(key):
        k1, k2 = jax.random.split(key)
        (y, log_h), (z, log_q) = draw(k1), q(k2)
        return (log_joint(case.dequantization, log_prob, y, z) - log_q - log_h)[None]

    value, error = mean_of_weights(log_w, n)
    return float(value[0]), float(error[0])


@eqx.filter_jit
def roundtrip_errors(g: AbstractDequantization, x) -> jax.Array:
    """Return the larger of two errors: x to its nearest preimage, preimages back to (y, z)."""

    def error(x):
        y, z = g.quantize(x)
        found, _ = g.preimages(y, z)
        nearest = jnp.abs(found - x).max(1).min() / (1 + jnp.abs(x).max())
        ys, zs = jax.vmap(g.quantize)(found)
        back = jax.vmap(lambda v: g.manifold.distance(v, y))(ys).max()
        z_gap = jnp.abs((zs - z) / (1 + jnp.abs(z))).max(initial=0)
        return jnp.stack([nearest, back, z_gap]).max()

    return jax.vmap(error)(x)


@eqx.filter_jit
def volume_errors(g: AbstractDequantization, x) -> jax.Array:
    """Return the largest |log_volume − autodiff| over the branches."""

    def error(x):
        found, log_volume = g.preimages(*g.quantize(x))
        exact = jax.vmap(lambda v: log_volume_by_autodiff(g.quantize, v))(found)
        return jnp.abs(log_volume - exact).max()

    return jax.vmap(error)(x)


def covered_samples(case: Case, n: int) -> jax.Array:
    x = case.x(jax.random.key(3), n)
    return x[np.asarray(covers_rows(case.dequantization, x))]


def check_roundtrip(case: Case):
    """x is among its own preimages; every preimage maps back."""
    with jax.enable_x64(True):
        x = covered_samples(case, 100)
        assert len(x) > 75
        assert float(roundtrip_errors(case.dequantization, x).max()) < 1e-8


def check_volume(case: Case):
    """log_volume equals autodiff of G in float64."""
    with jax.enable_x64(True):
        x = covered_samples(case, 100)
        assert float(volume_errors(case.dequantization, x).max()) < 1e-9


def check_roundtrip_anywhere(case: Case):
    """The round trip holds for x of any size (hypothesis)."""

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(st.integers(0, 2**31 - 1), st.floats(-2, 1))
    def holds(seed, exponent):
        size = (1, case.dequantization.ambient_dim)
        spread = 10**exponent * case.scale * np.random.default_rng(seed).normal(size=size)
        with jax.enable_x64(True):
            x = jnp.asarray(case.loc + spread)
            if covers_rows(case.dequantization, x)[0]:
                assert float(roundtrip_errors(case.dequantization, x)[0]) < 1e-6

    holds()


def check_points_valid(case: Case):
    """Quantized samples are points; projecting them changes nothing; features are finite."""
    g = case.dequantization
    y, z = quantize_rows(g, case.x(jax.random.key(1), 100))
    check_points(g.manifold, np.asarray(y))
    assert y.shape == (100, g.manifold.size)
    assert z.shape == (100, g.auxiliary.size)

    @jax.jit
    def about(y, z):
        moved = g.manifold.distance(g.manifold.project(y), y)
        return moved, g.manifold.features(y), *g.preimages(y, z)

    moved, features, x, log_volume = jax.vmap(about)(y, z)
    assert float(moved.max()) < 1e-3
    assert x.shape == (100, g.branches, g.ambient_dim)
    assert log_volume.shape == (100, g.branches)
    assert bool(jnp.isfinite(features).all())


def check_auxiliary(case: Case):
    """z(u(z)) = z and log |dz/du| equals autodiff."""
    auxiliary = case.dequantization.auxiliary
    with jax.enable_x64(True):
        u = jax.random.normal(jax.random.key(2), (auxiliary.size,))

        @jax.jit
        def there_and_back(u):
            z, log_slope = auxiliary.constrain(u)
            slope = jax.jacfwd(lambda v: auxiliary.constrain(v)[0])(u)
            return auxiliary.unconstrain(z) - u, log_slope - jnp.linalg.slogdet(slope)[1]

        for gap in there_and_back(u):
            np.testing.assert_allclose(gap, 0, atol=1e-12)


def check_uniform(case: Case):
    """Uniform samples are points; infinite volumes refuse."""
    manifold = case.dequantization.manifold
    if math.isinf(manifold.log_total_volume()):
        with pytest.raises(ValueError, match="uniform"):
            manifold.sample_uniform(key=jax.random.key(0))
        return
    keys = jax.random.split(jax.random.key(0), 100)
    uniform = jax.jit(jax.vmap(lambda k: manifold.sample_uniform(key=k)))
    check_points(manifold, np.asarray(uniform(keys)))


def check_invalid(case: Case):
    """Points off the manifold raise an error with their row and the reason."""
    manifold = case.dequantization.manifold
    good = np.asarray(quantize_rows(case.dequantization, case.x(jax.random.key(1), 100))[0][:2])
    for point, reason in case.invalid:
        rows = np.vstack([good, np.array(point, good.dtype)])
        with pytest.raises(OffManifoldError, match=r"Row 2\b") as caught:
            check_points(manifold, rows)
        assert reason in str(caught.value)
    rows = good.copy()
    rows[1, 0] = np.nan
    with pytest.raises(OffManifoldError, match="Row 1, column 0: value is nan"):
        check_points(manifold, rows)


def check_known_marginal(case: Case):
    """A Gaussian ambient density gives the known marginal, within 4 standard errors."""
    if case.known is None:
        pytest.skip("the case declares no closed form of the marginal")
    with jax.enable_x64(True):
        x = jnp.asarray(gaussian_sample(*case.plain, jax.random.key(5), 3))
        ys, _ = quantize_rows(case.dequantization, x)
        values, errors = marginals(case, case.plain, ys, 40_000)
        known = np.array([float(case.known(y)) for y in ys])
        assert errors.max() < 0.03
        assert (np.abs(values - known) < 4 * errors + 1e-9).all(), (values, known, errors)


def check_mass(case: Case):
    """The total mass is 1 within 4 standard errors."""
    value, error = mass(case, 200_000)
    assert error < 0.02
    assert abs(value - 1) < 4 * error


def check_float32(case: Case):
    """float32 is finite and close to float64, gradients included, at awkward points too."""
    g, (mean, factor) = case.dequantization, case.skewed

    @eqx.filter_jit
    def value_and_gradient(y, z):
        log_prob = gaussian_log_prob(mean, factor)
        return jax.value_and_grad(lambda y, z: log_joint(g, log_prob, y, z), (0, 1))(y, z)

    with jax.enable_x64(True):
        y, z = quantize_rows(g, covered_samples(case, 100))
        pairs = [*zip(np.asarray(y[:20]), np.asarray(z[:20]), strict=True), *case.awkward]
        pairs = [(np.asarray(a, np.float32), np.asarray(b, np.float32)) for a, b in pairs]
        exact = [
            value_and_gradient(jnp.asarray(a, "float64"), jnp.asarray(b, "float64"))
            for a, b in pairs
        ]
    for (a, b), wide in zip(pairs, exact, strict=True):
        narrow = value_and_gradient(jnp.asarray(a), jnp.asarray(b))
        for got, want in zip(jax.tree.leaves(narrow), jax.tree.leaves(wide), strict=True):
            assert got.dtype == jnp.float32
            assert np.isfinite(got).all(), (a, b)
            size = np.abs(want).max(initial=1e-3)
            np.testing.assert_allclose(got, want, rtol=case.tol32, atol=case.tol32 * size)


CHECKS = [
    check_roundtrip,
    check_roundtrip_anywhere,
    check_volume,
    check_points_valid,
    check_auxiliary,
    check_uniform,
    check_invalid,
    check_known_marginal,
    check_mass,
    check_float32,
]


def suite(cases: list[Case]):
    """Build the parametrised test of a manifold's test file."""

    @pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__.removeprefix("check_"))
    @pytest.mark.parametrize("case", cases, ids=str)
    def test_contract(case, check):
        check(case)

    return test_contract
