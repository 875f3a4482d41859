"""All commands, in the order of the help."""

from __future__ import annotations

import typer

from .check import check, schema
from .compare import compare
from .demo import demo
from .fit import fit
from .look import info, plot
from .report import report
from .reproduce import reproduce
from .score import sample, score

app = typer.Typer(
    name="foliax",
    help="Densities where your data lives: spheres, angles, rotations, frames, counts, tables.\n\n"
    "Start with: foliax demo, or foliax fit your.csv",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (fit, score, sample, check, schema, plot, report, compare, info, reproduce, demo):
    app.command()(command)
