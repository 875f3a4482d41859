import pytest

from foliax.plots import scene


@pytest.fixture
def coarse(monkeypatch):
    """Few evaluations and samples, so that drawing is fast."""
    monkeypatch.setattr(scene, "MAX_EVALUATIONS", 600)
    monkeypatch.setattr(scene, "MAX_SAMPLES", 500)
