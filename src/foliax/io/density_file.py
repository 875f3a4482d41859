"""Saving and loading a fitted density."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
from pathlib import Path
from typing import Any

import foliax

from ..atomic import replacing
from ..density import AbstractDensity
from ..estimators import AbstractEstimator
from ..manifolds import AbstractDequantization, AbstractManifold
from ..training import Record
from .codec import Decoder, Encoder, Own, identity
from .container import Document, ModelFileError, pack, unpack


@dataclasses.dataclass(frozen=True)
class Saved:
    """What a model file holds.

    `extra`: whatever JSON was saved with the density. `versions`: of the packages that wrote it.
    """

    density: AbstractDensity
    spec: AbstractEstimator | None
    record: Record | None
    extra: Any
    versions: dict[str, str]


def save(
    path: str | os.PathLike[str],
    density: AbstractDensity,
    *,
    spec: AbstractEstimator | None = None,
    record: Record | None = None,
    extra: Any = None,
) -> None:
    """Write a density, how it was described and trained, and any JSON; atomically.

    A manifold of the user's own is not stored, only described: `load` must be given it again.
    """
    data = dumps(density, spec=spec, record=record, extra=extra)
    with replacing(Path(path)) as file:
        file.write(data)


def dumps(
    density: AbstractDensity,
    *,
    spec: AbstractEstimator | None = None,
    record: Record | None = None,
    extra: Any = None,
) -> bytes:
    """What `save` writes."""
    encoder = Encoder()
    document = {
        "versions": _versions(),
        "density": encoder.encode(density, "density"),
        "spec": encoder.encode(spec, "spec"),
        "record": encoder.encode(record, "record"),
        "extra": _checked(extra),
    }
    return pack(document, encoder.tensors)


def load(path: str | os.PathLike[str], *, manifold: Own | None = None) -> Saved:
    """What `save` wrote; `ModelFileError` where the file is cut short, edited or too new.

    `manifold`: the user's own manifold, or the dequantization that the density was fitted with.
    """
    data = Path(path).read_bytes()
    try:
        return loads(data, manifold=manifold)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def loads(data: bytes, *, manifold: Own | None = None) -> Saved:
    """What `dumps` gave."""
    try:
        document, tensors = unpack(data)
        return _saved(document, Decoder(tensors, manifold))
    except ModelFileError:
        raise
    except Exception as error:
        # Whole, by its checksum, yet not what `save` writes: some class refused its fields.
        raise ModelFileError(
            f"its content does not fit foliax {foliax.__version__} "
            f"({type(error).__name__}: {str(error)[:500]}). Was it written by another program?"
        ) from error


def _saved(document: Document, decoder: Decoder) -> Saved:
    density, spec, record = (decoder.decode(document[k]) for k in ("density", "spec", "record"))
    for value, kind in (
        (density, AbstractDensity),
        (spec, AbstractEstimator | None),
        (record, Record | None),
    ):
        if not isinstance(value, kind):
            raise ModelFileError(f"it holds a {type(value).__name__} in the wrong place.")
    _check_given(density.manifold, decoder.given)
    return Saved(density, spec, record, document["extra"], dict(document["versions"]))


def _check_given(found: AbstractManifold, given: Own | None) -> None:
    if given is None:
        return
    expected = given.manifold if isinstance(given, AbstractDequantization) else given
    if identity(found) != identity(expected):
        raise ModelFileError(f"the model is on {found}, not on {expected}, the manifold passed.")


def _versions() -> dict[str, str]:
    others = {name: importlib.metadata.version(name) for name in ("jax", "equinox", "flowjax")}
    return {"foliax": foliax.__version__, **others}


def _checked(extra: Any) -> Any:
    """What JSON makes of it; an error where JSON cannot hold it."""
    try:
        return json.loads(json.dumps(extra, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"extra cannot be stored as JSON: {error}.") from error
