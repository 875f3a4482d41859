"""Results as JSON: blanks are null, and times, bytes and NumPy's values have a plain form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from foliax.escaping import CONTROL_CHARACTERS


def to_json(value: Any) -> str:
    """Return a result as one line of JSON.

    Args:
        value: Dictionaries, lists and plain values. NaN, infinities and the blanks of pandas become
            null. Times are in ISO 8601, bytes are decoded as UTF-8.

    Returns:
        The text, without characters that control a terminal.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_simplify)
    except (TypeError, ValueError):
        text = json.dumps(_clean(value), ensure_ascii=False, allow_nan=False)
    return CONTROL_CHARACTERS.sub(_escape, text)


def _clean(value: Any) -> Any:
    """Replace what JSON cannot hold, at any depth."""
    if isinstance(value, Mapping):
        return {str(_simplify_scalar(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return _clean(_simplify(value))


def _simplify(value: Any) -> Any:
    """Turn a value that JSON does not know into one that it knows."""
    import numpy as np
    import pandas as pd

    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if isinstance(value, np.floating):  # tolist() of a long double keeps it as it is
        return float(value)
    if hasattr(value, "tolist"):  # NumPy's arrays and other scalars
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return _simplify_scalar(value)


def _simplify_scalar(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)


def _escape(match: Any) -> str:
    return json.dumps(match[0])[1:-1]
