"""Large offsets and narrow regions: densities whose digits float32 would lose."""

from unittest import mock

import jax
import numpy as np
import pandas as pd
import pytest

import foliax
from foliax.density import Dataset
from foliax.density.localized import LocalizedDensity
from foliax.estimators import (
    DirectionalMixture,
    FitResult,
    LocalKernel,
    ScaleMixtureKernel,
    UnsupportedManifoldError,
)
from foliax.evaluation import metrics
from foliax.evaluation.mass import (
    UnmeasuredMassError,
    check_total_mass,
    describe_mass,
    mass_is_measured,
    mass_is_off,
    total_mass_of_fit,
)
from foliax.flows import GaussianMixture, RealNVP
from foliax.io import dumps, loads
from foliax.manifolds.resolution import ResolutionError
from foliax.training import Record

from ..cli.running import run, run_json

KEY = jax.random.key(0)
N = 300
QUICK = foliax.Training(steps=60, batch_size=64, eval_every=30)
FLOWS = {
    1: foliax.DequantizedFlow(GaussianMixture(4), training=QUICK),
    2: foliax.DequantizedFlow(RealNVP(2, 8), training=QUICK),
}


TWICE = metrics.Estimate(2.0, 0.01)


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


LINES = {
    "positive 101325 ± 3": (foliax.PositiveReals(1), 101325.0, 3.0),
    "northing 5.4e6 ± 20": (foliax.Euclidean(1), 5.4e6, 20.0),
    "Julian day 2.46e6 ± 10": (foliax.Euclidean(1), 2.46e6, 10.0),
    "real 1e7 ± 1": (foliax.Euclidean(1), 1e7, 1.0),
    "interval": (foliax.Interval(0.0, 1e9), 5e8, 1.0),
}


KERNELS = [(name, kernel) for name in LINES for kernel in (ScaleMixtureKernel(), LocalKernel())]
# A flow of each chart: the other lines have the same.
PAIRS = [*KERNELS, *((name, FLOWS[1]) for name in ("real 1e7 ± 1", "interval"))]


@pytest.mark.parametrize(("name", "spec"), PAIRS)
def test_mass_is_one_and_samples_differ(name, spec):
    manifold, centre, spread = LINES[name]
    rows = centre + spread * normal(N, 1)
    density = spec.fit(Dataset(rows, manifold), key=KEY).density
    grid = np.linspace(centre - 15 * spread, centre + 15 * spread, 6001)
    mass = np.trapezoid(np.exp(foliax.evaluate(density, grid[:, None]).value), grid)
    # On the interval, the uniform component of a kernel has its mass outside the grid.
    assert abs(mass - 1 + density.uniform_weight) < 0.005
    drawn = density.sample(500, key=KEY)
    assert len(np.unique(drawn)) > 490  # two of 500 floats may be equal by chance
    assert drawn.dtype == np.float64
    # The median of 500 draws of rows of this spread, and the fit's own error.
    error = np.sqrt(np.pi / 2) * (1 / np.sqrt(500) + 1 / np.sqrt(N))
    assert abs(np.median(drawn) - centre) < 4 * spread * error
    # Sixty steps leave a flow short of the truth; a lost offset would cost many nats.
    entropy = np.log(spread) + 0.5 * np.log(2 * np.pi * np.e)
    assert abs(foliax.evaluate(density, rows).value.mean() + entropy) < 1


def valley(width):
    points = np.array([0.6, 0.0, 0.8]) + width * normal(N, 3)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("spec", [ScaleMixtureKernel(), FLOWS[2]], ids=type)
def test_a_valley_of_100_metres_on_the_earth(spec):
    width = 50 / 6_371_000
    rows = valley(width)
    density = spec.fit(Dataset(rows, foliax.Sphere(2)), key=KEY).density
    assert isinstance(density, LocalizedDensity)
    # A grid in the tangent plane, whose area is that of the sphere to 1e-10.
    side = np.linspace(-10 * width, 10 * width, 161)
    plane = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    points = density.coordinates.centre + plane @ density.coordinates.basis.T
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    values = np.exp(foliax.evaluate(density, points).value)
    mass = values.sum() * (side[1] - side[0]) ** 2
    # The uniform component of a kernel has its mass elsewhere on the sphere.
    assert abs(mass - 1 + density.uniform_weight) < 0.01
    drawn = density.sample(300, key=KEY)
    apart = np.linalg.norm(drawn - np.median(drawn, axis=0), axis=1)
    assert 0.5 * width < np.median(apart) < 3 * width


@pytest.mark.slow
def test_large_counts_and_far_cells():
    counts = 1e6 + np.round(30 * normal(N, 1))
    for manifold, rows in [
        (foliax.Naturals(1), counts),
        (foliax.Integers(1), counts - 3e6),
        (foliax.Rounded(0.5, offset=1e6), 1e6 + 0.5 * np.round(30 * normal(N, 1))),
    ]:
        density = ScaleMixtureKernel().fit(Dataset(rows, manifold), key=KEY).density
        step = getattr(manifold, "step", 1.0)
        low, high = rows.min() - 40 * rows.std(), rows.max() + 40 * rows.std()
        cells = rows[0] + step * np.arange(np.floor(low - rows[0, 0]), high - rows[0, 0])
        cells = cells[(cells > low) & (cells < high)][:, None]
        mass = np.exp(foliax.evaluate(density, cells).value).sum()
        assert abs(mass - 1) < 1e-3
        assert not np.any(density.sample(50, key=KEY) % step)


@pytest.mark.slow
def test_poisson_counts_of_a_million():
    counts = np.random.default_rng(0).poisson(1e6, (N, 1)).astype(float)
    density = ScaleMixtureKernel().fit(Dataset(counts, foliax.Naturals(1)), key=KEY).density
    found = total_mass_of_fit(density, counts, key=KEY)
    assert found is not None
    assert found.error < 0.02
    assert abs(found.value - 1) < 4 * found.error
    # The entropy of a Poisson law, and the kernels' bias and the rows' own error.
    truth = -0.5 * np.log(2 * np.pi * np.e * 1e6)
    assert abs(foliax.evaluate(density, counts).value.mean() - truth) < 0.2


def test_a_mixed_table_and_its_model_file():
    manifold = foliax.Product(foliax.Sphere(2), foliax.PositiveReals(1))
    rows = np.concatenate([valley(0.5), 101325 + 3 * normal(N, 1)], axis=1)
    fitted = ScaleMixtureKernel().fit(Dataset(rows, manifold), key=KEY)
    loaded = loads(dumps(fitted.density)).density
    np.testing.assert_array_equal(
        foliax.evaluate(loaded, rows).value, foliax.evaluate(fitted.density, rows).value
    )
    found = total_mass_of_fit(fitted.density, rows, key=KEY)
    assert found is not None
    assert abs(found.value - 1) < 4 * found.error
    assert found.error < 0.03


def test_the_check_sees_a_density_of_another_mass():
    rows = normal(N, 1)
    density = ScaleMixtureKernel().fit(Dataset(rows, foliax.Euclidean(1)), key=KEY).density
    wrong = foliax.density.Stacked((density,), jax.numpy.log(jax.numpy.array([1.2])))
    found = total_mass_of_fit(wrong, rows, key=KEY)
    assert found is not None
    assert abs(found.value - 1.2) < 4 * found.error
    assert mass_is_off(Record(0, mass=tuple(found)))
    assert not mass_is_off(Record(0, mass=(1.01, 0.01)))
    assert mass_is_off(Record(0, mass=(float("nan"), 0.01)))


def density_of_rows():
    return ScaleMixtureKernel().fit(Dataset(normal(N, 1), foliax.Euclidean(1)), key=KEY).density


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (metrics.NoOverlapError("No bridge."), "No bridge. Compare samples of the model"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_a_mass_that_cannot_be_measured_does_not_lose_the_fit(monkeypatch, error, event):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("foliax.evaluation.mass.sample_bridge", fail)
    record = Record(0)
    check_total_mass(density_of_rows(), normal(N, 1), record, key=KEY)
    assert f"could not be measured. {event}" in record.events[0]
    assert record.mass is None
    assert not mass_is_measured(record)


def test_a_mass_of_large_error_is_not_measured(monkeypatch):
    monkeypatch.setattr(
        "foliax.evaluation.mass.total_mass_of_fit", lambda *_, **__: metrics.Estimate(1.74, 0.53)
    )
    record = Record(0)
    check_total_mass(density_of_rows(), normal(N, 1), record, key=KEY)
    assert not mass_is_off(record)
    assert not mass_is_measured(record)
    assert "could not be measured: 1.740 ± 0.530" in record.events[0]
    assert "does not tell whether it is 1" in describe_mass(record)


def test_a_mass_that_would_take_long_is_an_event(monkeypatch):
    monkeypatch.setattr("foliax.evaluation.mass.MAX_WORK", 100)
    record = Record(0)
    check_total_mass(density_of_rows(), normal(N, 1), record, key=KEY)
    assert "was not measured: it would take 3,600" in record.events[0]
    assert "at most 100. In Python" in record.events[0]


def test_a_mass_without_kernels_to_compare_with_is_an_event(monkeypatch):
    def refuse(*_, **__):
        raise UnsupportedManifoldError("No family.")

    monkeypatch.setattr("foliax.evaluation.mass.reference_kernels", refuse)
    record = Record(0)
    check_total_mass(density_of_rows(), normal(N, 1), record, key=KEY)
    assert "compared with kernels, and none serve Euclidean(). In Python" in record.events[0]
    with pytest.raises(UnmeasuredMassError, match="at least 2 rows"):
        total_mass_of_fit(density_of_rows(), normal(1, 1), key=KEY)


def test_the_mass_of_clusters_and_outliers_is_measured():
    """The reference has bandwidths as narrow as one cluster, and as broad as all of them."""
    n = 600
    rng = np.random.default_rng(0)
    sites = np.array([[0.48, 0.6, 0.64], [-0.64, 0.48, 0.6]])[rng.integers(0, 2, n)]
    sites = sites + 1e-4 * rng.normal(size=(n, 3))
    line = foliax.Euclidean(1)
    outlier = rng.normal(size=(n, 1))
    outlier[0] = 1e9
    cases = [
        (foliax.Sphere(2), sites / np.linalg.norm(sites, axis=1, keepdims=True)),
        (line, rng.normal(size=(n, 1)) + 1e4 * rng.integers(0, 2, (n, 1))),
        (foliax.Product(line, line), np.concatenate([outlier, rng.normal(size=(n, 1))], axis=1)),
    ]
    for manifold, rows in cases:
        density = ScaleMixtureKernel().fit(Dataset(rows, manifold), key=KEY).density
        found = total_mass_of_fit(density, rows, key=KEY)
        assert found.error < 0.015, manifold
        assert abs(found.value - 1) < 4 * found.error
        assert found == total_mass_of_fit(density, rows, key=KEY)
        wrong = foliax.density.Stacked((density,), jax.numpy.log(jax.numpy.array([1.2])))
        wrong_mass = total_mass_of_fit(wrong, rows, key=KEY)
        assert abs(wrong_mass.value - 1.2) < 5 * wrong_mass.error < 0.1


def test_groups_that_cannot_be_told_apart_are_refused():
    rows = np.concatenate([normal(N, 1), 1e9 + normal(N, 1)])
    with pytest.raises(ResolutionError, match="single precision resolves") as caught:
        ScaleMixtureKernel().fit(Dataset(rows, foliax.Euclidean(1)), key=KEY)
    assert caught.value.coordinate == 0


def test_a_spec_that_cannot_serve_the_local_coordinates_says_so():
    with pytest.raises(UnsupportedManifoldError) as caught:
        DirectionalMixture().fit(Dataset(valley(1e-5), foliax.Sphere(2)), key=KEY)
    assert str(caught.value).startswith("The rows of Sphere(d=2) are too close together for")
    # Rows of a manifold that it never serves are not said to be too close together.
    for manifold, rows in (
        (foliax.Euclidean(1), 1e6 + normal(N, 1)),
        (foliax.ProjectiveSpace(2), valley(1e-5)),
    ):
        with pytest.raises(UnsupportedManifoldError) as caught:
            DirectionalMixture().fit(Dataset(rows, manifold), key=KEY)
        refusal = (
            f"DirectionalMixture does not serve {manifold}: it is for spheres, tori and SO(3)."
        )
        assert str(caught.value).startswith(refusal)
        assert "\n" not in str(caught.value)


def test_axes_of_either_sign_are_fitted_however_close_they_are():
    rows = valley(1e-8) * np.random.default_rng(0).choice([-1.0, 1.0], (len(valley(1e-8)), 1))
    density = ScaleMixtureKernel().fit(Dataset(rows, foliax.ProjectiveSpace(2)), key=KEY).density
    np.testing.assert_allclose(density.evaluate(-rows).value, density.evaluate(rows).value)
    on_sphere = ScaleMixtureKernel().fit(Dataset(valley(1e-8), foliax.Sphere(2)), key=KEY).density
    expected = on_sphere.evaluate(valley(1e-8)).value
    np.testing.assert_allclose(density.evaluate(rows).value, expected, atol=0.02)
    drawn = density.sample(300, key=KEY)
    assert (drawn[:, -1] >= 0).all(), "the representative"
    again = loads(dumps(density)).density
    np.testing.assert_array_equal(again.evaluate(rows).value, density.evaluate(rows).value)


def test_the_command_line(tmp_path, monkeypatch):
    path = tmp_path / "p.csv"
    table = pd.DataFrame({"x": normal(N), "p": 101325 + 3 * normal(N)})
    table.to_csv(path, index=False)
    found = run_json("fit", path, "-s", "real(x); positive(p)", "-m", "kernel", "--strict")
    assert abs(found["total mass"][0] - 1) < 4 * found["total mass"][1]
    assert f"total mass: {found['total mass'][0]:.4f}" in run("info", tmp_path / "p.foliax").output
    assert run_json("info", tmp_path / "p.foliax")["total mass"] == found["total mass"]
    drawn = run_json("sample", tmp_path / "p.foliax", "-n", 200)["rows"]
    assert len({row["p"] for row in drawn}) == 200
    monkeypatch.setattr(
        "foliax.evaluation.mass.total_mass_of_fit", lambda *_, **__: metrics.Estimate(2.0, 0.01)
    )
    off = run("fit", path, "-s", "real(x)", "-m", "kernel", "--strict", code=1)
    assert "total mass is 2.000" in off.output
    for estimate, expected in (
        (metrics.Estimate(1.45, 0.39), "1.4500 ± 0.3900, which does not tell whether it is 1"),
        (UnmeasuredMassError("No."), "--strict: The total mass is not known."),
    ):
        measure = mock.Mock(side_effect=[estimate] * 2)
        monkeypatch.setattr("foliax.evaluation.mass.total_mass_of_fit", measure)
        unknown = run("fit", path, "-s", "real(x)", "-m", "kernel", "--strict", code=1)
        assert expected in " ".join(unknown.output.split())
        run("fit", path, "-s", "real(x)", "-m", "kernel")


def test_a_column_that_cannot_be_represented_is_named(tmp_path):
    path = tmp_path / "p.csv"
    groups = np.concatenate([normal(N), 1e9 + normal(N)])
    pd.DataFrame({"x": normal(2 * N), "p": groups}).to_csv(path, index=False)
    result = run("fit", path, "-s", "real(x); real(p)", "-m", "kernel", code=2)
    assert "Column p: single precision resolves" in result.output
    assert not list(tmp_path.glob("*.foliax"))


def test_the_estimator_warns_where_the_mass_is_off(monkeypatch):
    monkeypatch.setattr(
        "foliax.evaluation.mass.total_mass_of_fit", lambda *_, **__: metrics.Estimate(2.0, 0.01)
    )
    with pytest.warns(UserWarning, match="total mass is 2.000"):
        foliax.DensityEstimator(model="kernel").fit(normal(50, 1))


def test_validation_rows_are_in_the_same_coordinates():
    rows = 1e7 + normal(N, 1)
    fitted = FLOWS[1].fit(
        Dataset(rows, foliax.Euclidean(1)),
        key=KEY,
        validation=Dataset(1e7 + normal(50, 1), foliax.Euclidean(1)),
    )
    assert isinstance(fitted, FitResult)
    assert abs(fitted.record.best_validation - 1.42) < 0.3


@pytest.mark.parametrize("spec", [ScaleMixtureKernel(), LocalKernel()])
def test_one_wild_value_does_not_widen_the_kernels_of_all_rows(spec):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(301, 2))
    fresh = rng.normal(size=(1000, 2))
    plane = foliax.Product(foliax.Euclidean(1), foliax.Euclidean(1))

    def score(data):
        return np.asarray(spec.fit(Dataset(data, plane), key=KEY).density.log_prob(fresh).value)

    clean = score(rows[1:])
    wild = score(np.concatenate([[[1e9, 0.0]], rows[1:]]))
    loss = metrics.mean_and_error(clean - wild)
    # One of 301 rows, and the share of the broadest kernels, cost less than 0.04 nats.
    assert loss.value < 0.04 + 3 * loss.error
