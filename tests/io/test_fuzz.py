"""A thousand mutated model files: each gives a clear error or loads; no code runs."""

import json
import random
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

from foliax import io
from foliax.density import AbstractDensity, DequantizedDensity, Stacked
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow, Stacking
from foliax.flows import GaussianMixture
from foliax.io import ModelFileError
from foliax.io.annotations import _hints
from foliax.io.classes import import_storable_modules
from foliax.io.container import BLANK_DIGEST, pack, unpack
from foliax.manifolds import Torus
from foliax.registry import entries
from foliax.training import Block, Record

from .cases import ANGLES, KEY, described, kernels

Mutation = Callable[[bytes, random.Random], bytes]


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


def flip(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 20)) + data[at:]


def delete(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randint(1, 20) :]


def resize_header(data: bytes, rng: random.Random) -> bytes:
    size = rng.choice([0, 1, len(data), 2**31, 2**63, 2**64 - 1, rng.randrange(len(data))])
    return size.to_bytes(8, "little") + data[8:]


def edit_header(data: bytes, rng: random.Random) -> bytes:
    """Change a shape, type, offset or text of the header, which stays JSON."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    mutate(header, rng)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def nest(data: bytes, rng: random.Random) -> bytes:
    """Nest brackets deeper than any stack."""
    text = b'{"__metadata__":' + b"[" * rng.randrange(1000, 200_000)
    return len(text).to_bytes(8, "little") + text


def reseal(data: bytes, rng: random.Random) -> bytes:
    """Write another document with a valid checksum, as only another program does."""
    document, tensors = unpack(data)
    kept = {k: document[k] for k in ("versions", "density", "spec", "record", "extra")}
    mutate(kept, rng)
    if rng.random() < 0.3:
        name = rng.choice(sorted(tensors))
        tensors[name] = rng.choice([tensors[name][:0], tensors[name].astype("float16")])
    return pack({**kept, "sha256": BLANK_DIGEST}, tensors)


VALUES = [None, True, -1, 0, 10**30, 1e308, "", "x", [], {}, [[]], {"class": "os.system"}]


def mutate(tree: Any, rng: random.Random) -> None:
    """Replace, drop or rename one node, or swap it for another."""
    places = [(node, key) for node in nodes(tree) for key in keys_of(node)]
    node, key = rng.choice(places)
    kind = rng.choice(["value", "drop", "rename", "swap", "class"])
    if kind == "drop" or (kind == "rename" and isinstance(node, list)):
        del node[key]
    elif kind == "rename":
        node["__init__"] = node.pop(key)
    elif kind == "swap":
        other, place = rng.choice(places)
        node[key] = json.loads(json.dumps(other[place]))
    elif kind == "class":
        named = [n for n in nodes(tree) if isinstance(n, dict) and "class" in n]
        for one in named and rng.sample(named, 1):
            one["class"] = rng.choice(sorted(entry.identifier for entry in entries()))
    else:
        node[key] = rng.choice(VALUES)


def nodes(tree: Any):
    if isinstance(tree, dict | list):
        yield tree
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from nodes(child)


def keys_of(node: dict | list) -> list:
    return list(node) if isinstance(node, dict) else list(range(len(node)))


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
