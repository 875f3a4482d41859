"""The container of a model file: safetensors, whose metadata holds one JSON document.

The document starts with `format`, an integer, and `sha256`, the digest of the file with 64 zeros in
place of the digest, so that every changed byte is detected. This module knows nothing of densities.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import safetensors.numpy

FORMAT = 1
"""The newest format that this foliax reads, and the one that it writes."""

METADATA_KEY = "foliax"
"""The entry of the safetensors metadata that holds the document."""

BLANK_DIGEST = "0" * 64
"""Stands for the digest while the digest is computed."""

Document = dict[str, Any]
Tensors = dict[str, np.ndarray]


class ModelFileError(ValueError):
    """A model file cannot be written or read; the message says why and how to fix it."""


def pack(document: Document, tensors: Tensors) -> bytes:
    """Return the bytes of a model file.

    Args:
        document: JSON values. `format` and `sha256` are added.
        tensors: Arrays by name.

    Returns:
        The bytes, with their checksum.
    """
    text = json.dumps({"format": FORMAT, "sha256": BLANK_DIGEST, **document}, allow_nan=False)
    data = safetensors.numpy.save(tensors, {METADATA_KEY: text})
    place = data.index(BLANK_DIGEST.encode())
    return data[:place] + _digest(data, place).encode() + data[place + len(BLANK_DIGEST) :]


def unpack(data: bytes) -> tuple[Document, Tensors]:
    """Return the document and the tensors of a model file.

    Args:
        data: The bytes that `pack` returned.

    Returns:
        (document, tensors).

    Raises:
        ModelFileError: The bytes are not a model file, were changed, or have a newer format.
    """
    header_end = 8 + int.from_bytes(data[:8], "little")
    if header_end > len(data) or data[8:9] != b"{":
        raise ModelFileError("it is not a foliax model, or it was cut short.")
    document = _document(data[8:header_end])
    _check_format(document)
    claimed = str(document.get("sha256"))
    place = data.find(claimed.encode(errors="replace"), 8, header_end)
    if len(claimed) != len(BLANK_DIGEST) or place < 0 or _digest(data, place) != claimed:
        raise ModelFileError(
            "its checksum is wrong: it was cut short, damaged or edited. Copy the original "
            "again, or fit again."
        )
    return document, safetensors.numpy.load(data)


def _document(header: bytes) -> Document:
    try:
        document = json.loads(json.loads(header)["__metadata__"][METADATA_KEY])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ModelFileError("it is not a foliax model, or its header is damaged.") from error
    if not isinstance(document, dict):
        raise ModelFileError("it is not a foliax model: its document is not a JSON object.")
    return document


def _check_format(document: Document) -> None:
    found = document.get("format")
    if type(found) is not int or found < 1:
        raise ModelFileError("it does not state its format: it is damaged or edited.")
    if found > FORMAT:
        raise ModelFileError(
            f"it has format {found}, and this foliax reads formats up to {FORMAT}. "
            "Upgrade foliax, or save the model with an older one."
        )


def _digest(data: bytes, place: int) -> str:
    """SHA-256 of the bytes with the digest itself blanked."""
    view = memoryview(data)
    digest = hashlib.sha256(view[:place])
    digest.update(BLANK_DIGEST.encode())
    digest.update(view[place + len(BLANK_DIGEST) :])
    return digest.hexdigest()
