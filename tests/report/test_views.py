"""The report's pictures: what has no interactive view, and what fails."""

import jax
import numpy as np
import pytest

from foliax import plots
from foliax.report.views import Part, turning
from foliax.rivals import ScaleMixtureKernel
from foliax.tables import Schema

KEY = jax.random.key(0)


def test_only_the_lack_of_a_view_is_passed_over(monkeypatch):
    schema = Schema.parse("x: real(x)")
    rows = np.random.default_rng(0).normal(size=(30, 1)).astype(np.float32)
    density = ScaleMixtureKernel().fit(schema.manifold(), rows, key=KEY).density
    part = Part("x", schema, density, rows)
    assert turning(part, KEY) == ""

    def broken(*args, **kwargs):
        raise ValueError("a real fault")

    monkeypatch.setattr(plots, "interactive", broken)
    with pytest.raises(ValueError, match="a real fault"):
        turning(part, KEY)
