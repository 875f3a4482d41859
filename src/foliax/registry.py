"""Stable identifiers of classes and functions, which model files and stored trials refer to.

A class declares its own identifier: `@storable("manifolds.Sphere")`. The identifier never changes,
so that the class can be renamed and moved. This module imports nothing of foliax, so that every
module can import it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

C = TypeVar("C", bound=type)


class Entry(NamedTuple):
    """A registered class, its identifier in new files, and the old names of its fields."""

    identifier: str
    cls: type
    renamed_fields: Mapping[str, str]
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] = lambda fields: fields
    """Turns the decoded fields of an older file into those of today."""


_by_identifier: dict[str, Entry] = {}
_by_class: dict[type, Entry] = {}
_functions: dict[str, Callable] = {}


def storable(
    identifier: str,
    *,
    aliases: tuple[str, ...] = (),
    renamed_fields: Mapping[str, str] | None = None,
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] = lambda fields: fields,
) -> Callable[[C], C]:
    """Register a dataclass, an equinox module or a NamedTuple under a stable identifier.

    Put it above `@dataclass`. A class of another package: `storable("equinox.MLP")(eqx.nn.MLP)`.

    Args:
        identifier: What new files say, as `group.Name`. Never change it.
        aliases: Identifiers of older files, which load as this class.
        renamed_fields: Names of fields in older files, each with the field's name today.
        upgrade: Turns the decoded fields of an older file into those of today, where a new name is
            not enough, such as another unit.

    Returns:
        A decorator that returns the class itself.

    Raises:
        ValueError: The identifier, an alias or the class is already registered. Or `renamed_fields`
            maps to a field that the class does not have, or from one that it has.
    """
    renamed = dict(renamed_fields or {})

    def register(cls: C) -> C:
        if cls in _by_class:
            known = _by_class[cls].identifier
            raise ValueError(f"{cls.__name__} is already registered as {known!r}: use aliases=.")
        names = (identifier, *aliases)
        for name in names:
            if name in _by_identifier:
                raise ValueError(
                    f"{name!r} is the identifier of {_by_identifier[name].cls}: choose another "
                    f"for {cls}."
                )
        _check_renamed(cls, renamed)
        entry = Entry(identifier, cls, renamed, upgrade)
        _by_class[cls] = entry
        _by_identifier.update(dict.fromkeys(names, entry))
        return cls

    return register


def _check_renamed(cls: type, renamed: Mapping[str, str]) -> None:
    fields = field_names(cls)
    for old, new in renamed.items():
        if new not in fields or old in fields:
            raise ValueError(
                f"renamed_fields of {cls.__name__} maps {old!r} to {new!r}: the first must not "
                f"be a field, and the second must be one of {', '.join(fields)}."
            )


def storable_function(identifier: str, function: Callable) -> None:
    """Register a function, such as an activation, under a stable identifier.

    Args:
        identifier: The name in files. Never change it.
        function: The function.

    Raises:
        ValueError: The identifier is already registered.
    """
    if identifier in _functions:
        raise ValueError(f"{identifier!r} is the identifier of {_functions[identifier]}.")
    _functions[identifier] = function


def entry_of(cls: type) -> Entry | None:
    """Return the entry of a class, or None if it is not registered."""
    return _by_class.get(cls)


def find(identifier: str) -> Entry | None:
    """Return the entry of an identifier or alias, among the modules imported so far, or None."""
    return _by_identifier.get(identifier)


def find_function(identifier: str) -> Callable | None:
    """Return the function of an identifier, or None."""
    return _functions.get(identifier)


def function_identifier(value: object) -> str | None:
    """Return the identifier of a function, or None if it is not registered."""
    return next((name for name, function in _functions.items() if function is value), None)


def entries() -> tuple[Entry, ...]:
    """Return all registered classes, of the modules imported so far."""
    return tuple(_by_class.values())


def field_names(cls: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or a NamedTuple."""
    known: Any = cls
    if issubclass(cls, tuple):
        return known._fields
    return tuple(field.name for field in dataclasses.fields(known))
