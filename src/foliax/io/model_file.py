"""Save and load model files: a density, how it was fitted, and the table it was fitted to."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import math
import os
from pathlib import Path
from typing import Any

import foliax

from ..atomic import open_atomic
from ..density import AbstractDensity
from ..estimators import AbstractEstimator
from ..manifolds import AbstractDequantization, AbstractManifold
from ..tables import Schema
from ..training import Record
from .codec import MAX_DENSITY_INTEGER, CustomSpace, Decoder, Encoder, fingerprint, to_json
from .container import Document, ModelFileError, Tensors, pack, read, unpack
from .limits import check_shapes
from .training_data import TrainingData

PACKAGES = ("jax", "equinox", "flowjax")
"""The packages, besides foliax, whose versions a file states."""


@dataclasses.dataclass(frozen=True)
class Model:
    """The content of a model file.

    Attributes:
        density: The fitted density.
        estimator: The estimator that fitted it, or None.
        record: The history of the fit, or None.
        schema: The schema of the table, or None if the density was fitted to points.
        training_data: Rows of the table, which a report needs, or None.
        extra: The JSON value that was saved with the density, such as the seed.
        versions: The versions of the packages that wrote the file.
    """

    density: AbstractDensity
    estimator: AbstractEstimator | None = None
    record: Record | None = None
    schema: Schema | None = None
    training_data: TrainingData | None = None
    extra: Any = None
    versions: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def about(self) -> dict[str, Any]:
        """The entries of `extra`; none if it is not a JSON object."""
        return self.extra if isinstance(self.extra, dict) else {}


def save(
    path: str | os.PathLike[str],
    density: AbstractDensity,
    *,
    estimator: AbstractEstimator | None = None,
    record: Record | None = None,
    schema: Schema | None = None,
    training_data: TrainingData | None = None,
    extra: Any = None,
) -> None:
    """Write a model file atomically.

    The file describes a custom manifold but does not contain it: pass it to `load`.

    Args:
        path: The file to create or replace.
        density: The density, of foliax's own classes.
        estimator: The estimator. None leaves it out, for example because it contains a custom
            function.
        record: The history of the fit.
        schema: The schema of the table. None if the density was fitted to points.
        training_data: Rows of the table, for `foliax report`. None keeps the data private.
        extra: Any JSON value.

    Raises:
        ModelFileError: A part cannot be stored.
        OSError: The file cannot be written. An old file stays unchanged.
    """
    model = Model(density, estimator, record, schema, training_data, extra)
    data = _pack(model)
    with open_atomic(path) as file:
        file.write(data)


def dumps(
    density: AbstractDensity,
    *,
    estimator: AbstractEstimator | None = None,
    record: Record | None = None,
    schema: Schema | None = None,
    training_data: TrainingData | None = None,
    extra: Any = None,
) -> bytes:
    """Return the bytes that `save` writes, for the same arguments.

    Raises:
        ModelFileError: A part cannot be stored.
    """
    return _pack(Model(density, estimator, record, schema, training_data, extra))


def load(path: str | os.PathLike[str], *, manifold: CustomSpace | None = None) -> Model:
    """Load a model file. Loading never runs code from the file.

    Args:
        path: A file that `save`, `foliax fit` or `DensityEstimator.save` wrote.
        manifold: The custom manifold or dequantization that the density was fitted with. None if
            foliax provides it.

    Returns:
        The density and everything that was saved with it.

    Raises:
        ModelFileError: There is no such file, it is cut short, edited or too new, or it needs
            another `manifold`.
    """
    if not Path(path).is_file():
        raise ModelFileError(
            f"There is no model file {os.fspath(path)}. Make one: foliax fit your.csv"
        )
    try:
        return loads(read(path), manifold=manifold)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def loads(data: bytes, *, manifold: CustomSpace | None = None) -> Model:
    """Load a model from the bytes that `dumps` returned.

    Args:
        data: The bytes of a model file.
        manifold: As in `load`.

    Returns:
        The density and everything that was saved with it.

    Raises:
        ModelFileError: As in `load`.
    """
    try:
        document, tensors = unpack(data)
        return _decode(document, tensors, manifold)
    except ModelFileError:
        raise
    except Exception as error:
        # The checksum is right, but a class refused its fields: `save` did not write this.
        raise ModelFileError(
            f"its content does not fit foliax {foliax.__version__} "
            f"({type(error).__name__}: {str(error)[:500]}). Was it written by another program?"
        ) from error


def load_with_schema(path: str | os.PathLike[str]) -> tuple[Model, Schema]:
    """Load a model that was fitted to a table.

    Args:
        path: As in `load`.

    Returns:
        The model and its schema.

    Raises:
        ModelFileError: As in `load`, or the file has no schema.
    """
    model = load(path)
    if model.schema is None:
        raise ModelFileError(
            f"{os.fspath(path)} has no schema: its density was fitted to points, not to columns. "
            "Load it in Python: foliax.io.load"
        )
    return model, model.schema


def _pack(model: Model) -> bytes:
    if model.schema is not None:
        _check_schema(model.schema, model.density.manifold)
    encoder = Encoder()
    document = {
        "versions": package_versions(),
        "density": encoder.encode(model.density, "density"),
        "spec": encoder.encode(model.estimator, "estimator"),
        "record": encoder.encode(model.record, "record"),
        "schema": None if model.schema is None else model.schema.to_json(),
        "training_data": None if model.training_data is None else model.training_data.to_json(),
        "extra": _as_json(model.extra),
    }
    return pack(document, encoder.tensors)


def _decode(document: Document, tensors: Tensors, custom: CustomSpace | None) -> Model:
    density = Decoder(tensors, custom, MAX_DENSITY_INTEGER).decode(document["density"])
    settings = Decoder(tensors, custom)
    estimator, record = (settings.decode(document[k]) for k in ("spec", "record"))
    for value, kind in (
        (density, AbstractDensity),
        (estimator, AbstractEstimator | None),
        (record, Record | None),
    ):
        if not isinstance(value, kind):
            raise ModelFileError(f"it holds a {type(value).__name__} in the wrong place.")
    _check_manifold(density.manifold, custom)
    schema, training_data, extra = _decode_table(document)
    if schema is not None:
        _check_schema(schema, density.manifold)
        check_shapes(density)
    return Model(
        density, estimator, record, schema, training_data, extra, dict(document["versions"])
    )


def _check_schema(schema: Schema, manifold: AbstractManifold) -> None:
    """Refuse a schema whose columns are not points of the density's manifold."""
    expected = schema.manifold()
    if not _same(to_json(expected), Encoder().encode(manifold, "manifold")):
        raise ModelFileError(
            f"the schema describes points of {expected}, but the density is on {manifold}."
        )


def _same(a: Any, b: Any) -> bool:
    """Whether JSON values are equal; floats may differ by the rounding of another processor."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def _decode_table(document: Document) -> tuple[Schema | None, TrainingData | None, Any]:
    """(schema, training data, extra), also of older files, which nest all three in `extra`."""
    extra: Any = document["extra"]
    schema, data = document.get("schema"), document.get("training_data")
    is_nested = isinstance(extra, dict) and extra.keys() == {"schema", "evidence", "about"}
    if is_nested and "schema" not in document:
        schema, data, extra = extra["schema"], extra["evidence"], extra["about"]
    try:
        return (
            None if schema is None else Schema.from_json(schema),
            None if data is None else TrainingData.from_json(data),
            extra,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"its schema or training data cannot be read: {error}") from error


def _check_manifold(found: AbstractManifold, custom: CustomSpace | None) -> None:
    if custom is None:
        return
    expected = custom.manifold if isinstance(custom, AbstractDequantization) else custom
    if fingerprint(found) != fingerprint(expected):
        raise ModelFileError(f"the model is on {found}, not on {expected}, the manifold passed.")


def package_versions() -> dict[str, str]:
    """Return the versions of foliax and of the packages on which its numbers depend."""
    others = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"foliax": foliax.__version__, **others}


def _as_json(extra: Any) -> Any:
    """The value after a round trip through JSON."""
    try:
        return json.loads(json.dumps(extra, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"extra cannot be stored as JSON: {error}.") from error
