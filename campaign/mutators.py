"""Seeded mutations of bytes, JSON trees and model files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from foliax.io.container import pack, unpack
from foliax.registry import entries

Mutation = Callable[[bytes, random.Random], bytes]

HOSTILE_TEXTS = (
    "",
    "x",
    "\x1b[2J\x1b]0;title\x07",
    "\u202ereversed",
    "two\nlines",
    "\0",
    "$x^{",
    "<script>alert(1)</script>",
    "%s {0} \\",
    "x" * 5000,
)
"""Texts that control a terminal, break a line, or mean something to another program."""

HOSTILE_VALUES = (
    *(None, True, -1, 0, 1, 2, 10**6, 10**30, 1e308, -0.5, [], {}, [[]]),
    {"class": "os.system"},
    {"float": "nan"},
    {"float": "inf"},
    *HOSTILE_TEXTS,
)
"""JSON values that replace a node."""


def flip(data: bytes, rng: random.Random) -> bytes:
    """Flip up to three bits."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3) if out else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(data: bytes, rng: random.Random) -> bytes:
    """Keep the first part."""
    return data[: rng.randrange(len(data) or 1)]


def insert(data: bytes, rng: random.Random) -> bytes:
    """Insert random bytes."""
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 20)) + data[at:]


def delete(data: bytes, rng: random.Random) -> bytes:
    """Delete up to 20 bytes."""
    at = rng.randrange(len(data) or 1)
    return data[:at] + data[at + rng.randint(1, 20) :]


def splice(data: bytes, rng: random.Random) -> bytes:
    """Copy a part over another place."""
    start, at = rng.randrange(len(data) or 1), rng.randrange(len(data) or 1)
    part = data[start : start + rng.randint(1, 200)]
    return data[:at] + part + data[at + rng.choice([0, len(part)]) :]


MUTATIONS_OF_BYTES: tuple[Mutation, ...] = (flip, cut, insert, delete, splice)


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Apply one mutation of bytes."""
    return rng.choice(MUTATIONS_OF_BYTES)(data, rng)


def resize_header(data: bytes, rng: random.Random) -> bytes:
    """Claim another size of a model file's header."""
    size = rng.choice([0, 1, len(data), 2**31, 2**63, 2**64 - 1, rng.randrange(len(data))])
    return size.to_bytes(8, "little") + data[8:]


def edit_header(data: bytes, rng: random.Random) -> bytes:
    """Change a shape, type, offset or text of the header, which stays JSON."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    mutate_tree(header, rng)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def nest(data: bytes, rng: random.Random) -> bytes:
    """Nest brackets deeper than any stack."""
    text = b'{"__metadata__":' + b"[" * rng.randrange(1000, 200_000)
    return len(text).to_bytes(8, "little") + text


MUTATIONS_OF_MODELS: tuple[Mutation, ...] = (
    *MUTATIONS_OF_BYTES,
    resize_header,
    edit_header,
    nest,
)


def reseal(data: bytes, rng: random.Random) -> bytes:
    """Write another document with a valid checksum, as only another program does."""
    document, tensors = unpack(data)
    kept = {key: value for key, value in document.items() if key not in ("format", "sha256")}
    if kept.get("schema") is not None:
        kept["schema"] = json.loads(kept["schema"])
    part = rng.choice([kept, *(value for value in kept.values() if isinstance(value, dict))])
    for _ in range(rng.choice([1, 1, 2])):
        mutate_tree(part, rng)
    if isinstance(kept.get("schema"), dict):
        kept["schema"] = json.dumps(kept["schema"])
    if tensors and rng.random() < 0.3:
        name = rng.choice(sorted(tensors))
        tensors[name] = mutate_array(tensors[name], rng)
    return pack(kept, tensors)


def mutate_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Change the shape, the type or the values of an array."""
    changed = [
        array[:0],
        array.astype("float16"),
        array.view("int32") if array.dtype == "float32" and array.ndim else array[None],
        np.zeros_like(array),
        array.T.copy(),
        array.ravel(),
        np.concatenate([array.ravel()] * 2),
        array[..., None],
    ]
    if array.dtype.kind == "f":
        one = array.ravel().copy()
        one[rng.randrange(one.size or 1) :] = rng.choice([np.nan, np.inf, 3e38, -1.0])
        changed += [np.full_like(array, np.nan), -array, one.reshape(array.shape)]
    return np.ascontiguousarray(rng.choice(changed))


def mutate_tree(tree: Any, rng: random.Random) -> None:
    """Replace, drop or rename one node of a JSON tree, or copy another node over it."""
    places = [(node, key) for node in nodes(tree) for key in keys_of(node)]
    if not places:
        return
    node, key = rng.choice(places)
    node = cast("dict[Any, Any]", node)
    kind = rng.choice(["value", "drop", "rename", "swap", "class"])
    if kind == "drop" or (kind == "rename" and type(key) is int):
        del node[key]
    elif kind == "rename":
        node[rng.choice(["__init__", *HOSTILE_TEXTS])] = node.pop(key)
    elif kind == "swap":
        other, place = rng.choice(places)
        node[key] = json.loads(json.dumps(other[place]))
    elif kind == "class":
        named = [n for n in nodes(tree) if isinstance(n, dict) and "class" in n]
        for one in named and rng.sample(named, 1):
            one["class"] = rng.choice(sorted(entry.identifier for entry in entries()))
    else:
        node[key] = rng.choice(HOSTILE_VALUES)


def nodes(tree: Any) -> Iterator[dict | list]:
    """Yield the objects and lists of a JSON tree."""
    if isinstance(tree, dict | list):
        yield tree
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from nodes(child)


def keys_of(node: dict | list) -> list:
    """Return the keys or indices of a node."""
    return list(node) if isinstance(node, dict) else list(range(len(node)))
