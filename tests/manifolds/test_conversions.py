import numpy as np
import pytest

from foliax.manifolds import SpecialOrthogonal, Sphere, check_points
from foliax.manifolds import conversions as c


def test_latlon_round_trip_past_180_and_at_the_poles():
    lat, lon = np.array([-20.4, 0.0, 90.0, -90.0]), np.array([181.6, -180.0, 0.0, 0.0])
    y = c.vectors_from_latlon(lat, lon, degrees=True)
    check_points(Sphere(2), y)
    back_lat, back_lon = c.latlon_from_vectors(y, degrees=True)
    np.testing.assert_allclose(back_lat, lat, atol=1e-12)
    np.testing.assert_allclose(back_lon[:2], [-178.4, -180.0], atol=1e-12)
    radians = c.vectors_from_latlon(np.deg2rad(lat), np.deg2rad(lon), degrees=False)
    np.testing.assert_allclose(radians, y, atol=1e-15)


def test_swapped_latitudes_are_named():
    with pytest.raises(ValueError, match=r"Row 1: latitude is 181.6, outside \[-90, 90\]"):
        c.vectors_from_latlon(np.array([0.0, 181.6]), np.array([0.0, -20.0]), degrees=True)


@pytest.mark.parametrize("period", [360.0, 24.0, 365.25, 2 * np.pi])
def test_periods(period):
    values = np.linspace(0, period, 50, endpoint=False)
    angles = c.angles_from_period(values, period)
    assert angles.min() >= -np.pi
    assert angles.max() < np.pi
    np.testing.assert_allclose(c.period_from_angles(angles, period), values, atol=1e-9)
    np.testing.assert_allclose(c.angles_from_period(values + 3 * period, period), angles, atol=1e-9)


def test_every_way_to_say_one_rotation():
    euler = np.array([[35.0, 45.0, 0.0], [210.0, 100.0, 300.0]])
    rotations = c.rotations_from_euler(euler, convention=c.BUNGE, degrees=True)
    check_points(SpecialOrthogonal(3), rotations)
    for order in ("wxyz", "xyzw"):
        q = c.quaternions_from_rotations(rotations, order=order)
        np.testing.assert_allclose(c.rotations_from_quaternions(q, order=order), rotations)
    np.testing.assert_allclose(
        c.quaternions_from_rotations(rotations, order="wxyz"),
        c.quaternions_from_rotations(rotations, order="xyzw")[:, [3, 0, 1, 2]],
    )
    vectors = c.vectors_from_rotations(rotations)
    np.testing.assert_allclose(c.rotations_from_vectors(vectors), rotations, atol=1e-12)
    back = c.euler_from_rotations(rotations, convention=c.BUNGE, degrees=True)
    np.testing.assert_allclose(np.mod(back, 360), euler, atol=1e-9)


def test_bunge_is_the_textbook_matrix():
    """Bunge's g takes sample to crystal coordinates; ours, active, is its transpose."""
    p1, P, p2 = np.deg2rad([30.0, 50.0, 70.0])
    c1, s1, cP, sP, c2, s2 = (f(v) for v in (p1, P, p2) for f in (np.cos, np.sin))
    g = np.array(
        [
            [c1 * c2 - s1 * s2 * cP, s1 * c2 + c1 * s2 * cP, s2 * sP],
            [-c1 * s2 - s1 * c2 * cP, -s1 * s2 + c1 * c2 * cP, c2 * sP],
            [s1 * sP, -c1 * sP, cP],
        ]
    )
    ours = c.rotations_from_euler(np.array([[30.0, 50, 70]]), convention="ZXZ", degrees=True)
    np.testing.assert_allclose(ours.reshape(3, 3), g.T, atol=1e-12)


def test_a_quaternion_order_is_never_guessed():
    with pytest.raises(ValueError, match="'wxyz'"):
        c.rotations_from_quaternions(np.eye(4), order="scalar")
