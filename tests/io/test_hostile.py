"""Model files with a valid checksum that try to exhaust memory or to contradict themselves."""

import json
import tracemalloc

import jax.numpy as jnp
import numpy as np
import pytest

from foliax import io, manifolds
from foliax.density import DequantizedDensity, Stacked
from foliax.density.integrate import RQMC
from foliax.dequantizers import HeavyTailed
from foliax.estimators import KernelDensity
from foliax.estimators.kernel.background import Background
from foliax.flows import GaussianMixture
from foliax.io import ModelFileError, container
from foliax.io.codec import MAX_DENSITY_INTEGER, Decoder
from foliax.io.container import METADATA_KEY, pack, unpack
from foliax.io.training_data import Rows
from foliax.tables import Schema

from .cases import KEY

SCHEMA = Schema.parse("circle(a, unit=degrees)")


def uniform(manifold) -> KernelDensity:
    return KernelDensity(manifold, (Background(manifold),), (jnp.zeros(1),))


@pytest.fixture(scope="module")
def whole() -> bytes:
    return io.dumps(uniform(SCHEMA.manifold()), schema=SCHEMA, extra={"a": 1})


def rebuild(data: bytes, change, tensors=None) -> bytes:
    """Change the document and seal it again, as an attacker does."""
    document, old = unpack(data)
    change(document)
    del document["sha256"], document["format"]
    return pack(document, old if tensors is None else tensors)


def node(identifier: str, **fields):
    return {"class": identifier, "fields": fields}


def decode(described):
    return Decoder({}, None, MAX_DENSITY_INTEGER).decode(described)


def test_the_original_loads(whole):
    assert io.loads(whole).schema == SCHEMA


ROTATIONS = np.linspace(0, 2 * np.pi, 1200, endpoint=False)
LARGE_GROUP = [[[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in ROTATIONS]
IDENTITY = [np.eye(70).tolist()]

LARGE = {
    "group": node(
        "manifolds.Quotient",
        base=node("manifolds.Sphere", d=1),
        group=LARGE_GROUP,
        side="left",
    ),
    "group of large matrices": node(
        "manifolds.Quotient",
        base=node("manifolds.Stiefel", n=70, p=70),
        group=IDENTITY,
        side="left",
    ),
    "manifold": node("manifolds.Torus", d=MAX_DENSITY_INTEGER),
    "no dimension": node("manifolds.Euclidean", d=0),
    "product": node("manifolds.Product", parts=[node("manifolds.Torus", d=60_000)] * 2),
    "integer": node("manifolds.Torus", d=10**400),
    "branches": node(
        "manifolds.Wrapping",
        manifold=node("manifolds.Torus", d=90_000),
        window=MAX_DENSITY_INTEGER,
    ),
    "window": node(
        "manifolds.ExponentialMap",
        manifold=node("manifolds.SpecialOrthogonal", n=3),
        window=10_000,
    ),
    "nodes": node("marginal.RQMC", points=2**20, replicates=16),
    "quadrature": node("marginal.Quadrature", nodes=2**20, reach=1.0),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_objects_are_refused_before_they_are_made(name):
    decode(node("manifolds.Torus", d=2))  # imports take memory once
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"too large|possible|branches|window"):
            decode(LARGE[name])
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (node("manifolds.Interval", low=0, high=10**7, d=1), manifolds.Interval(0.0, 1e7)),
        (
            node("manifolds.Rounded", step=1000, d=1, offset=5_000_000),
            manifolds.Rounded(1000.0, offset=5e6),
        ),
    ],
    ids=["interval", "rounded"],
)
def test_bounds_steps_and_offsets_may_be_large_whole_numbers(described, expected):
    assert repr(decode(described)) == repr(expected)


def test_a_group_is_still_checked():
    circle = manifolds.Sphere(1)
    half, third = np.diag([-1.0, -1.0]), np.array(LARGE_GROUP[400])
    with pytest.raises(ValueError, match="an element twice"):
        manifolds.Quotient(circle, [np.eye(2), half, half])
    with pytest.raises(ValueError, match="not a group"):
        manifolds.Quotient(circle, [np.eye(2), third])
    with pytest.raises(ValueError, match="not a group"):
        manifolds.Quotient(circle, [half])
    with pytest.raises(ValueError, match="orthogonal"):
        manifolds.Quotient(circle, [np.eye(2), 2 * half])


def test_short_rows_are_refused_before_they_are_filled():
    """45,000 columns and 22,500 rows would take 8 GB, out of a file of 90 kB."""
    header = '"a\n' + "b" + '",' + ",".join(f"{i}" for i in range(45_000))
    for end in "\n", "\r":
        stored = {"csv": header + end + f"1{end}" * 22_500, "weights": None, "of": 3}
        with pytest.raises(ValueError, match="shorter than the header"):
            Rows.from_json(stored)


def test_weights_must_belong_to_the_rows():
    with pytest.raises(ValueError, match="weights for 2 rows"):
        Rows.from_json({"csv": "a\n1\n2\n", "weights": [1.0], "of": 2})


def test_an_array_is_copied_once(whole):
    tensors = {"0": np.zeros(1000, np.float32)}
    found = Decoder(tensors, None).decode([{"array": "0"}] * 3)
    assert found[0] is found[1] is found[2]


def test_an_array_without_elements_has_short_sides(whole):
    empty = np.zeros((2**40, 0), np.float32)
    with pytest.raises(ModelFileError, match="and no elements"):
        io.loads(rebuild(whole, lambda document: None, {"0": empty}))


def test_the_depth_is_bounded(whole):
    deep: list = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ModelFileError, match="levels deep"):
        rebuild(whole, lambda document: document.update(extra=deep))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(container, "MAX_JSON_DEPTH", 10**6)
        data = rebuild(whole, lambda document: document.update(extra=deep))
    with pytest.raises(ModelFileError, match="nested more than 150 levels deep"):
        io.loads(data)


def test_a_key_occurs_once(whole):
    size = int.from_bytes(whole[:8], "little")
    header = whole[8 : 8 + size]
    metadata = json.loads(header)["__metadata__"][METADATA_KEY]
    twice = [
        header.replace(b'{"__metadata__"', b'{"__metadata__":{"foliax":"{}"},"__metadata__"', 1),
        header.replace(
            json.dumps(metadata).encode(),
            json.dumps(metadata.replace('"extra": {', '"extra": {"a": 2, ')).encode(),
        ),
    ]
    for text in twice:
        assert text != header
        data = len(text).to_bytes(8, "little") + text + whole[8 + size :]
        with pytest.raises(ModelFileError, match="a key twice"):
            io.loads(data)


def test_other_files_are_not_read_completely(tmp_path):
    path = tmp_path / "large"
    for start in (b"\x10" + bytes(7) + b'{"weights": {}}', b"\xff" * 20, b"\x93NUMPY"):
        with path.open("wb") as file:
            file.write(start)
            file.truncate(2**40)  # sparse: it takes no space
        with pytest.raises(ModelFileError, match="not a foliax model"):
            io.load(path)


def test_a_large_document_is_not_written(whole, monkeypatch):
    monkeypatch.setattr(container, "MAX_HEADER_BYTES", 100)
    with pytest.raises(ModelFileError, match="--no-rows"):
        io.dumps(uniform(SCHEMA.manifold()))


def test_the_schema_must_describe_the_density(whole):
    other = Schema.parse("where: sphere(lat=a, lon=b)")
    with pytest.raises(ModelFileError, match=r"points of Sphere\(d=2\), but .* on Torus"):
        io.loads(rebuild(whole, lambda document: document.update(schema=other.to_json())))
    with pytest.raises(ModelFileError, match="the density is on Torus"):
        io.dumps(uniform(SCHEMA.manifold()), schema=other)


def mixture_on_the_line(integrator=None) -> DequantizedDensity:
    g = manifolds.PositiveReals().dequantization()
    ambient = GaussianMixture(3).build(1, shift=jnp.zeros(1), scale=jnp.ones(1), key=KEY)
    return DequantizedDensity(g, ambient, HeavyTailed(2).build(g, key=KEY), integrator)


@pytest.fixture(scope="module")
def mixture() -> bytes:
    return io.dumps(mixture_on_the_line(), schema=Schema.parse("positive(a)"))


def test_arrays_must_fit_together(mixture):
    tensors = unpack(mixture)[1]
    for name, tensor in tensors.items():
        if not tensor.size:
            continue
        longer = {**tensors, name: np.repeat(tensor, 5, axis=0)}
        with pytest.raises(ModelFileError, match="do not fit together"):
            io.loads(rebuild(mixture, lambda document: None, longer))


def test_an_intermediate_array_is_bounded(monkeypatch):
    sphere = manifolds.Sphere(2).dequantization()
    ambient = GaussianMixture(3).build(3, shift=jnp.zeros(3), scale=jnp.ones(3), key=KEY)
    dequantizer = HeavyTailed(2).build(sphere, key=KEY)
    density = DequantizedDensity(sphere, ambient, dequantizer, RQMC(64, 16))
    schema = Schema.parse("direction(x, y, z)")
    data = io.dumps(density, schema=schema)
    io.loads(data)
    monkeypatch.setattr("foliax.io.limits.MAX_INTERMEDIATE_BYTES", 64 * 16)
    with pytest.raises(ModelFileError, match="for one row"):
        io.loads(data)


def test_members_of_a_stack_share_its_manifold():
    line = mixture_on_the_line()
    circle = uniform(manifolds.Torus(1))
    data = io.dumps(Stacked((line, line), jnp.zeros(2)))

    def swap(document):
        other, _ = unpack(io.dumps(circle))
        document["density"]["fields"]["manifold"] = other["density"]["fields"]["manifold"]

    with pytest.raises(ModelFileError, match="one manifold can be stacked"):
        io.loads(rebuild(data, swap))
