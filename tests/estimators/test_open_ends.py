"""Values next to the ends of an open set, and positive values over many decades."""

import warnings

import jax
import numpy as np
import pandas as pd
import pytest

import foliax
from foliax.density import Dataset
from foliax.estimators import Independent, LocalKernel, ScaleMixtureKernel, SplineFlow
from foliax.estimators.broad import uniform_weight
from foliax.io import dumps, loads
from foliax.manifolds import OffManifoldError

from ..cli.running import run, run_json

KEY = jax.random.key(0)
N = 300
FLOW = SplineFlow(members=1, training=foliax.Training(steps=40, batch_size=64, eval_every=20))
ESTIMATORS = [ScaleMixtureKernel(), LocalKernel(), FLOW]
UNIT, BELOW_ZERO = foliax.Interval(0.0, 1.0), foliax.Interval(-1.0, 0.0)
TINY = foliax.Interval(1000.0, 1000.000001)


def beta(n):
    """Beta(2, 1), with a tenth of the rows within 1e-7 of 1."""
    values = np.sqrt(np.random.default_rng(0).uniform(size=n))
    values[: n // 10] = 1 - 1e-9 * np.arange(1, n // 10 + 1)
    return values[:, None]


def decades(n):
    return 10.0 ** np.random.default_rng(0).uniform(-20, 20, (n, 1))


OPEN = {
    "unit": (UNIT, beta(N)),
    "up to zero": (BELOW_ZERO, -(10.0 ** -np.linspace(0.1, 40, N)[:, None])),
    "tiny": (TINY, 1000 + 1e-6 * np.random.default_rng(0).beta(2, 2, (N, 1))),
    "forty decades": (foliax.PositiveReals(1), decades(N)),
}


def chart_grid(manifold, n):
    """A grid in the chart, in float64 up to the last floats inside, and dy/dx."""
    known = ((UNIT, -100, 34), (BELOW_ZERO, -34, 200), (TINY, -15, 15))
    ends = next(((a, b) for m, a, b in known if m == manifold), (-200, 200))
    x = np.linspace(*ends, n)
    y = manifold.from_chart(x[:, None], np)
    return x, y, np.exp(-manifold.to_chart(y, np)[1][:, 0])


@pytest.mark.parametrize("spec", ESTIMATORS, ids=lambda spec: type(spec).__name__)
@pytest.mark.parametrize("name", OPEN)
def test_mass_and_samples(name, spec):
    manifold, rows = OPEN[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        density = spec.fit(Dataset(rows, manifold), key=KEY).density
        assert np.isfinite(density.evaluate(rows).value).all()
        x, y, slope = chart_grid(manifold, 8001)
        mass = np.trapezoid(np.exp(density.evaluate(y).value) * slope, x)
        assert abs(mass - 1) < 0.005
        drawn = density.sample(2000, key=KEY)
        again = density.evaluate(drawn)
    assert drawn.dtype == np.float64
    assert np.isfinite(again.value).all()
    # The draws have the law of the density: compare its distribution function at three points.
    mass_below = np.cumsum(np.exp(density.evaluate(y).value) * slope) * (x[1] - x[0])
    for share in (0.1, 0.5, 0.9):
        at = y[np.searchsorted(mass_below, share * mass_below[-1]), 0]
        error = np.sqrt(share * (1 - share) / len(drawn))
        assert abs((drawn[:, 0] < at).mean() - share) < 4 * error + 0.005


def test_uniform_samples_of_a_narrow_interval_are_inside():
    manifold, rows = OPEN["tiny"]
    density = ScaleMixtureKernel().fit(Dataset(rows, manifold), key=KEY).density
    uniform = type(density)(manifold, density.coordinates, density.density, 0.999)
    drawn = uniform.sample(1000, key=KEY)
    assert (manifold.low < drawn).all()
    assert (drawn < manifold.high).all()
    assert abs((drawn.mean() - 1000) / 1e-6 - 0.5) < 4 * np.sqrt(1 / 12 / 1000)


@pytest.mark.parametrize("spec", ESTIMATORS, ids=lambda spec: type(spec).__name__)
def test_a_product_and_its_model_file(spec):
    manifold = foliax.Product(foliax.Sphere(2), UNIT, foliax.PositiveReals(1), foliax.Integers(1))
    random = np.random.default_rng(1)
    points = random.normal(size=(N, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    counts = random.poisson(4, (N, 1)).astype(float)
    rows = np.concatenate([points, beta(N), decades(N), counts], axis=1)
    density = spec.fit(Dataset(rows, manifold), key=KEY).density
    values = density.evaluate(rows).value
    assert np.isfinite(values).all()
    drawn = density.sample(500, key=KEY)
    assert np.isfinite(density.evaluate(drawn).value).all()
    if spec is not FLOW:  # which is trained too briefly
        # A share of the samples lies where float32 is 1, as a tenth of the rows does.
        assert (drawn[:, 3] > 1 - 5e-8).any()
    loaded = loads(dumps(density)).density
    np.testing.assert_array_equal(loaded.evaluate(rows).value, values)


def test_uniform_values_are_still_fitted_by_the_uniform_density():
    rows = np.random.default_rng(0).uniform(size=(600, 1))
    density = ScaleMixtureKernel().fit(Dataset(rows, UNIT), key=KEY).density
    assert uniform_weight(density) > 0.9
    ends = np.array([[1e-300], [1e-9], [0.5], [1 - 1e-9], [1 - 1.2e-16]])
    np.testing.assert_allclose(density.evaluate(ends).value, 0, atol=0.15)


def test_estimators_of_single_factors_serve_charts():
    manifold = foliax.Product(UNIT, foliax.PositiveReals(1))
    rows = np.concatenate([beta(N), decades(N)], axis=1)
    density = Independent().fit(Dataset(rows, manifold), key=KEY).density
    assert np.isfinite(density.evaluate(density.sample(500, key=KEY)).value).all()


COMMANDS = {
    "interval": ("interval(x, low=0, high=1)", beta(N)[:, 0]),
    "percent": ("fraction(x, unit=percent)", 100 * beta(N)[:, 0]),
    "tiny": ("interval(x, low=1000, high=1000.000001)", OPEN["tiny"][1][:, 0]),
    "decades": ("positive(x)", decades(N)[:, 0]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line(name, tmp_path):
    schema, values = COMMANDS[name]
    pd.DataFrame({"x": values}).to_csv(tmp_path / "x.csv", index=False)
    model, drawn = tmp_path / "x.foliax", tmp_path / "drawn.csv"
    fitted = run_json("fit", tmp_path / "x.csv", "-s", schema, "-m", "kernel", "--strict")
    assert abs(fitted["total mass"][0] - 1) < 4 * fitted["total mass"][1]
    run("sample", model, "-n", 2000, "-o", drawn)
    run("score", model, drawn, "-o", tmp_path / "scored.csv")
    run("score", model, tmp_path / "x.csv", "-o", tmp_path / "own.csv")
    assert np.isfinite(pd.read_csv(tmp_path / "own.csv").iloc[:, 1]).all()


def test_errors_show_the_digits_of_the_user(tmp_path):
    path = tmp_path / "x.csv"
    pd.DataFrame({"x": [1000.0000005, 1000.0000011]}).to_csv(path, index=False)
    schema = "interval(x, low=1000, high=1000.000001)"
    message = run("fit", path, "-s", schema, "-m", "kernel", code=2).output
    assert "1000.0000011 is not strictly between 1000 and 1000.000001" in message.replace("\n", " ")
    path.write_text("x\n0.5\n1e-320\n")
    message = run("fit", path, "-s", "positive(x)", "-m", "kernel", code=2).output
    assert "Row 2 (line 3), column x" in message
    with pytest.raises(OffManifoldError, match=r"value 1000.0000011 is not .* 1000.000001\."):
        Dataset(np.array([[1000.0000011]]), TINY)
