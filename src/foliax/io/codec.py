"""Encode objects as JSON and tensors, and decode them without importing what a file names.

None, bool, int, str and finite floats stand for themselves, and a JSON list for a tuple. Other
values have a tag: {"float": "nan"}, {"list": […]}, {"dict": {…}}, {"array": name}, {"numpy": name},
{"function": name} and {"class": identifier, "fields": {…}} of `foliax.registry`. A custom manifold
or dequantization is {"own": …}, which only describes it.
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
from .annotations import check_field, is_float_field
from .classes import import_storable_modules
from .container import ModelFileError, Tensors
from .limits import check_size

Json = Any
CustomSpace = AbstractManifold | AbstractDequantization
"""A manifold or a dequantization that the user defines."""

STORABLE_DTYPES = "biuf"
"""Kinds of NumPy dtypes that a file holds: booleans, integers, floats."""

MAX_INTEGER = 2**63
"""Absolute value of an integer in settings and records."""

MAX_DENSITY_INTEGER = 2**20
"""Absolute value of an integer in a density: sizes, steps of an integrator, numbers of nodes."""

MAX_TEXT_CHARACTERS = 2000
"""Length of a value's text in an error or a description."""


def to_json(value: Any) -> Json:
    """Encode a value without arrays, such as an estimator's settings, as JSON.

    Args:
        value: A plain value, or an instance of a storable class.

    Returns:
        JSON that `from_json` decodes.

    Raises:
        ModelFileError: The value contains an array or an unknown class or function.
    """
    encoder = Encoder()
    node = encoder.encode(value, type(value).__name__)
    if encoder.tensors:
        raise ModelFileError(f"{_plain(value)} contains arrays, which JSON cannot hold.")
    return node


def from_json(node: Json) -> Any:
    """Decode the value that `to_json` encoded.

    Args:
        node: JSON of `to_json`.

    Returns:
        The value.

    Raises:
        ValueError: This foliax does not have one of the classes or fields.
    """
    return Decoder({}, None).decode(node)


class Encoder:
    """Encode objects as JSON and collect their arrays in `tensors`, equal arrays once."""

    def __init__(self):
        self.tensors: Tensors = {}
        self._names: dict[tuple, str] = {}

    def encode(self, value: Any, where: str) -> Json:
        """Return the JSON of a value; `where` names it in errors."""
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
        if isinstance(value, CustomSpace):
            return {"own": fingerprint(value)}
        return self._function(value, where)

    def _items(self, values: tuple | list, where: str) -> Json:
        return [self.encode(v, f"{where}[{i}]") for i, v in enumerate(values)]

    def _function(self, value: Any, where: str) -> Json:
        name = function_identifier(value)
        if name is not None:
            return {"function": name}
        raise ModelFileError(
            f"{where} is {_plain(value)}: a model file holds numbers and foliax's own classes "
            "only. Use an ambient density, a dequantizer and a density that foliax provides. "
            "Omit an estimator that contains your own function: estimator=None."
        )

    def _tensor(self, value: jax.Array | np.ndarray, where: str) -> str:
        if (
            jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
            or value.dtype.kind not in STORABLE_DTYPES
        ):
            raise ModelFileError(f"{where} is an array of {value.dtype}, which cannot be stored.")
        array = np.asarray(value, order="C")
        if np.isnan(array).any():
            raise ModelFileError(f"{where} holds NaN, by which no density is defined. Fit again.")
        content = (array.shape, str(array.dtype), hashlib.sha256(array.tobytes()).digest())
        name = self._names.setdefault(content, str(len(self._names)))
        self.tensors[name] = array
        return name


class Decoder:
    """Decode JSON to objects; `custom` is the custom manifold or dequantization, if any."""

    def __init__(
        self, tensors: Tensors, custom: CustomSpace | None, max_integer: int = MAX_INTEGER
    ):
        import_storable_modules()
        self.max_integer = max_integer
        self.tensors = tensors
        self.custom = custom
        self._arrays: dict[str, jax.Array] = {}

    def decode(self, node: Json) -> Any:
        """Return the value of a JSON node."""
        match node:
            case int() if abs(node) > self.max_integer:
                bits = node.bit_length()
                raise ModelFileError(f"it holds an integer of {bits} bits: too large.")
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
                return self._find_custom(described)
        raise ModelFileError(f"it holds {_plain(node)}, which this foliax does not know.")

    def _tensor(self, name: str) -> np.ndarray:
        if name not in self.tensors:
            raise ModelFileError(f"tensor {name!r} is missing.")
        tensor = self.tensors[name]
        if np.isnan(tensor).any():
            raise ModelFileError(f"tensor {name!r} holds NaN, by which no density is defined.")
        return tensor

    def _array(self, name: str) -> jax.Array:
        tensor = self._tensor(name)
        if jax.dtypes.canonicalize_dtype(tensor.dtype) != tensor.dtype:
            raise ModelFileError(
                f"the model was fitted in {tensor.dtype}, which needs JAX's x64 mode: call "
                "jax.config.update('jax_enable_x64', True) before anything else."
            )
        if name not in self._arrays:
            # `jnp.asarray` would compile a program for every shape; `device_put` compiles none.
            self._arrays[name] = jax.device_put(tensor)
        return self._arrays[name]

    def _object(self, name: str, fields: dict[str, Json]) -> Any:
        entry = find(name)
        if entry is None:
            raise ModelFileError(f"it holds a {_plain(name)}, which this foliax does not know.")
        cls, values = entry.cls, {}
        for stored_as, node in fields.items():
            key = entry.renamed_fields.get(stored_as, stored_as)
            if key in values:
                raise ModelFileError(f"it holds the field {key!r} of a {cls.__name__} twice.")
            # A bound of an interval may be a whole number, and is no size.
            is_number = type(node) is int and is_float_field(cls, key) and abs(node) <= MAX_INTEGER
            values[key] = float(node) if is_number else self.decode(node)
        values = entry.upgrade(values)
        for key, value in values.items():
            check_field(cls, key, value)
        found = build_module(cls, values) if issubclass(cls, eqx.Module) else cls(**values)
        check_size(found)
        return found

    def _find_custom(self, described: dict[str, Json]) -> CustomSpace:
        if self.custom is None:
            raise ModelFileError(
                f"the model is on a custom manifold, {described.get('text')}: pass it, "
                "load(path, manifold=…)."
            )
        for part in iterate_parts(self.custom):
            if fingerprint(part) == described:
                return part
        raise ModelFileError(
            f"the model is on {described.get('text')}, which is not part of {self.custom}, the "
            "manifold that was passed."
        )


def build_module(cls: type[eqx.Module], values: dict[str, Any]) -> eqx.Module:
    """Build a module from its fields, as JAX unflattens one, and check its invariants.

    Args:
        cls: The class of the module. Its `__init__` does not run.
        values: Values of fields. Missing fields take their defaults.

    Returns:
        The module.

    Raises:
        ModelFileError: A field without a default is missing.
        ValueError: The class refuses the values.
    """
    module = object.__new__(cls)
    for field in dataclasses.fields(cls):
        value = values[field.name] if field.name in values else field_default(cls, field)
        object.__setattr__(module, field.name, value)
    for kind in cls.__mro__:
        if "__check_init__" in vars(kind):
            vars(kind)["__check_init__"](module)
    return module


def field_default(cls: type, field: dataclasses.Field) -> Any:
    """Return the default of a field that an older file does not have."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    raise ModelFileError(f"{cls.__name__} lacks its {field.name}.")


def fingerprint(value: CustomSpace) -> dict[str, str]:
    """Identify a custom manifold by its text and a checksum of its arrays."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(eqx.filter(value, eqx.is_array)):
        digest.update(f"{leaf.shape}{leaf.dtype}".encode() + np.asarray(leaf).tobytes())
    return {"text": _plain(value), "arrays": digest.hexdigest()}


def iterate_parts(space: CustomSpace) -> Iterator[CustomSpace]:
    """Yield the manifolds and dequantizations inside, with default dequantizations."""
    for part in _nested_spaces(space):
        yield part
        if isinstance(part, AbstractManifold):
            # A manifold without a default dequantization raises ValueError.
            with contextlib.suppress(ValueError):
                yield from _nested_spaces(part.dequantization())


def _nested_spaces(value: Any) -> Iterator[CustomSpace]:
    if isinstance(value, CustomSpace):
        yield value
    if isinstance(value, tuple):
        for item in value:
            yield from _nested_spaces(item)
    elif isinstance(value, eqx.Module):
        for name in field_names(type(value)):
            yield from _nested_spaces(getattr(value, name))


def _plain(value: Any) -> str:
    """A value's text without memory addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:MAX_TEXT_CHARACTERS]
