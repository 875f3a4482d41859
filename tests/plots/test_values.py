"""The numbers behind the pictures: masses, scales, ranges."""

import numpy as np
import pytest
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from foliax import plots
from foliax.manifolds import Naturals, Rounded, Torus
from foliax.paper import targets
from foliax.plots.axes import Axis, angle_axis
from foliax.plots.circle import density_curve
from foliax.plots.fields import SphereField, smooth_directions
from foliax.plots.frames import label_axes
from foliax.plots.numbers import make_cells, probabilities
from foliax.plots.ranges import Range, inner_range, shortest_arc
from foliax.plots.style import colour_scale, values_for
from foliax.plots.ticks import make_ticks
from foliax.plots.torus import torus_grid

from .common import KEY, Blob, places, rows_of


def scene_of(density, rows=None, **words):
    found = label_axes(density.manifold, words.get("labels"), words.get("units"))
    return plots.Scene(density, rows, *found, KEY, Figure())


def test_sphere_grid_integrates_to_one():
    scene = scene_of(targets.sphere_s2())
    field = SphereField.from_function(scene.log_multiples, 3200)
    assert field.weights.sum() == pytest.approx(1)
    assert (np.exp(field.logs) * field.weights).sum() == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("units", ["degrees", "radians", "hours"])
def test_torus_grid_integrates_to_one(units):
    _, logs = torus_grid(scene_of(targets.torus_multimodal(), units=[units] * 2), 24)
    assert np.exp(logs).mean() == pytest.approx(1, abs=1e-4)


def test_torus_grid_has_the_first_angle_along_columns():
    density = targets.TorusModes(Torus(2), ((1.0, -2.0),))
    (first, second), logs = torus_grid(scene_of(density), 60)
    row, column = np.unravel_index(logs.argmax(), logs.shape)
    assert first[column] == pytest.approx(1.0, abs=0.06)
    assert second[row] == pytest.approx(-2.0, abs=0.06)


def test_circle_integrates_to_one():
    density = targets.TorusModes(Torus(1), ((1.0,),))
    _, values = density_curve(scene_of(density))
    assert values[:-1].mean() == pytest.approx(1, abs=1e-4)


def test_field_interpolates_across_the_date_line_and_the_poles():
    pole = places((88, 20))[0]
    field = SphereField.from_function(lambda points: 5 * points @ pole, 5000)
    at = places((90, 0), (89.9, -179.99), (89, 179.99), (0, -180), (0, 179.9), (-90, 5))
    np.testing.assert_allclose(field.at(at), 5 * at @ pole, atol=0.02)


def test_smoothing_keeps_the_mass_and_the_place():
    target = targets.sphere_s2()
    rows = rows_of(target, 2000)
    field = smooth_directions(rows, 1800)
    assert (np.exp(field.logs) * field.weights).sum() == pytest.approx(1, abs=5e-3)
    exact = SphereField.from_function(scene_of(target).log_multiples, 1800)
    gap = np.abs(np.exp(field.logs) - np.exp(exact.logs))
    assert (gap * field.weights).sum() < 0.2


def test_clustered_densities_get_a_logarithmic_scale():
    logs = np.linspace(-30, 12, 400)
    scale = colour_scale(logs, np.exp(-logs))
    assert isinstance(scale.norm, LogNorm)
    assert scale.extend == "both"
    assert scale.high / scale.low <= 1.0001e4


def test_even_densities_start_at_zero():
    scale = colour_scale(np.log(np.linspace(0.5, 2, 100)), np.ones(100))
    assert (scale.low, scale.high, scale.extend) == (0, 2, "neither")


def test_zeros_have_a_colour():
    logs = np.append(np.linspace(-2, 9, 99), -np.inf)
    scale = colour_scale(logs, np.ones(100))
    assert np.isfinite(values_for(scale, logs)).all()
    nothing = colour_scale(np.full(4, -np.inf), np.ones(4))
    assert nothing.high > nothing.low


def test_far_values_do_not_squeeze_the_axis():
    values = np.append(np.random.default_rng(0).normal(size=2000), 1e6)
    assert inner_range(Axis("x"), values, values).high < 10
    assert inner_range(Axis("x", positive=True), np.exp(3 * values[:-1]), None).is_logarithmic


def test_a_constant_column_has_an_axis():
    span = inner_range(Axis("x"), np.full(9, 3.0), np.full(9, 3.0))
    assert span.low < 3 < span.high


HOURS, LONGITUDES = angle_axis("hour", plots.TURNS["hours"]), angle_axis("lon")


def test_angles_in_a_part_of_a_turn_have_an_arc():
    values = np.array([23.0, 23.5, 0.5, 1.0, 22.0])
    span = inner_range(HOURS, values, values)
    assert 21.5 < span.low < 22
    assert 25 < span.high < 25.5
    np.testing.assert_allclose(span.wrap(values), [23, 23.5, 24.5, 25, 22])
    assert make_ticks(HOURS, span, 4).labels == ["22", "23", "24", "1"]


def test_angles_in_most_of_a_turn_have_all_of_it():
    values = np.linspace(2, 20, 30)
    span = inner_range(HOURS, values, None)
    assert (span.low, span.high) == (0, 24)


def test_few_far_angles_do_not_widen_the_arc():
    near = np.random.default_rng(0).normal(50, 3, 2000)
    assert shortest_arc(np.append(near, [-120.0, 170.0]), 360.0)[1] < 30


def test_the_arc_holds_samples_and_data():
    span = inner_range(LONGITUDES, np.array([170.0, 179.0]), np.array([-179.0, -150.0]))
    assert 165 < span.low < 170
    assert 210 < span.high < 215
    assert make_ticks(LONGITUDES, span, 5).labels == ["170", "180", "−170", "−160", "−150"]


def test_radians_are_shares_of_pi():
    whole = angle_axis("φ", plots.TURNS["radians"])
    span = inner_range(whole, np.linspace(-3, 3, 9), None)
    assert make_ticks(whole, span, 4).labels == ["−π", "−π/2", "0", "π/2", "π"]


@pytest.mark.parametrize("spread", [0.4, 3.0])
def test_groups_of_counts_hold_all_values(spread):
    density = Blob(Naturals(1), spread)
    scene = scene_of(density)
    axis = scene.axes[0]
    cells = make_cells(axis, inner_range(axis, scene.samples(2000)[:, 0], None))
    assert len(cells.first) <= 60
    assert cells.first[0] == 0
    assert (probabilities(scene, cells) >= 0).all()


def test_rounded_values_are_in_the_middle_of_their_cells():
    axis = scene_of(Blob(Rounded(0.1, offset=0.05))).axes[0]
    cells = make_cells(axis, Range(0.14, 0.46))
    np.testing.assert_allclose(cells.first, [0.15, 0.25, 0.35, 0.45])


def test_expensive_densities_get_coarser_grids():
    class Slow(Blob):
        @property
        def work(self):
            return 2000

    assert scene_of(Slow(Torus(2))).grid_size() == 2000
    assert scene_of(Blob(Torus(2))).grid_size() == 40_000
