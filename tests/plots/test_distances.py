"""The view `distances`: exact distributions of uniform points, its labels and its manifolds."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from foliax import plots
from foliax.manifolds import Euclidean, Naturals, Product, ProjectiveSpace, Sphere, Stiefel, Torus
from foliax.paper import targets
from foliax.plots.distances import MAX_PAIRS, UNIFORM_PAIRS, row_distances, uniform_distances

from .common import KEY, Blob, rows_of, texts

pytestmark = pytest.mark.usefixtures("coarse")


def scene_of(manifold, rows=None):
    frame = plots.frame(manifold)
    return plots.Scene(Blob(manifold), rows, frame, frame.axes, KEY, Figure())


@pytest.mark.parametrize(
    ("manifold", "cdf"),
    [
        (Sphere(2), lambda d: (1 - np.cos(d)) / 2),
        (Torus(1), lambda d: d / np.pi),
        # The nearer of two ends: the angle is at most 90°.
        (ProjectiveSpace(2), lambda d: 1 - np.cos(d)),
    ],
    ids=["S²", "circle", "axes"],
)
def test_uniform_points_have_the_known_distances(manifold, cdf):
    found = np.sort(uniform_distances(scene_of(manifold)))
    assert len(found) == UNIFORM_PAIRS
    gap = np.abs(cdf(found) - np.arange(1, UNIFORM_PAIRS + 1) / UNIFORM_PAIRS).max()
    # Kolmogorov's bound, which 1 in 1,000 seeds exceeds.
    assert gap < 1.95 / np.sqrt(UNIFORM_PAIRS)


def test_few_rows_have_all_pairs_and_many_rows_some():
    angles = np.array([[0.0], [1.0], [-3.0]])
    found = row_distances(scene_of(Torus(1), angles))
    np.testing.assert_allclose(np.sort(found), [1, 2 * np.pi - 4, 3], rtol=1e-5)
    many = np.linspace(-3, 3, 500)[:, None]
    found = row_distances(scene_of(Torus(1), many))
    assert len(found) == MAX_PAIRS
    assert found.min() > 0.01
    assert len(row_distances(scene_of(Torus(1), many[:1]))) == 0


@pytest.mark.parametrize("data", [True, False])
@pytest.mark.parametrize(
    "manifold", [Sphere(2), Sphere(5), Stiefel(3, 2), Product(Torus(1), Sphere(2))], ids=str
)
def test_the_view_is_drawn(manifold, data, tmp_path):
    density = Blob(manifold)
    rows = rows_of(density) if data else None
    figure = plots.draw(density, rows, view="distances", key=KEY)
    plots.save(figure, tmp_path / "picture.png", dpi=30)
    written = texts(figure)
    assert "distance between two points (metric of the manifold)" in written
    assert {"samples of the model", "uniform"} <= set(written)
    assert ("data (n = 40)" in written) == data


def test_histograms_are_normalised():
    density = targets.sphere_s2()
    ax = plots.draw(density, rows_of(density), view="distances", key=KEY).axes[0]
    assert len(ax.patches) == 3
    for steps in ax.patches:
        values, edges, _ = steps.get_data()
        assert values @ np.diff(edges) == pytest.approx(1)


def test_only_finite_volumes_have_it_and_it_is_never_the_default():
    for manifold in (Euclidean(1), Naturals(2), Product(Sphere(2), Euclidean(1))):
        assert "distances" not in plots.views(manifold)
    for manifold in (Sphere(2), Stiefel(3, 2), ProjectiveSpace(2)):
        assert list(plots.views(manifold))[-1] == "distances"
