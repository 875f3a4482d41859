"""The outer shell of a model file: safetensors, whose metadata holds one JSON document.

The document's first entries are `format`, a whole number, and `sha256`, that of the file's own
bytes with 64 zeros in its place: no byte can change unseen. Nothing here knows of densities.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import safetensors.numpy

FORMAT = 1
KEY = "foliax"
BLANK = "0" * 64

Document = dict[str, Any]
Tensors = dict[str, np.ndarray]


class ModelFileError(ValueError):
    """A model file that cannot be written, or read: what, where, and what mends it."""


def pack(document: Document, tensors: Tensors) -> bytes:
    """The bytes of a model file."""
    text = json.dumps({"format": FORMAT, "sha256": BLANK, **document}, allow_nan=False)
    data = safetensors.numpy.save(tensors, {KEY: text})
    place = data.index(BLANK.encode())
    return data[:place] + _digest(data, place).encode() + data[place + len(BLANK) :]


def unpack(data: bytes) -> tuple[Document, Tensors]:
    """What `pack` was given; an error where the bytes are not the ones it made."""
    header_end = 8 + int.from_bytes(data[:8], "little")
    if header_end > len(data) or data[8:9] != b"{":
        raise ModelFileError("it is no foliax model, or was cut short.")
    document = _document(data[8:header_end])
    _check_format(document)
    claimed = str(document.get("sha256"))
    place = data.find(claimed.encode(errors="replace"), 8, header_end)
    if len(claimed) != len(BLANK) or place < 0 or _digest(data, place) != claimed:
        raise ModelFileError(
            "its checksum is wrong: it was cut short, damaged or edited. Copy it again from where "
            "it is whole, or fit again."
        )
    return document, safetensors.numpy.load(data)


def _document(header: bytes) -> Document:
    try:
        document = json.loads(json.loads(header)["__metadata__"][KEY])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ModelFileError("it is no foliax model, or its header is damaged.") from error
    if not isinstance(document, dict):
        raise ModelFileError("it is no foliax model: its document is not a JSON object.")
    return document


def _check_format(document: Document) -> None:
    found = document.get("format")
    if type(found) is not int or found < 1:
        raise ModelFileError("it does not say which format it has: it is damaged or edited.")
    if found > FORMAT:
        raise ModelFileError(
            f"it has format {found}, and this foliax reads formats up to {FORMAT}. "
            "Upgrade foliax, or save the model with an older one."
        )


def _digest(data: bytes, place: int) -> str:
    """SHA-256 of the bytes with the digest's own place blanked."""
    view = memoryview(data)
    digest = hashlib.sha256(view[:place])
    digest.update(BLANK.encode())
    digest.update(view[place + len(BLANK) :])
    return digest.hexdigest()
