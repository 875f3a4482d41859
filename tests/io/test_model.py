"""Saving and loading: equal bits in a new process, and errors that tell how to fix them."""

import importlib.metadata
import math
import os
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import foliax
from examples import ellipsoid
from foliax import io, manifolds
from foliax.density import AbstractDensity, DequantizedDensity, Stacked
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow
from foliax.flows import Flowjax, GaussianMixture
from foliax.io import ModelFileError
from foliax.io.container import FORMAT, pack, unpack
from foliax.io.training_data import collect_training_data
from foliax.manifolds import Euclidean, Product, Sphere, Torus
from foliax.tables import Schema
from foliax.training import Block, Record

from ..flows.cases import SPECS
from .answers import answers
from .cases import DENSITIES, KEY, described

SPEC = DequantizedFlow(SPECS["mixture"], HeavyTailed(4))
RECORD = Record(12, [Block(1, 2, 0.5, math.nan, math.inf, 0.1)], ["an event"], "all steps done")


@pytest.fixture(scope="module")
def density() -> AbstractDensity:
    return DENSITIES["mixture"]()


@pytest.fixture
def path(tmp_path, density) -> Path:
    path = tmp_path / "model.foliax"
    io.save(path, density, estimator=SPEC, record=RECORD, extra={"columns": ["a", 1.5, None]})
    return path


def on(g: manifolds.AbstractDequantization) -> DequantizedDensity:
    m = g.ambient_dim
    mixture = GaussianMixture(2).build(m, shift=jnp.zeros(m), scale=jnp.ones(m), key=KEY)
    return DequantizedDensity(g, mixture, HeavyTailed(4).build(g, key=KEY))


def test_all_comes_back(path, density):
    found = io.load(path)
    assert described(found.density) == described(density)
    assert found.estimator == SPEC
    assert repr(found.record) == repr(RECORD)
    assert found.extra == {"columns": ["a", 1.5, None]}
    assert found.versions["foliax"] == foliax.__version__
    assert found.versions["jax"] == importlib.metadata.version("jax")


def test_a_new_process_gives_the_same_bits(tmp_path):
    density = Stacked(
        (DENSITIES["spline"](), DENSITIES["realnvp"](), DENSITIES["mixture"]()),
        jnp.log(jnp.array([0.5, 0.25, 0.25])),
    )
    io.save(tmp_path / "model", density)
    command = [sys.executable, "-m", "tests.io.answers", str(tmp_path / "model")]
    found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == answers(density)


def test_a_loaded_model_saves_to_the_same_file(tmp_path):
    io.save(tmp_path / "a", DENSITIES["spline"]())
    io.save(tmp_path / "b", io.load(tmp_path / "a").density)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_double_precision_needs_x64(tmp_path):
    with jax.enable_x64(True):
        double = jax.tree.map(
            lambda a: a.astype("float64") if eqx.is_inexact_array(a) else a, DENSITIES["mixture"]()
        )
        io.save(tmp_path / "model", double)
        assert described(io.load(tmp_path / "model").density) == described(double)
    with pytest.raises(ModelFileError, match="fitted in float64, which needs JAX's x64 mode"):
        io.load(tmp_path / "model")


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 100, -1])
def test_a_truncated_file_is_refused(path, kept):
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelFileError, match=r"model.foliax: .*cut short"):
        io.load(path)


def test_a_tampered_file_is_refused(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="checksum is wrong"):
        io.load(path)


def test_a_newer_file_is_refused(path):
    document, tensors = unpack(path.read_bytes())
    path.write_bytes(pack({**document, "format": FORMAT + 1, "sha256": "0" * 64}, tensors))
    with pytest.raises(ModelFileError, match=rf"format {FORMAT + 1}.*Upgrade foliax"):
        io.load(path)


@pytest.mark.parametrize("data", [b"", b"\x93NUMPY" * 9, b"PK\x03\x04" + b"\0" * 50, b"{}" * 40])
def test_other_files_are_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="not a foliax model"):
        io.load(path)


def test_a_pickle_is_not_run(path, tmp_path):
    path.write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR.")
    with pytest.raises(ModelFileError):
        io.load(path)
    assert not (tmp_path / "ran").exists()


def test_a_failed_write_leaves_the_old_file(path, monkeypatch, density):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        io.save(path, density)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.foliax"]


@pytest.mark.parametrize("inside", [False, True])
def test_a_manifold_of_ones_own_is_passed_again(tmp_path, inside):
    own = ellipsoid.dequantization
    g = manifolds.Joint(Torus(1).dequantization(), own) if inside else own
    path = tmp_path / "model"
    density = on(g)
    io.save(path, density)
    found = io.load(path, manifold=g).density
    assert described(found) == described(density)
    assert found.dequantization.quantize(jnp.ones(g.ambient_dim))[0].shape == (g.manifold.size,)
    with pytest.raises(ModelFileError, match=r"on a custom manifold, .*load\(path, manifold=…\)"):
        io.load(path)
    with pytest.raises(ModelFileError, match="not part of Sphere"):
        io.load(path, manifold=Sphere(2))


class Mine(manifolds.AbstractManifold):
    """A circle of any radius in the plane, with its own dequantization."""

    radius: jax.Array

    @property
    def dim(self) -> int:
        return 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)

    def violation(self, y):
        return jnp.abs(jnp.linalg.norm(y) - self.radius)

    def describe_violation(self, y: np.ndarray) -> str:
        return "off"

    def project(self, y):
        return self.radius * y / jnp.linalg.norm(y)

    def distance(self, y, other):
        return jnp.linalg.norm(y - other)

    def features(self, y):
        return y

    def log_total_volume(self) -> float:
        return math.log(2 * math.pi * float(self.radius))

    def sample_uniform(self, *, key):
        return self.project(jax.random.normal(key, (2,)))

    def dequantization(self):
        return ByRadius(self)


class ByRadius(manifolds.AbstractDequantization):
    manifold: Mine

    @property
    def auxiliary(self):
        return foliax.manifolds.auxiliary.positive(1)

    @property
    def ambient_dim(self) -> int:
        return 2

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x):
        return self.manifold.project(x), jnp.linalg.norm(x)[None]

    def preimages(self, y, z):
        return (y / self.manifold.radius * z)[None], jnp.log(z / self.manifold.radius)


def test_ones_own_class_is_told_by_its_arrays_too(tmp_path):
    mine, other = Mine(jnp.array(2.0)), Mine(jnp.array(3.0))
    row = Product(mine, Euclidean(1))
    density = on(row.dequantization())
    io.save(tmp_path / "model", density)
    found = io.load(tmp_path / "model", manifold=row).density
    assert described(found) == described(density)
    with pytest.raises(ModelFileError, match="the model is on Mine"):
        io.load(tmp_path / "model", manifold=Product(other, Euclidean(1)))


def test_another_manifold_is_refused(path):
    assert io.load(path, manifold=Euclidean(3)).estimator == SPEC
    with pytest.raises(ModelFileError, match=r"not on Euclidean.*d=4"):
        io.load(path, manifold=Euclidean(4))


def test_functions_of_ones_own_are_refused(tmp_path, density):
    spec = DequantizedFlow(Flowjax(lambda key, dim: None))  # pyright: ignore
    with pytest.raises(ModelFileError, match=r"estimator.ambient is .*Flowjax.*estimator=None"):
        io.save(tmp_path / "model", density, estimator=spec)
    shifted = eqx.tree_at(lambda d: d.ambient.scale, density, eqx.nn.Lambda(lambda a: a))
    with pytest.raises(ModelFileError, match=r"density.ambient.scale is Lambda"):
        io.save(tmp_path / "model", shifted)
    assert os.listdir(tmp_path) == []


def test_extra_must_be_json(tmp_path, density):
    for extra in (object(), math.nan, {"a": np.zeros(2)}):
        with pytest.raises(ModelFileError, match="extra cannot be stored as JSON"):
            io.save(tmp_path / "model", density, extra=extra)


def test_a_density_in_the_place_of_a_spec_is_refused(path):
    document, tensors = unpack(path.read_bytes())
    document = {**document, "sha256": "0" * 64, "spec": document["density"]}
    path.write_bytes(pack(document, tensors))
    with pytest.raises(ModelFileError, match="DequantizedDensity in the wrong place"):
        io.load(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"There is no model file .*none\.foliax"):
        io.load(tmp_path / "none.foliax")


def test_the_schema_and_the_training_data_come_back(tmp_path):
    schema = Schema.parse("real(a); real(b); real(c)")
    density = on(schema.manifold().dequantization())
    frame = pd.DataFrame(np.arange(30.0).reshape(10, 3), columns=list("abc"))
    data = collect_training_data(frame, None, schema, np.arange(8), np.arange(8, 10))
    io.save(tmp_path / "model", density, schema=schema, training_data=data, extra="a note")
    found, loaded = io.load_with_schema(tmp_path / "model")
    assert loaded.text() == schema.text()
    pd.testing.assert_frame_equal(found.training_data.train.frame, frame.iloc[:8])
    assert found.training_data.test.total == 2
    assert (found.extra, found.about) == ("a note", {})


def test_a_density_of_points_has_no_schema(path):
    assert io.load(path).schema is None
    with pytest.raises(ModelFileError, match="has no schema: its density was fitted to points"):
        io.load_with_schema(path)


def test_a_damaged_schema_is_refused(path):
    document, tensors = unpack(path.read_bytes())
    path.write_bytes(pack({**document, "sha256": "0" * 64, "schema": {"a": 1}}, tensors))
    with pytest.raises(ModelFileError, match="schema or training data cannot be read"):
        io.load(path)
