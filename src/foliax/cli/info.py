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

    content, schema = io.load_with_schema(model)
    found = describe(content, schema)
    shown = found | _format_mass(content.record)
    text = "\n".join(f"{name}: {_format_value(value)}" for name, value in shown.items())
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
        found["total mass"] = record.mass
    return found | {"events": record.events}


def _format_mass(record: Record | None) -> dict[str, str]:
    """The total mass as text, with its error, and whether that is small enough."""
    from foliax.evaluation.mass import mass_is_measured

    if record is None or record.mass is None:
        return {}
    shown = "{:.4f} ± {:.4f}".format(*record.mass)
    unknown = "" if mass_is_measured(record) else ", too uncertain to tell whether it is 1"
    return {"total mass": shown + unknown}


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
