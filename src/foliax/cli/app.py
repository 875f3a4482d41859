"""The application with all commands, in the order of the help."""

from __future__ import annotations

import typer

from .check import check
from .compare import compare
from .demo import demo
from .fit import fit
from .info import info
from .plot import plot
from .report import report
from .reproduce import reproduce
from .sample import sample
from .schema import schema
from .score import score
from .usage import Commands

app = typer.Typer(
    name="foliax",
    cls=Commands,
    help="Fit densities to directions, angles, rotations, frames, counts and tables.\n\n"
    "Start with: foliax demo, or foliax fit your.csv",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (fit, score, sample, check, schema, plot, report, compare, info, reproduce, demo):
    app.command()(command)
