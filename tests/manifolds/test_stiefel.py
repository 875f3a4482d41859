import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.manifolds import QR, Polar, Stiefel
from foliax.manifolds.stiefel import log_pairwise_sums, lower_triangle

from .contract import Case, suite


def frame(n, p):
    return list(np.linalg.qr(np.random.default_rng(n * p).normal(size=(n, p)))[0].reshape(-1))


def identity(p):
    return list(np.eye(p)[np.tril_indices(p)])


def near_singular(p):
    factor = np.tril(np.full((p, p), 0.3)) + np.diag(np.geomspace(1, 1e-3, p))
    return list(factor[np.tril_indices(p)])


def case(way, n, p):
    scaled = [1e6 * v for v in identity(p)]
    small = [1e-4 * v for v in identity(p)]
    return Case(
        f"St({n},{p}) {way.__name__}",
        way(Stiefel(n, p)),
        invalid=(
            ([2 * v for v in frame(n, p)], "squared norm 4"),
            ([0.0] * (n * p), "squared norm 0"),
        ),
        awkward=tuple((frame(n, p), z) for z in (identity(p), near_singular(p), scaled, small)),
        known=lambda y: -Stiefel(n, p).log_total_volume(),
        # Eigenvalues at a distance of 1e-3 cost the polar x, a product of three factors, digits.
        tol32=1e-3,
    )


CASES = [case(way, n, p) for way in (Polar, QR) for n, p in ((3, 3), (4, 2), (5, 3))]

test_contract = suite(CASES)


@pytest.mark.parametrize(("n", "p", "value"), [(3, 3, -6.1018), (3, 2, -4.7155), (4, 3, -8.3912)])
def test_volume(n, p, value):
    assert -Stiefel(n, p).log_total_volume() == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
def test_pairwise_sums_against_eigenvalues(p):
    with jax.enable_x64(True):
        rng = np.random.default_rng(p)
        factor = np.tril(rng.normal(size=(p, p))) + 2 * np.eye(p)
        sigma = np.linalg.eigvalsh(factor @ factor.T)
        want = sum(np.log(sigma[i] + sigma[j]) for i in range(p) for j in range(i))
        assert float(log_pairwise_sums(jnp.asarray(factor))) == pytest.approx(want, abs=1e-11)


@pytest.mark.parametrize(
    "p", [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_gradient_of_the_polar_volume_at_the_identity(p):
    def volume(z):
        return Polar(Stiefel(p, p)).preimages(jnp.eye(p, dtype=z.dtype).reshape(-1), z)[1][0]

    z = np.array(identity(p))
    with jax.enable_x64(True):
        want = jax.grad(volume)(jnp.asarray(z))
    got = jax.grad(volume)(jnp.asarray(z, "float32"))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_a_frame_needs_room():
    with pytest.raises(ValueError, match="n >= p"):
        Stiefel(2, 3)


def test_lower_triangle_is_row_by_row():
    np.testing.assert_array_equal(lower_triangle(jnp.arange(3.0), 2), [[0, 0], [1, 2]])
