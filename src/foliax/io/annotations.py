"""Check values read from a file against the annotations of their class."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeVar, Union

import jax
import paramax
from jaxtyping import jaxtyped

from .container import ModelFileError


def check_field(cls: type, name: str, value: Any) -> None:
    """Raise `ModelFileError` if the class has no such field or annotates another type."""
    hints = _hints(cls)
    if name not in hints:
        raise ModelFileError(f"this foliax's {cls.__name__} has no field {name!r}: upgrade foliax.")
    # Sizes that a caller's annotations have bound, such as "n", are not those of the file.
    with jaxtyped("context"):
        is_right = fits(value, hints[name])
    if not is_right:
        raise ModelFileError(f"{cls.__name__}.{name} cannot be {str(value)[:200]}.")


def is_float_field(cls: type, name: str) -> bool:
    """Return whether a class annotates a field as a float; its value may be a whole number."""
    return _hints(cls).get(name) is float


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value has an annotated type; a wrapped array (paramax) is an array."""
    if isinstance(value, paramax.AbstractUnwrappable) and is_array_type(hint):
        return True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    if origin is tuple and inner:
        return isinstance(value, tuple) and _items_fit(value, inner)
    if origin is list and inner:
        return isinstance(value, list) and all(fits(item, inner[0]) for item in value)
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is Callable or hint is Any or isinstance(hint, TypeVar):
        return True
    return isinstance(value, origin or hint)


def _items_fit(values: tuple, inner: tuple) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(fits(value, inner[0]) for value in values)
    return len(values) == len(inner) and all(map(fits, values, inner))


def is_array_type(hint: Any) -> bool:
    """Return whether an annotation means a JAX array, with or without a shape."""
    return isinstance(hint, type) and issubclass(getattr(hint, "array_type", hint), jax.Array)
