"""`foliax info`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foliax.escaping import escape_control_characters

from . import options as o
from .console import Console, handle_errors

if TYPE_CHECKING:
    from foliax.io import Model
    from foliax.tables import Schema
    from foliax.training import Record


@handle_errors
def info(model: o.Model, json_output: o.Json = False, quiet: o.Quiet = False) -> None:
    """Print the content of a model file: schema, measure, fit and versions.

    Example: foliax info quakes.foliax
    """
    from foliax import io

    found = describe(*io.load_with_schema(model))
    text = "\n".join(f"{name}: {_format_value(value)}" for name, value in found.items())
    Console(json_output, quiet).result(found, text)


def describe(model: Model, schema: Schema) -> dict[str, Any]:
    """Describe a model file.

    Args:
        model: The content of the file.
        schema: Its schema.

    Returns:
        Values by name. What the user saved is under `extra`, so that it overrides nothing else.
    """
    found: dict[str, Any] = {
        "schema": schema.text(),
        "columns": list(schema.columns),
        "manifold": str(model.density.manifold),
        "measure": schema.measure().label,
        "density": type(model.density).__name__,
    }
    if model.training_data is not None:
        data = model.training_data
        found |= {"rows": data.train.total, "held out": data.test.total}
    found["versions"] = model.versions
    if model.record is not None:
        found |= _describe_record(model.record)
    return found | {"extra": model.extra}


def _describe_record(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {"parameters": record.parameters, "seconds": record.seconds}
    if record.mass is not None:
        found["total mass"] = "{:.4f} ± {:.4f}".format(*record.mass)
    return found | {"events": record.events}


def _format_value(value: Any) -> str:
    """One line for a value; one indented line for each item of a list or a dictionary."""
    if isinstance(value, list):
        return "".join(f"\n  {_escape(item)}" for item in value)
    if isinstance(value, dict):
        return "".join(f"\n  {_escape(key)}: {_escape(item)}" for key, item in value.items())
    return _escape(value)


def _escape(value: Any) -> str:
    """Text on one line."""
    return escape_control_characters(str(value), keep="")
