"""`foliax schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foliax.escaping import escape_control_characters

from . import options as o
from .console import Console, handle_errors

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the schema to a .json file for --schema."),
]


@handle_errors
def schema(
    data: o.Data,
    output: Output = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Propose a schema from a table's column names and values.

    Example: foliax schema quakes.csv -o schema.json
    """
    from foliax.atomic import open_atomic
    from foliax.tables import propose, read_table

    from . import tables

    console = Console(json_output, quiet)
    tables.check_output(output, (".json",))
    proposed, assumptions = propose(read_table(data))
    for line in assumptions:
        console.log(line)
    if output is not None:
        with open_atomic(output) as file:
            file.write(proposed.to_json().encode())
    measure = proposed.measure().label
    found = {"schema": proposed.text(), "assumed": assumptions, "measure": measure}
    console.result(found, escape_control_characters(proposed.text(), keep=""))
