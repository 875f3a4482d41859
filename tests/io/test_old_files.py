"""Model files of an older foliax load and give the same results."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import foliax
from foliax import io
from foliax.estimators import AbstractEstimator
from foliax.training import Record

FOLDER = Path(__file__).parent / "fixtures"
FILES = sorted(path.stem for path in FOLDER.glob("*.foliax"))


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray]:
    with np.load(FOLDER / "answers.npz") as arrays:
        return dict(arrays)


def test_every_file_has_answers(expected):
    assert len(FILES) == 9
    kinds = ("draws", "errors", "rows", "values")
    assert sorted(expected) == sorted(f"{name} {kind}" for name in FILES for kind in kinds)


def write_results(path: str) -> None:
    """Evaluate and sample every old file."""
    found = {}
    with np.load(FOLDER / "answers.npz") as arrays:
        for name in FILES:
            density = io.load(FOLDER / f"{name}.foliax").density
            rows = arrays[f"{name} rows"]
            values = foliax.evaluate(density, rows, tol=0.05, key=jax.random.key(1))
            found |= {f"{name} values": values.value, f"{name} errors": values.error}
            found[f"{name} draws"] = density.sample(4, key=jax.random.key(2))
    np.savez(path, **found)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, np.ndarray]:
    """Results of a process without the tests' XLA flags, which change the last bits."""
    path = tmp_path_factory.mktemp("old") / "found.npz"
    code = f"from tests.io.test_old_files import write_results; write_results({str(path)!r})"
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, check=True)
    with np.load(path) as arrays:
        return dict(arrays)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_an_old_file_gives_the_same_digits(name, expected, found):
    """To two units in the last place: XLA chooses its instructions by the processor."""
    for kind in ("values", "errors"):
        new, old = found[f"{name} {kind}"], expected[f"{name} {kind}"]
        np.testing.assert_allclose(new, old, rtol=2.4e-7, atol=5e-7)
    if name == "mixture-sphere":
        return  # newer versions use another sampler, without clipping
    np.testing.assert_allclose(found[f"{name} draws"], expected[f"{name} draws"], atol=1e-6)


@pytest.mark.parametrize("name", FILES)
def test_an_old_file_gives_the_same_log_densities(name, expected):
    """To rounding: the tests' XLA flags change the last bits."""
    density = io.load(FOLDER / f"{name}.foliax").density
    rows = expected[f"{name} rows"][:8]
    found = foliax.evaluate(density, rows, tol=0.05, key=jax.random.key(1))
    np.testing.assert_allclose(found.value, expected[f"{name} values"][:8], atol=1e-4)


@pytest.mark.parametrize("name", FILES)
def test_an_old_file_has_its_spec_and_record(name):
    saved = io.load(FOLDER / f"{name}.foliax")
    assert isinstance(saved.estimator, AbstractEstimator)
    assert isinstance(saved.record, Record)
    assert saved.record.seconds > 0
    assert saved.versions["foliax"] == "0.1.0.dev0"
    assert name == "table" or saved.extra == {"name": name}


def test_the_fields_of_an_old_spec_keep_their_values():
    stacking = io.load(FOLDER / "stack.foliax").estimator
    assert (stacking.validation_fraction, stacking.prior) == (0.3, 5.0)
    kernel, flow = stacking.estimators
    assert (kernel.smallest, kernel.largest) == (0.5, 1.4e8)
    assert (flow.ambient.components, flow.dequantizer.width, flow.objective.samples) == (2, 4, 2)
    training = flow.training
    assert (training.steps, training.batch_size, training.eval_every, training.warmup) == (
        20,
        16,
        10,
        2,
    )


def test_an_old_table_has_its_schema_and_rows():
    model = io.load(FOLDER / "table.foliax")
    data = model.training_data
    assert model.schema.text() == (
        "where: sphere(lat=lat, lon=lon); depth: positive(depth, unit=km); "
        "magnitude: rounded(magnitude, step=0.1); stations: count(stations)"
    )
    assert repr(model.schema.manifold()) == repr(model.density.manifold)
    assert [len(rows.frame) for rows in (data.train, data.test)] == [20, 5]
    assert model.extra == {"seed": 0, "data": "quakes.csv"}
    assert len(model.record.history) == 2
