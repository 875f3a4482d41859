"""A thousand mutated model files: each gives a clear error or loads; no code runs."""

import random
import sys
import tracemalloc

import jax.numpy as jnp
import pytest

from campaign.mutators import (
    Mutation,
    cut,
    delete,
    edit_header,
    flip,
    insert,
    nest,
    reseal,
    resize_header,
)
from foliax import io
from foliax.density import AbstractDensity, DequantizedDensity, Stacked
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow, Stacking
from foliax.flows import GaussianMixture
from foliax.io import ModelFileError
from foliax.io.annotations import _hints
from foliax.io.classes import import_storable_modules
from foliax.manifolds import Torus
from foliax.registry import entries
from foliax.training import Block, Record

from .cases import ANGLES, KEY, described, kernels


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("fuzz") / "model"
    g = Torus(2).dequantization()
    mixture = GaussianMixture(2).build(4, shift=jnp.zeros(4), scale=jnp.ones(4), key=KEY)
    flow = DequantizedDensity(g, mixture, HeavyTailed(2).build(g, key=KEY))
    density = Stacked((kernels(Torus(2), ANGLES), flow), jnp.log(jnp.array([0.5, 0.5])))
    record = Record(3, [Block(1, 1, 0.5, 0.5, 0.5, 0.1)], ["an event"])
    io.save(path, density, estimator=Stacking((DequantizedFlow(),)), record=record, extra={"a": 1})
    return path.read_bytes()


COUNTS: dict[Mutation, int] = {
    flip: 350,
    cut: 120,
    insert: 120,
    delete: 100,
    resize_header: 40,
    edit_header: 100,
    nest: 20,
    reseal: 150,
}

WATCHED = ("exec", "compile", "import", "pickle.", "os.", "subprocess.", "socket.", "ctypes.")
heard: list[str] | None = None


def listen(event: str, _) -> None:
    if heard is not None and event.startswith(WATCHED) and not by_type_checker():
        heard.append(event)


def by_type_checker() -> bool:
    """Whether the type checker, which only tests use, is writing its own error."""
    frame = sys._getframe()
    while frame is not None:
        code, frame = frame.f_code, frame.f_back
        if "/beartype/" in code.co_filename or code.co_name == "_get_problem_arg":
            return True
    return False


def test_mutated_files(whole, tmp_path):
    global heard
    sys.addaudithook(listen)
    import_storable_modules()
    for entry in entries():
        _hints(entry.cls)  # annotations are foliax's own code, compiled once
    path = tmp_path / "model"
    path.write_bytes(whole)
    original = described(io.load(path).density)
    rng, refused, loaded = random.Random(0), 0, 0
    tracemalloc.start()
    for mutation, count in COUNTS.items():
        if mutation is reseal:
            tracemalloc.stop()  # tracing is slow, and these files pass the checksum anyway
        for _ in range(count):
            data = mutation(whole, rng)
            path.write_bytes(data)
            tracemalloc.clear_traces()
            heard = []
            try:
                found = io.load(path)
            except ModelFileError as error:
                refused, reason = refused + 1, str(error)
            else:
                loaded, reason = loaded + 1, f"{path}: "
                assert isinstance(found.density, AbstractDensity)
                assert mutation is reseal or described(found.density) == original
            finally:
                events, heard = heard, None
            assert events == []
            assert reason.startswith(f"{path}: ")
            assert tracemalloc.get_traced_memory()[1] < 20 * len(data) + 2**20
    assert refused + loaded == 1000
    assert refused > 900
