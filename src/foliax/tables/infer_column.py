"""Infer the kind of one column from its name and its values."""

from __future__ import annotations

import numpy as np

from .column_names import split_name
from .grammar import quote
from .guess import Guess, guess_angle_unit
from .rounding import find_step

_ANGLES = {
    *("angle", "azimuth", "bearing", "heading", "aspect", "direction", "dir", "trend", "strike"),
    *("theta", "phase", "lon", "longitude", "phi", "psi"),
}
_TIMES = (
    ({"hour", "hours", "hod", "hr"}, "unit=hours", "hours of the day", 0, 24),
    ({"doy", "yday", "dayofyear"}, "unit=day_of_year", "days of the year of 365.25", 0, 366),
    ({"month", "months", "mon"}, "unit=months", "months, 1 to 12", 0, 12),
    ({"weekday", "dow", "dayofweek"}, "period=7", "days of the week", 0, 7),
)
_COUNTS = {"count", "counts", "n", "num", "number", "nr", "no", "stations", "hits", "events"}
_SHARES = {"fraction", "ratio", "probability", "prob", "share", "proportion"}
_MEASURES = {
    *("depth", "height", "distance", "length", "width", "weight", "mass", "area", "volume", "age"),
    *("speed", "size", "elevation", "altitude", "pressure", "temperature", "duration", "time"),
}


def infer_column(column: str, values: np.ndarray) -> Guess:
    """Infer what one column of numbers is: by its name if that is clear, else by its values."""
    return _skip(column, values) or _infer_periodic(column, values) or _infer_line(column, values)


def _guess(column: str, kind: str, options: str, why: str) -> Guess:
    call = f"{kind}({quote(column)}{f', {options}' if options else ''})"
    return Guess((column,), column, call, f"{column}: {why}.")


def _skip(column: str, values: np.ndarray) -> Guess | None:
    if np.ptp(values) == 0:
        why = f"left out. Every value is {values[0]:g}, so there is nothing to learn."
        return Guess((column,), column, None, f"{column}: {why}")
    labels = bool({"id", "index", "row", ""} & {*split_name(column), column})
    if labels and len(np.unique(values)) == len(values) and (values == np.round(values)).all():
        why = "left out. By its name and its distinct whole numbers it labels the rows."
        return Guess((column,), column, None, f"{column or 'the column without a name'}: {why}")
    if not column:
        why = "left out. Name it to use it."
        return Guess((column,), column, None, f"the column without a name: {why}")
    return None


def _infer_periodic(column: str, values: np.ndarray) -> Guess | None:
    words = {*split_name(column), "".join(split_name(column))}
    for names, option, what, low, high in _TIMES:
        if words & names and low <= values.min() and values.max() <= high:
            return _guess(column, "circle", option, f"{what}, which repeat, by its name")
    if words & _ANGLES and np.abs(values).max() <= 360:
        unit, why = guess_angle_unit({column: values}, (column,))
        why = why.replace("their names", "its name").replace("they reach", "it reaches")
        return _guess(column, "circle", f"unit={unit}", f"an angle by its name, in {unit} {why}")
    return None


def _infer_line(column: str, values: np.ndarray) -> Guess:
    words = set(split_name(column))
    if (values == np.round(values)).all():
        return _infer_whole(column, values, words)
    step = find_step(values)
    if step is not None:
        why = f"recorded to multiples of {step:g}, as many values are equal"
        return _guess(column, "rounded", f"step={step:g}", why)
    if words & _SHARES and values.min() > 0 and values.max() < 1:
        return _guess(column, "interval", "low=0, high=1", "between 0 and 1 by its name")
    if values.min() > 0:
        return _guess(
            column, "positive", "", f"positive, as its smallest value is {values.min():.4g}"
        )
    return _guess(column, "real", "", "real numbers, as some are not above 0")


def _infer_whole(column: str, values: np.ndarray, words: set[str]) -> Guess:
    if values.min() < 0:
        return _guess(column, "integer", "", "whole numbers, some of them negative")
    if words & _MEASURES and not words & _COUNTS and values.min() > 0:
        why = (
            "a positive measurement by its name, though all values are whole; if that is rounding, "
            f"write rounded({quote(column)}, step=1)"
        )
        return _guess(column, "positive", "", why)
    return _guess(column, "count", "", "counts, as all values are whole and none is negative")
