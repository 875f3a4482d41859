import dataclasses
import functools
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import t as student

from foliax.density import (
    RQMC,
    AbstractIntegrator,
    Dataset,
    DequantizedDensity,
    Exact,
    Integrand,
    LogProb,
    MonteCarlo,
    Own,
    Quadrature,
    evaluate,
)
from foliax.density.batches import log_prob_in_batches
from foliax.density.integrate import middle
from foliax.evaluation import log_prob_once, sample_and_evaluate
from foliax.manifolds import (
    ByRadii,
    Hyperspherical,
    OffManifoldError,
    Quaternions,
    Sphere,
    Torus,
    Wrapping,
)
from foliax.paper import targets

from ..small import SPEC, density

WAYS = {
    "S²": Hyperspherical(Sphere(2)),
    "T²": ByRadii(Torus(2)),
    "SO(3)": Quaternions(),
}


def log_probs(d, rows, seed=0):
    return log_prob_in_batches(d, rows, np.arange(len(rows)), None, jax.random.key(seed), 4096)


class Grid(AbstractIntegrator):
    """A product of fine rules, the reference for two-dimensional z."""

    def __call__(self, integrand, *, key):
        centre, half_width = middle(integrand)
        t = jnp.linspace(-5.0, 5.0, 81)
        pairs = jnp.stack(jnp.meshgrid(t, t, indexing="ij"), -1).reshape(-1, 2)
        log_slope = jnp.log(half_width * jnp.cosh(pairs) * (t[1] - t[0])).sum(1)
        joint = jax.vmap(integrand.log_joint)(centre + half_width * jnp.sinh(pairs))
        value = jax.nn.logsumexp(joint + log_slope)
        return LogProb(value, jnp.zeros_like(value))

    work = 81**2

    def refine(self):
        return self


TARGETS = {
    "S²": targets.sphere_s2(),
    "T²": targets.torus_multimodal(),
    "SO(3)": targets.rotations_so3(),
}


@cache
def with_reference(name):
    """A shortly trained density, 500 of its samples, their log densities by a fine rule."""
    longer = dataclasses.replace(SPEC, training=dataclasses.replace(SPEC.training, steps=400))
    rows = TARGETS[name].sample(2000, key=jax.random.key(0))
    mapped = dataclasses.replace(longer, dequantization=WAYS[name])
    d = mapped.fit(Dataset(rows, WAYS[name].manifold), key=jax.random.key(1)).density
    rows = d.sample(500, key=jax.random.key(3))
    reference = Quadrature(1024) if d.dequantization.auxiliary.size == 1 else Grid()
    return d, rows, log_probs(d.with_integrator(reference), rows)[0]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name != "S²" else []) for name in WAYS],
)
def test_error_bars_are_honest(name):
    """± t standard errors cover the reference for at least 90 % of 500 points."""
    d, rows, exact = with_reference(name)
    value, error = log_probs(d.with_integrator(RQMC(16, 16)), rows)
    off = value - exact
    assert np.mean(np.abs(off) <= student.ppf(0.975, 15) * error) >= 0.9
    assert 0.7 <= np.sqrt((off**2).mean() / (error**2).mean()) <= 1.4


def test_a_wrong_error_bar_would_be_noticed():
    d, rows, exact = with_reference("S²")
    value, error = log_probs(d.with_integrator(RQMC(16, 16)), rows)
    assert np.mean(np.abs(value - exact) <= student.ppf(0.975, 15) * error / 2) < 0.9


@pytest.mark.parametrize("name", ["S²", pytest.param("SO(3)", marks=pytest.mark.slow)])
def test_quadrature_against_ten_thousand_nodes(name):
    d = density(WAYS[name])
    rows = d.sample(200, key=jax.random.key(4))
    exact, _ = log_probs(d.with_integrator(Quadrature(10_000)), rows)
    value, error = log_probs(d, rows)
    assert isinstance(d.integrator, Quadrature)
    assert np.abs(value - exact).max() < 1e-4
    # Sums of 10,000 float32 terms are themselves good to a few 1e-5.
    assert (np.abs(value - exact) <= error + 5e-5).all()


def test_neither_chunks_nor_order_matter():
    d = density(WAYS["T²"]).with_integrator(RQMC(8, 4))
    rows = d.sample(50, key=jax.random.key(5))
    whole, _ = log_probs(d, rows)
    numbers, key = np.arange(50), jax.random.key(0)
    chunked, _ = log_prob_in_batches(d, rows, numbers, None, key, 7)
    order = np.random.default_rng(0).permutation(50)
    shuffled, _ = log_prob_in_batches(d, rows[order], numbers[order], None, key, 4096)
    np.testing.assert_allclose(chunked, whole, atol=1e-5)
    np.testing.assert_allclose(shuffled, whole[order], atol=1e-5)
    found, backwards = evaluate(d, rows, tol=9.0), evaluate(d, rows[::-1], tol=9.0)
    np.testing.assert_allclose(backwards.value[::-1], found.value, atol=1e-5)


def test_evaluate_spends_samples_where_they_are_needed():
    d = density(WAYS["T²"]).with_integrator(RQMC(8, 8))
    rows = d.sample(60, key=jax.random.key(6))
    _, first_error = log_probs(d, rows)
    tol = float(np.median(first_error)) / 4
    found = evaluate(d, rows, tol=tol, max_rounds=6)
    assert found.reached.all()
    assert (found.error <= tol).all()
    assert "All 60" in found.describe(tol)
    stuck = evaluate(d, rows, tol=1e-9, max_rounds=2)
    assert not stuck.reached.any()
    assert "60 of 60 log densities have an error above" in stuck.describe(1e-9)
    assert np.median(stuck.error) < np.median(first_error)


def steep(own: bool, integrator: AbstractIntegrator, n: int) -> np.ndarray:
    """Log estimates of ∫ w = 1, w(v) = ∏ 4 v_i³ on the unit square, through an own v or without."""

    def log_weight(v):
        return jnp.log(4 * v**3).sum()

    def one(key):
        k1, k2 = jax.random.split(key)
        v = jax.random.uniform(k1, (2,)) ** 0.25  # follows w
        through = Own(v, log_weight(v)) if own else None
        integrand = Integrand(2, log_weight, log_weight, lambda v: v, through)
        return integrator(integrand, key=k2).value

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), n)), float)


@pytest.mark.parametrize("integrator", [RQMC(2, 2), MonteCarlo(3)], ids=["RQMC", "MonteCarlo"])
def test_through_its_own_z_the_reciprocal_is_without_bias(integrator):
    """E 1/p̂ = 1/p and E log p̂ > log p through the own z; E p̂ = p and E log p̂ < log p without."""
    n = 200_000

    def off(values):
        return (values.mean() - 1) / (values.std() / np.sqrt(n))

    led, plain = steep(True, integrator, n), steep(False, integrator, n)
    assert abs(off(np.exp(-led))) < 4
    assert abs(off(np.exp(plain))) < 4
    assert off(np.exp(led)) > 20
    assert led.mean() > 0.05
    assert plain.mean() < -0.05


@pytest.mark.parametrize("integrator", [RQMC(4, 2), MonteCarlo(8)], ids=["RQMC", "MonteCarlo"])
def test_an_own_z_counts_by_its_weight_where_its_noise_is_rounded(integrator):
    own = Own(jnp.ones(2), jnp.asarray(50.0))
    integrand = Integrand(2, lambda v: -v.sum() * 0, lambda u: u.sum(), lambda v: v, own)
    found = integrator(integrand, key=jax.random.key(0))
    assert found.value == pytest.approx(50 - np.log(8), abs=1e-4)
    assert found.error == pytest.approx(1, abs=1e-4)


def test_draws_see_what_their_dequantizer_misses():
    """E_q u/q = 1 over the density's own draws, u uniform, with a q(z | y) that is far off."""
    d = density(WAYS["T²"]).with_integrator(RQMC(4, 2))
    moved = eqx.tree_at(
        lambda d: d.dequantizer.net.layers[-1].bias, d, replace_fn=lambda bias: bias - 0.6
    )
    keys, numbers = jax.random.split(jax.random.key(3), 20_000), np.arange(20_000)
    how = {"key": jax.random.key(4), "batch_size": 4096}
    rows, (led, _) = moved.sample_rows_with_log_prob(keys, numbers, **how)
    np.testing.assert_allclose(rows, d.sample_rows(keys), atol=1e-5)
    plain, _ = log_probs(moved, rows)
    uniform = -d.manifold.log_total_volume()
    for values, within in ((led, True), (plain, False)):
        share = np.exp(uniform - values.astype(float))
        error = share.std() / np.sqrt(len(share))
        assert (abs(share.mean() - 1) < 4 * error) == within


def test_branches_alone_are_exact():
    d = density(Wrapping(Torus(2), window=1))
    assert isinstance(d.integrator, Exact)
    found = evaluate(d, d.sample(5, key=jax.random.key(0)), tol=0.0)
    assert (found.error == 0).all()


def test_nan_is_an_error_with_its_row():
    d = density(WAYS["S²"])
    rows = d.sample(3, key=jax.random.key(0))
    rows = np.where(np.arange(3)[:, None] == 1, np.nan, rows)
    with pytest.raises(OffManifoldError, match="Row 1, column 0: value is nan"):
        evaluate(d, rows)
    with pytest.raises(OffManifoldError, match="norm is 3"):
        evaluate(d, 3 * d.sample(3, key=jax.random.key(0)))
    with pytest.raises(FloatingPointError, match="Row 1"):
        log_prob_once(d, rows, key=jax.random.key(0))


def test_a_draw_that_is_not_finite_is_an_error():
    """A flow that is scaled beyond float32."""
    d = density(Wrapping(Torus(2), window=1))
    far = eqx.tree_at(lambda d: d.ambient.scale.tree, d, replace_fn=lambda scale: scale * 3e38)
    for sample in (far.sample, functools.partial(sample_and_evaluate, far)):
        with pytest.raises(FloatingPointError, match=r"Sample \d+ is not finite: .* of 40 samples"):
            sample(40, key=jax.random.key(0))


def test_refusals():
    d = density(WAYS["T²"])
    y = jnp.zeros(2)
    with pytest.raises(ValueError, match="pass key="):
        d.log_prob(y)
    with pytest.raises(ValueError, match="one-dimensional"):
        d.with_integrator(Quadrature()).log_prob(y)
    with pytest.raises(ValueError, match="power of two"):
        RQMC(points=10)
    with pytest.raises(ValueError, match=r"on R\^4; Hyperspherical needs one on R\^3"):
        DequantizedDensity(WAYS["S²"], d.ambient, d.dequantizer)


def test_monte_carlo_agrees():
    d = density(WAYS["S²"])
    rows = d.sample(20, key=jax.random.key(8))
    exact, _ = log_probs(d, rows)
    value, error = log_probs(d.with_integrator(MonteCarlo(4000)), rows)
    assert (np.abs(value - exact) < 5 * error).all()
