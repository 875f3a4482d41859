import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

from foliax import dequantizers
from foliax.dequantizers import Beta, ConditionalFlow, Gamma, HeavyTailed, Normal, Uniform
from foliax.dequantizers.location_scale import invert_tails, stretch_tails
from foliax.manifolds import (
    ByRadii,
    Euclidean,
    Fold,
    Integers,
    Joint,
    Polar,
    Sphere,
    Stiefel,
    Torus,
    log_joint,
)
from tests.flows.cases import in_double

SPHERE, TORUS = Sphere(2).dequantization(), ByRadii(Torus(2))
CELLS, TRIANGLE = Integers(2).dequantization(), Fold(Polar(Stiefel(3, 3)))
MIXED = Joint(SPHERE, CELLS)

CASES = [
    (HeavyTailed(8), SPHERE),
    (HeavyTailed(8), MIXED),
    (HeavyTailed(8, full=True), TRIANGLE),
    (Normal(8), TORUS),
    (Normal(8, full=True), TORUS),
    (Gamma(8), TORUS),
    (Beta(8), CELLS),
    (Uniform(), CELLS),
    (ConditionalFlow(width=8), SPHERE),
    (ConditionalFlow(width=8), TORUS),
]


def built(spec, g):
    """Build a density away from its initial values, in float64, and the features of a point."""
    q = in_double(dequantizers.build(spec, g, key=jax.random.key(0)))
    q = jax.tree.map(lambda a: a * 1.5 if eqx.is_inexact_array(a) else a, q)
    point, _ = g.quantize(jax.random.normal(jax.random.key(1), (g.ambient_dim,)))
    return q, g.manifold.features(point)


@pytest.mark.parametrize(("spec", "g"), CASES, ids=lambda v: type(v).__name__)
def test_the_density_is_that_of_the_transform(spec, g):
    """q(z(v)) |dz/dv| = 1 for uniform v, so sampling and log_prob agree."""
    with jax.enable_x64(True):
        q, features = built(spec, g)
        v = jax.random.uniform(jax.random.key(2), (20, g.auxiliary.size), minval=0.02, maxval=0.98)

        @jax.jit
        @jax.vmap
        def gap(v):
            slope = jax.jacfwd(lambda v: q.transform(features, v))(v)
            return q.log_prob(features, q.transform(features, v)) + jnp.linalg.slogdet(slope)[1]

        np.testing.assert_allclose(gap(v), 0, atol=1e-6)


@pytest.mark.parametrize(("spec", "g"), CASES, ids=lambda v: type(v).__name__)
def test_noise_inverts_transform(spec, g):
    with jax.enable_x64(True):
        q, features = built(spec, g)
        v = jax.random.uniform(jax.random.key(2), (20, g.auxiliary.size), minval=1e-4, maxval=0.999)
        again = jax.jit(jax.vmap(lambda v: q.noise(features, q.transform(features, v))))(v)
        np.testing.assert_allclose(again, v, atol=1e-8)


@pytest.mark.parametrize("g", [SPHERE, MIXED, TRIANGLE], ids=lambda g: type(g).__name__)
def test_heavy_tails_are_inverted_far_out(g):
    """n → u → n is the identity up to seven deviations, and the stretch is the derivative."""
    with jax.enable_x64(True):
        k = g.auxiliary.size
        scale = jnp.linspace(0.01, 2.0, k)
        for n in (-7.0, -2.0, -0.5, 0.0, 1.9, 7.0):
            n = jnp.full(k, n)

            def forward(n):
                return scale * n + stretch_tails(n, g.auxiliary)

            found, log_stretch = invert_tails(forward(n), scale, g.auxiliary)
            np.testing.assert_allclose(found, n, atol=1e-10)
            slope = jnp.diagonal(jax.jacfwd(forward)(n + 1e-9))
            np.testing.assert_allclose(log_stretch, jnp.log(slope).sum(), atol=1e-5)


@pytest.mark.parametrize(("spec", "g"), [(Gamma(4), TORUS), (Beta(4), CELLS)], ids=str)
def test_implicit_gradients_of_quantiles(spec, g):
    """d z / d parameters against finite differences."""
    with jax.enable_x64(True):
        q, features = built(spec, g)
        v = jnp.array([0.2, 0.7])

        def first(bias):
            moved = eqx.tree_at(lambda q: q.net.layers[-1].bias, q, bias)
            return moved.transform(features, v)

        bias, h = q.net.layers[-1].bias, 1e-5
        got = jax.jacfwd(first)(bias)
        for i in range(len(bias)):
            step = jnp.zeros_like(bias).at[i].set(h)
            want = (first(bias + step) - first(bias - step)) / (2 * h)
            np.testing.assert_allclose(got[:, i], want, atol=1e-5)


def second_moment(spec, reach):
    """E w² over |log r| < reach, normal ambient density on R³, q of scale 0.1 about log r = 0.3."""
    q = in_double(dequantizers.build(spec, SPHERE, key=jax.random.key(0)))
    bias = jnp.array([0.3, float(np.log(np.expm1(0.1)))])
    q = jax.tree.map(lambda a: 0 * a if eqx.is_inexact_array(a) else a, q)
    q = eqx.tree_at(lambda q: q.net.layers[-1].bias, q, bias)
    y, u = jnp.array([0.0, 0.0, 1.0]), jnp.linspace(-reach, reach, 40_001)

    def log_square(u):
        z = jnp.exp(u)[None]
        joint = log_joint(SPHERE, lambda x: norm.logpdf(x).sum(), y, z)
        return 2 * joint - q.log_prob(y, z) + u

    return float(jnp.exp(jax.vmap(log_square)(u)).sum() * (u[1] - u[0]))


def test_heavy_tails_keep_the_weights_variance_finite():
    """As the window of radii widens, E w² converges for heavy tails and grows for log-normal."""
    with jax.enable_x64(True):
        converged = second_moment(HeavyTailed(4), 8.0)
        assert second_moment(HeavyTailed(4), 25.0) == pytest.approx(converged, rel=1e-3)
        assert second_moment(Normal(4), 2.0) > 10 * second_moment(Normal(4), 1.5)


def test_heavy_tailed_radii_never_overflow_float32():
    q = dequantizers.build(HeavyTailed(4), SPHERE, key=jax.random.key(0))
    tiny = jnp.finfo(jnp.float32).epsneg
    v = jnp.array([[tiny], [1 - tiny]])
    r = jax.vmap(lambda v: q.transform(jnp.array([0.0, 0.0, 1.0]), v))(v)
    assert float(r.max()) < 1e12
    assert float(r.min()) > 1e-12


def test_families_refuse_other_sets():
    for spec, g in ((Gamma(), CELLS), (Beta(), SPHERE), (Uniform(), MIXED)):
        with pytest.raises(ValueError, match="Use HeavyTailed"):
            dequantizers.build(spec, g, key=jax.random.key(0))


def test_nothing_to_dequantize():
    q = dequantizers.build(HeavyTailed(), Euclidean(2).dequantization(), key=jax.random.key(0))
    assert q.transform(jnp.zeros(2), jnp.zeros(0)).shape == (0,)
    assert float(q.log_prob(jnp.zeros(2), jnp.zeros(0))) == 0


def test_specs_are_plain_data():
    for spec, _ in CASES:
        assert all(isinstance(v, int | float) for v in dataclasses.asdict(spec).values())
