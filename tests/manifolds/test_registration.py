"""A registered manifold is exported by `foliax.manifolds` and `foliax`, and model files know it."""

import subprocess
import sys

import pytest

import foliax
from foliax import manifolds
from foliax.manifolds import AbstractManifold
from foliax.manifolds.ball import Ball, Radial


def test_ball_is_exported():
    assert foliax.Ball is manifolds.Ball is manifolds.MANIFOLDS["Ball"] is Ball
    assert manifolds.Radial is Radial
    assert {"Ball", "Radial"} <= {*manifolds.__all__}
    assert "Radial" not in manifolds.MANIFOLDS


@pytest.mark.parametrize("name", manifolds.MANIFOLDS)
def test_every_manifold_is_exported(name):
    cls = getattr(foliax, name)
    assert issubclass(cls, AbstractManifold)
    assert cls is getattr(manifolds, name)
    assert name in manifolds.__all__


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="no attribute 'Klein'"):
        _ = manifolds.Klein
    with pytest.raises(AttributeError, match="no attribute 'Klein'"):
        _ = foliax.Klein


def test_a_file_can_name_every_manifold():
    """In a new process, since this one has imported all modules."""
    code = (
        "import foliax.io.classes as c, foliax.registry as r; c.import_storable_modules(); "
        "print(*(entry.identifier for entry in r.entries()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {f"manifolds.{name}" for name in manifolds.MANIFOLDS} <= {*run.stdout.split()}
