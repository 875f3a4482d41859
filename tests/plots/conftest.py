import pytest

from foliax.plots import scene


@pytest.fixture
def coarse(monkeypatch):
    """Few evaluations and draws: enough to draw something."""
    monkeypatch.setattr(scene, "EVALUATIONS", 600)
    monkeypatch.setattr(scene, "DRAWS", 500)
