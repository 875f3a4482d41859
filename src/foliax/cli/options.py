"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    int, typer.Option(help="Seed of the random numbers. Equal seeds give equal results.", min=0)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Accept the proposed schema.")]
Minutes = Annotated[float, typer.Option(help="Time limit of auto, in minutes.", min=0.01)]
Steps = Annotated[int | None, typer.Option(help="Train flows for this number of steps.", min=1)]
Weights = Annotated[str | None, typer.Option(help="Column with the weights of the rows.")]
Blocks = Annotated[
    str | None,
    typer.Option(
        help="Column that labels blocks of rows that depend on each other, or a number of "
        "consecutive parts. No split separates the rows of a block; 0 declares rows independent.",
        metavar="COLUMN|N",
    ),
]

MODELS = ("auto", "kernel", "local-kernel", "mixture", "flow")
"""Names that `get_estimator` accepts, repeated so that `--help` does not import JAX."""


def complete_model(incomplete: str) -> list[str]:
    """Return the model names that start with what was typed, for shell completion."""
    return [name for name in MODELS if name.startswith(incomplete)]


ModelName = Annotated[
    str,
    typer.Option(
        "--model", "-m", help=f"Fit one of {', '.join(MODELS)}.", autocompletion=complete_model
    ),
]
