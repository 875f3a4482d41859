"""The report's figures: factors without an interactive view, errors, and the verdict."""

import jax
import numpy as np
import pytest

from foliax import plots
from foliax.density import Dataset
from foliax.estimators import ScaleMixtureKernel
from foliax.evaluation import Estimate
from foliax.report.page import _compare
from foliax.report.views import Part, interactive_figure, pair_figure
from foliax.tables import Schema

KEY = jax.random.key(0)


def test_only_a_missing_view_is_skipped(monkeypatch):
    schema = Schema.parse("x: real(x)")
    rows = np.random.default_rng(0).normal(size=(30, 1)).astype(np.float32)
    density = ScaleMixtureKernel().fit(Dataset(rows, schema.manifold()), key=KEY).density
    part = Part("x", schema, density, rows)
    assert interactive_figure(part, KEY) == ""

    def broken(*args, **kwargs):
        raise ValueError("a real error")

    monkeypatch.setattr(plots, "interactive", broken)
    with pytest.raises(ValueError, match="a real error"):
        interactive_figure(part, KEY)


def test_pairs_are_not_shown_twice():
    """A torus of three angles is drawn as pairs already; a sphere is not."""
    rng = np.random.default_rng(0)
    angles = Schema.parse("t: torsions(a, b, c, unit=degrees)")
    assert pair_figure(angles, rng.uniform(-3, 3, (20, 3)), None, KEY) == ""
    vectors = rng.normal(size=(20, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    place = Schema.parse("where: sphere(lat=lat, lon=lon)")
    assert "<img" in pair_figure(place, vectors.astype(np.float32), None, KEY)


def test_a_model_that_is_the_baseline_is_not_compared_in_standard_errors():
    assert "The model and the kernel agree on every one" in _compare(
        Estimate(0.0, 0.0), "kernel", 80
    )
    assert "beats the kernel" in _compare(Estimate(0.3, 0.1), "kernel", 80)
    assert "scores the same as the kernel" in _compare(Estimate(0.1, 0.1), "kernel", 80)
