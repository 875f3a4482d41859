"""Arguments and options that several commands share."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

import typer

MAX_SEED = 2**32 - 1
"""The largest seed: JAX's random keys use 32 bits of it, so larger ones would repeat."""

MAX_STEPS = 10**9
"""Training steps that 32-bit counters hold; they take weeks."""


def check_finite(value: float) -> float:
    """Return a number; raise `typer.BadParameter` for inf, which passes a lower limit."""
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


Data = Annotated[
    Path, typer.Argument(help="Table: .csv, .tsv (.gz), .parquet, .npy or .npz.", metavar="DATA")
]
Model = Annotated[Path, typer.Argument(help="Model file that foliax fit wrote.", metavar="MODEL")]
SchemaText = Annotated[
    str | None,
    typer.Option(
        "--schema",
        "-s",
        help="Describe the columns: 'where: sphere(lat=lat, lon=lon); n: count(n)', or a .toml or "
        ".json file. By default, propose a schema.",
    ),
]
TableOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write a table file. By default, print CSV."),
]
DropInvalid = Annotated[
    bool, typer.Option("--drop-invalid", help="Drop invalid rows and print their number.")
]
Project = Annotated[
    bool, typer.Option("--project", help="Move invalid values to the nearest valid ones.")
]
Seed = Annotated[
    int,
    typer.Option(
        help="Seed of the random numbers. Equal seeds give equal results.", min=0, max=MAX_SEED
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Accept the proposed schema.")]
Steps = Annotated[
    int | None,
    typer.Option(help="Train flows for this number of steps.", min=1, max=MAX_STEPS),
]
Weights = Annotated[str | None, typer.Option(help="Column with the weights of the rows.")]
Blocks = Annotated[
    str | None,
    typer.Option(
        help="Column that labels blocks of rows that depend on each other, or a number of "
        "consecutive parts. No split separates the rows of a block; 0 declares rows independent.",
        metavar="COLUMN|N",
    ),
]

SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600}
"""Units that a time limit can have, with their length in seconds."""


def parse_time_limit(text: str | float) -> float:
    """Convert a duration such as "90s", "2m" or "1.5h" to seconds.

    Args:
        text: A positive number with an optional unit. A number without a unit is in seconds.

    Returns:
        The duration in seconds.

    Raises:
        typer.BadParameter: The text is not a positive duration.
    """
    match = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?([smh]?)", str(text).strip())
    seconds = float(match[1]) * SECONDS_PER_UNIT[match[2] or "s"] if match else 0.0
    if not 0 < seconds < math.inf:
        raise typer.BadParameter(
            f"{str(text)!r} is not a positive duration. Write, for example, 90s, 2m or 1h."
        )
    return seconds


TimeLimit = Annotated[
    float,
    typer.Option(
        help="Time limit of auto: 90s, 2m or 1h. A number without a unit is in seconds.",
        parser=parse_time_limit,
        metavar="TIME",
    ),
]


def complete_model(incomplete: str) -> list[str]:
    """Return the model names that start with what was typed, for shell completion."""
    from foliax.estimators import estimator_names

    names = [name.replace(" ", "-") for name in estimator_names()]
    return [name for name in names if name.startswith(incomplete)]


ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="Fit this model, for example auto, kernel or flow. An unknown name lists all models.",
        autocompletion=complete_model,
    ),
]
