"""Objects as JSON and tensors, and back, without calling anything that a file names.

None, bool, int, str and finite floats are themselves, tuples are lists; all else has a tag:
{"float": "nan"}, {"list": […]}, {"dict": {…}}, {"array": name}, {"numpy": name}, {"function": name}
and {"class": identifier, "fields": {…}} of `foliax.registry`, and {"own": …} for a manifold or
dequantization of the user's own, of which only a description is kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import re
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..manifolds import AbstractDequantization, AbstractManifold
from ..registry import entry_of, field_names, find, find_function, function_identifier
from .annotations import check_field
from .classes import import_storable_modules
from .container import ModelFileError, Tensors
from .flowjax_functions import recognised

Json = Any
Own = AbstractManifold | AbstractDequantization
STORED = "biuf"
"""Kinds of numbers that are stored: booleans, whole numbers, floats."""


def to_json(value: Any) -> Json:
    """A value without arrays, such as a spec, as JSON that `from_json` reads.

    Raises:
        ModelFileError: It holds an array, or what a model file cannot hold.
    """
    encoder = Encoder()
    node = encoder.encode(value, type(value).__name__)
    if encoder.tensors:
        raise ModelFileError(f"{_plain(value)} holds arrays, which JSON does not.")
    return node


def from_json(node: Json) -> Any:
    """The value that `to_json` was given.

    Raises:
        ValueError: Its classes or fields are not those of this foliax.
    """
    return Decoder({}, None).decode(node)


class Encoder:
    """Objects to JSON; the arrays are collected, equal ones once."""

    def __init__(self):
        self.tensors: Tensors = {}
        self._names: dict[tuple, str] = {}

    def encode(self, value: Any, where: str) -> Json:
        """The JSON of a value; `where` says in an error which one it was."""
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, jax.Array):
            return {"array": self._tensor(value, where)}
        if isinstance(value, np.ndarray):
            return {"numpy": self._tensor(value, where)}
        if type(value) is tuple:
            return self._items(value, where)
        if type(value) is list:
            return {"list": self._items(value, where)}
        if type(value) is dict:
            return {"dict": {k: self.encode(v, f"{where}.{k}") for k, v in value.items()}}
        if (entry := entry_of(type(value))) is not None:
            names = field_names(entry.cls)
            fields = {k: self.encode(getattr(value, k), f"{where}.{k}") for k in names}
            return {"class": entry.identifier, "fields": fields}
        if isinstance(value, Own):
            return {"own": identity(value)}
        return self._function(value, where)

    def _items(self, values: tuple | list, where: str) -> Json:
        return [self.encode(v, f"{where}[{i}]") for i, v in enumerate(values)]

    def _function(self, value: Any, where: str) -> Json:
        name = function_identifier(value)
        if name is not None:
            return {"function": name}
        stand_in = recognised(value)
        if stand_in is None:
            raise ModelFileError(
                f"{where} is {_plain(value)}: a model file holds numbers and foliax's own classes "
                "only. Use an ambient density, a dequantizer and a density that foliax brings; "
                "a spec with a function of yours can be left out: spec=None."
            )
        return self.encode(stand_in, where)

    def _tensor(self, value: jax.Array | np.ndarray, where: str) -> str:
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key) or value.dtype.kind not in STORED:
            raise ModelFileError(f"{where} is an array of {value.dtype}, which cannot be stored.")
        array = np.asarray(value, order="C")
        content = (array.shape, str(array.dtype), hashlib.sha256(array.tobytes()).digest())
        name = self._names.setdefault(content, str(len(self._names)))
        self.tensors[name] = array
        return name


class Decoder:
    """JSON to objects; `given` is the user's own manifold or dequantization, where there is one."""

    def __init__(self, tensors: Tensors, given: Own | None):
        import_storable_modules()
        self.tensors = tensors
        self.given = given

    def decode(self, node: Json) -> Any:
        """The value of a JSON node."""
        match node:
            case None | bool() | int() | float() | str():
                return node
            case list():
                return tuple(self.decode(item) for item in node)
            case {"float": str(text)} if len(node) == 1:
                return float(text)
            case {"list": list(items)} if len(node) == 1:
                return [self.decode(item) for item in items]
            case {"dict": dict(items)} if len(node) == 1:
                return {key: self.decode(item) for key, item in items.items()}
            case {"array": str(name)} if len(node) == 1:
                return self._array(name)
            case {"numpy": str(name)} if len(node) == 1:
                return self._tensor(name)
            case {"function": str(name)} if len(node) == 1 and (found := find_function(name)):
                return found
            case {"class": str(name), "fields": dict(fields)} if len(node) == 2:
                return self._object(name, fields)
            case {"own": dict(described)} if len(node) == 1:
                return self._own(described)
        raise ModelFileError(f"it holds {_plain(node)}, which this foliax does not know.")

    def _tensor(self, name: str) -> np.ndarray:
        if name not in self.tensors:
            raise ModelFileError(f"tensor {name!r} is missing.")
        return self.tensors[name]

    def _array(self, name: str) -> jax.Array:
        tensor = self._tensor(name)
        if jax.dtypes.canonicalize_dtype(tensor.dtype) != tensor.dtype:
            raise ModelFileError(
                f"the model was fitted in {tensor.dtype}, which needs JAX's x64 mode: call "
                "jax.config.update('jax_enable_x64', True) before anything else."
            )
        # Put, not converted: `jnp.asarray` would compile something for every shape.
        return jax.device_put(tensor)

    def _object(self, name: str, fields: dict[str, Json]) -> Any:
        entry = find(name)
        if entry is None:
            raise ModelFileError(f"it holds a {_plain(name)}, which this foliax does not know.")
        cls, values = entry.cls, {}
        for stored_as, node in fields.items():
            key = entry.renamed_fields.get(stored_as, stored_as)
            if key in values:
                raise ModelFileError(f"it holds the field {key!r} of a {cls.__name__} twice.")
            values[key] = self.decode(node)
        values = entry.upgrade(values)
        for key, value in values.items():
            check_field(cls, key, value)
        return made(cls, values) if issubclass(cls, eqx.Module) else cls(**values)

    def _own(self, described: dict[str, Json]) -> Own:
        if self.given is None:
            raise ModelFileError(
                f"the model is on a manifold of your own, {described.get('text')}: pass it, "
                "load(path, manifold=…)."
            )
        for part in parts_of(self.given):
            if identity(part) == described:
                return part
        raise ModelFileError(
            f"the model is on {described.get('text')}, which is no part of {self.given}, the "
            "manifold that was passed."
        )


def made(cls: type[eqx.Module], values: dict[str, Any]) -> eqx.Module:
    """The module of those fields, as JAX itself puts modules together again; then checked."""
    module = object.__new__(cls)
    for field in dataclasses.fields(cls):
        value = values[field.name] if field.name in values else default(cls, field)
        object.__setattr__(module, field.name, value)
    for kind in cls.__mro__:
        if "__check_init__" in vars(kind):
            vars(kind)["__check_init__"](module)
    return module


def default(cls: type, field: dataclasses.Field) -> Any:
    """What a field is where an older file does not have it."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    raise ModelFileError(f"{cls.__name__} lacks its {field.name}.")


def identity(value: Own) -> dict[str, str]:
    """What tells a user's manifold from another: its text, and a checksum of its arrays."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(eqx.filter(value, eqx.is_array)):
        digest.update(f"{leaf.shape}{leaf.dtype}".encode() + np.asarray(leaf).tobytes())
    return {"text": _plain(value), "arrays": digest.hexdigest()}


def parts_of(given: Own) -> Iterator[Own]:
    """The manifolds and dequantizations inside, and the dequantizations that those would choose."""
    for part in _inside(given):
        yield part
        if isinstance(part, AbstractManifold):
            # A manifold without a default dequantization says so by a ValueError.
            with contextlib.suppress(ValueError):
                yield from _inside(part.dequantization())


def _inside(value: Any) -> Iterator[Own]:
    if isinstance(value, Own):
        yield value
    if isinstance(value, tuple):
        for item in value:
            yield from _inside(item)
    elif isinstance(value, eqx.Module):
        for name in field_names(type(value)):
            yield from _inside(getattr(value, name))


def _plain(value: Any) -> str:
    """A value's text without where things lie in memory, which differs between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:2000]
