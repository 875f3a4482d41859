"""Registration: which manifolds a view serves, in which order, and what is the default."""

import numpy as np
import pytest

from foliax import plots
from foliax.manifolds import (
    AbstractManifold,
    Euclidean,
    Orientations,
    Product,
    ProjectiveSpace,
    Quotient,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from foliax.plots import registry

from .common import KEY, Blob, rows_of, texts

pytestmark = pytest.mark.usefixtures("coarse")

WHOLE_SPHERE = ["mollweide", "region", "globe", "pair"]
HALF_TURN = Quotient(Sphere(2), np.stack([np.eye(3), np.diag([-1.0, -1.0, 1.0])]))
FIRST = {
    "S¹": (Sphere(1), ["rose", "line", "pair"]),
    "RP¹": (ProjectiveSpace(1), ["rose", "line", "pair"]),
    "SO(2)": (SpecialOrthogonal(2), ["rose", "line", "pair"]),
    "S²": (Sphere(2), WHOLE_SPHERE),
    "RP²": (ProjectiveSpace(2), ["lower", "upper", *WHOLE_SPHERE]),
    "S²/C₂": (HALF_TURN, WHOLE_SPHERE),
    "S³": (Sphere(3), ["pair"]),
    "T²": (Torus(2), ["map", "pair"]),
    "T³": (Torus(3), ["pair"]),
    "SO(3)": (SpecialOrthogonal(3), ["sections", "poles", "pair"]),
    "cubic": (Orientations("cubic"), ["sections", "poles", "pair"]),
    "R": (Euclidean(1), ["curve", "pair"]),
    "R/±1": (Quotient(Euclidean(1), [[[1.0]], [[-1.0]]]), ["pair"]),
    "Stiefel": (Stiefel(3, 2), ["pair"]),
    "product": (Product(Torus(1), Sphere(2)), ["pair"]),
}


@pytest.mark.parametrize("name", FIRST)
def test_views_start_with_the_special_ones_and_the_pair_plot(name):
    manifold, expected = FIRST[name]
    assert list(plots.views(manifold))[: len(expected)] == expected


@pytest.fixture
def empty(monkeypatch):
    """A registry with a copy of the views, which a test may extend."""
    monkeypatch.setattr(registry, "_VIEWS", list(registry._VIEWS))


@pytest.mark.usefixtures("empty")
def test_a_registered_view_is_drawn_and_is_not_the_default():
    @plots.view_for(AbstractManifold, name="note")
    def draw_note(scene):
        scene.figure.text(0.5, 0.5, f"{len(scene.rows)} rows")

    density = Blob(Stiefel(3, 2))
    rows = rows_of(density)
    assert next(iter(plots.views(density.manifold))) == "pair"
    assert texts(plots.draw(density, rows, view="note", key=KEY)) == ["40 rows"]
    assert "note" not in plots.views(ProjectiveSpace(2))


@pytest.mark.usefixtures("empty")
def test_a_view_can_be_the_default_for_some_data():
    @plots.view_for(Torus, name="few", dim=3, default_when=lambda scene: len(scene.rows) < 9)
    def draw_few(scene):
        scene.figure.text(0.5, 0.5, "few")

    density = Blob(Torus(3))
    assert texts(plots.draw(density, rows_of(density, 8), key=KEY)) == ["few"]
    assert "few" not in texts(plots.draw(density, rows_of(density, 9), key=KEY))


def test_two_views_of_one_name_are_an_error():
    with pytest.raises(ValueError, match=r"Two views are named 'rose': foliax.plots.circle and"):
        plots.view_for(Torus, name="rose", dim=1)(lambda scene: None)
