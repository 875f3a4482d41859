"""Angles from sines and cosines, beside NumPy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.manifolds.angles import acute_angle

SMALL = 10.0 ** np.arange(-30, 0)
ANGLES = np.concatenate([[0.0], SMALL, np.linspace(0, np.pi / 2, 10_001), np.pi / 2 - SMALL])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 3e-7), (np.float64, 5e-16)])
@pytest.mark.parametrize("norm", [1.0, 1e-6, 1e6])
def test_angles_agree_with_numpy(dtype, tolerance, norm):
    with jax.enable_x64(True):
        sines, cosines = (norm * f(ANGLES).astype(dtype) for f in (np.sin, np.cos))
        sines, cosines = sines.astype(dtype), np.abs(cosines).astype(dtype)
        found = np.asarray(jax.jit(acute_angle)(jnp.asarray(sines), jnp.asarray(cosines)))
    assert found.dtype == dtype
    expected = np.arctan2(sines.astype(float), cosines.astype(float))
    np.testing.assert_allclose(found, expected, rtol=tolerance)


@pytest.mark.parametrize("angle", [0.0, 0.1, np.pi / 8, np.pi / 4, 1.5, np.pi / 2])
def test_gradients_agree_with_those_of_arctan2(angle):
    with jax.enable_x64(True):
        at = jnp.sin(angle) * 2, jnp.abs(jnp.cos(angle)) * 2
        found = jax.hessian(acute_angle, (0, 1))(*at)
        expected = jax.hessian(jnp.arctan2, (0, 1))(*at)
    np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-14)


def test_not_a_number_stays_so():
    assert np.isnan(acute_angle(jnp.array(np.nan), jnp.ones(())))
    assert np.isnan(acute_angle(jnp.zeros(()), jnp.zeros(())))
