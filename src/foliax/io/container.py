"""The container of a model file: safetensors, whose metadata holds one JSON document.

The document starts with `format`, an integer, and `sha256`, the digest of the file with 64 zeros in
place of the digest, so that every changed byte is detected. This module knows nothing of densities.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np
import safetensors.numpy

FORMAT = 1
"""The newest format that this foliax reads, and the one that it writes."""

METADATA_KEY = "foliax"
"""The entry of the safetensors metadata that holds the document."""

BLANK_DIGEST = "0" * 64
"""Stands for the digest while the digest is computed."""

MAX_HEADER_BYTES = 100_000_000
"""Size of the header with the document; safetensors reads no larger one."""

MAX_JSON_DEPTH = 150
"""Depth of the document; stacks of the deepest flows take a third, and Python's stack is safe."""

MAX_EMPTY_SIDE = 100_000
"""Length of a side of an array without elements, which takes no bytes of the file."""

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

    Raises:
        ModelFileError: The document is too large or too deep to be read back.
    """
    _check_depth(document)
    text = json.dumps({"format": FORMAT, "sha256": BLANK_DIGEST, **document}, allow_nan=False)
    data = safetensors.numpy.save(tensors, {METADATA_KEY: text})
    if _header_end(data[:8]) > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"the settings and the rows take more than {MAX_HEADER_BYTES // 10**6} MB. Keep no "
            "rows in the file: foliax fit --no-rows"
        )
    place = data.index(BLANK_DIGEST.encode())
    return data[:place] + _digest(data, place).encode() + data[place + len(BLANK_DIGEST) :]


def read(path: str | os.PathLike[str]) -> bytes:
    """Read a model file, but of another file only its start.

    Args:
        path: The file.

    Returns:
        Its bytes.

    Raises:
        ModelFileError: The file does not start as a model file does.
        OSError: The file cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(9)
        end = _header_end(start)
        if end <= min(os.fstat(file.fileno()).st_size, MAX_HEADER_BYTES) and start[8:] == b"{":
            start += file.read(end - 9)
            if f'"{METADATA_KEY}"'.encode() in start:
                return start + file.read()
    raise ModelFileError("it is not a foliax model, or it was cut short.")


def unpack(data: bytes) -> tuple[Document, Tensors]:
    """Return the document and the tensors of a model file.

    Args:
        data: The bytes that `pack` returned.

    Returns:
        (document, tensors).

    Raises:
        ModelFileError: The bytes are not a model file, were changed, or have a newer format.
    """
    header_end = _header_end(data)
    if header_end > min(len(data), MAX_HEADER_BYTES) or data[8:9] != b"{":
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
    tensors = safetensors.numpy.load(data)
    for name, tensor in tensors.items():
        if not tensor.size and max(tensor.shape) > MAX_EMPTY_SIDE:
            raise ModelFileError(f"tensor {name!r} has the shape {tensor.shape} and no elements.")
    return document, tensors


def _header_end(data: bytes) -> int:
    return 8 + int.from_bytes(data[:8], "little")


def _document(header: bytes) -> Document:
    try:
        metadata = _parse(header)["__metadata__"]
        document = _parse(metadata[METADATA_KEY])
    except ModelFileError:
        raise
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ModelFileError("it is not a foliax model, or its header is damaged.") from error
    if not isinstance(document, dict):
        raise ModelFileError("it is not a foliax model: its document is not a JSON object.")
    _check_depth(document)
    return document


def _parse(text: str | bytes) -> Any:
    return json.loads(text, object_pairs_hook=_build_object)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without a key twice: programs disagree on which of both holds."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("its JSON has a key twice: it was not written by foliax.")
    return found


def _check_depth(document: Document) -> None:
    """Refuse deep nesting, level by level, because a recursion could exhaust the stack."""
    level: list[Any] = [document]
    for _ in range(MAX_JSON_DEPTH):
        containers = [node for node in level if isinstance(node, dict | list | tuple)]
        level = [
            child
            for node in containers
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    raise ModelFileError(f"its document is nested more than {MAX_JSON_DEPTH} levels deep.")


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
