import math

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from foliax.manifolds import Hyperspherical, Sphere

from .contract import Case, suite


def uniform(d):
    return lambda y: -Sphere(d).log_total_volume()


def projected_normal(y):
    """Density on S² of x/‖x‖, x ~ N((1, 1, 1)/2, Id): ∫ r² exp(−½‖r y − μ‖²) dr / (2π)^{3/2}."""
    mu = np.full(3, 0.5)
    a, y = float(np.asarray(y) @ mu), np.asarray(y)
    radial = a * norm.pdf(a) + (1 + a * a) * norm.cdf(a)
    return math.log(radial / (2 * math.pi)) - 0.5 * (mu @ mu - a * a)


def tilted(d):
    return [*np.eye(d + 1)[0]]


CASES = [
    Case(
        f"S^{d}",
        Hyperspherical(Sphere(d)),
        invalid=(([2.0] + [0.0] * d, "norm is 2"), ([0.0] * (d + 1), "norm is 0")),
        awkward=((tilted(d), [1e-6]), (tilted(d), [1e6]), (tilted(d)[::-1], [1.0])),
        known=uniform(d),
    )
    for d in (1, 2, 9)
] + [Case("S² projected normal", Hyperspherical(Sphere(2)), known=projected_normal, loc=0.5)]

test_contract = suite(CASES)


def test_tiny_and_huge_vectors_quantize_in_float32():
    g = Hyperspherical(Sphere(2))
    for r in (1e-30, 1e30):
        y, z = g.quantize(jnp.array([0.6, 0.0, 0.8]) * r)
        np.testing.assert_allclose(y, [0.6, 0.0, 0.8], rtol=1e-6)
        np.testing.assert_allclose(z, r, rtol=1e-6)


def test_distance_is_exact_near_and_opposite():
    with jax.enable_x64(True):
        north = jnp.array([0.0, 0.0, 1.0])
        for angle in (1e-9, 1.0, math.pi - 1e-9):
            other = jnp.array([math.sin(angle), 0.0, math.cos(angle)])
            np.testing.assert_allclose(Sphere(2).distance(north, other), angle, rtol=1e-7)
