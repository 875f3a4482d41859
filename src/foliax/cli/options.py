"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path, typer.Argument(help="A table: .csv, .tsv (.gz), .parquet, .npy or .npz.", metavar="DATA")
]
Model = Annotated[Path, typer.Argument(help="A model that foliax fit wrote.", metavar="MODEL")]
SchemaText = Annotated[
    str | None,
    typer.Option(
        "--schema",
        "-s",
        help="What the columns are: 'where: sphere(lat=lat, lon=lon); n: count(n)', or a .toml or "
        ".json file. Without it one is proposed.",
    ),
]
DropInvalid = Annotated[
    bool, typer.Option("--drop-invalid", help="Leave invalid rows out, and say how many.")
]
Project = Annotated[
    bool, typer.Option("--project", help="Move invalid values to the nearest valid ones.")
]
Seed = Annotated[int, typer.Option(help="Same seed, same result.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Go on with the proposed schema.")]
Minutes = Annotated[float, typer.Option(help="Auto's time budget.", min=0.01)]
Steps = Annotated[
    int | None, typer.Option(help="Steps of a flow's training, instead of the usual.", min=1)
]
Weights = Annotated[str | None, typer.Option(help="A column with the rows' weights.")]
MODELS = ("auto", "kernel", "local-kernel", "mixture", "flow")


def complete_model(typed: str) -> list[str]:
    """For the shell's tab key."""
    return [name for name in MODELS if name.startswith(typed)]


ModelName = Annotated[
    str, typer.Option("--model", "-m", help=", ".join(MODELS), autocompletion=complete_model)
]
