"""`foliax check` and `foliax schema`: what a table is, and what in it will harm a density."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .console import NO, Console, guarded

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the schema as JSON, for --schema.")
]


@guarded
def check(
    data: o.Data,
    schema: o.SchemaText = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Audit a table before anything is fitted; exit code 1 where something is wrong.

    Examples:

      foliax check quakes.csv

      foliax check quakes.csv -s 'where: sphere(lat=lat, lon=long)'
    """
    from foliax.tables import audit, read_table

    from . import tables

    console = Console(json_output, quiet)
    frame = read_table(data)
    stated = tables.schema_for(console, frame, schema, yes=True)
    found = audit(frame, stated)
    errors = sum(finding.severity == "error" for finding in found)
    listed = [finding._asdict() for finding in found]
    text = "\n".join([*(str(finding) for finding in found), _verdict(errors, len(found) - errors)])
    console.result({"ok": not errors, "schema": stated.text(), "findings": listed}, text)
    if errors:
        raise typer.Exit(NO)


def _verdict(errors: int, warnings: int) -> str:
    counts = {"error": errors, "warning": warnings}
    said = [f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items() if n]
    return f"{', '.join(said)}." if said else "Nothing is wrong."


@guarded
def schema(
    data: o.Data,
    output: Output = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Propose a schema from a table's names and values, and say what it assumes.

    Example: foliax schema quakes.csv -o schema.json
    """
    from foliax.tables import propose, read_table

    from . import tables

    console = Console(json_output, quiet)
    tables.check_output(output, (".json",))
    proposed, assumed = propose(read_table(data))
    for line in assumed:
        console.say(line)
    if output is not None:
        from foliax.atomic import replacing

        with replacing(output) as file:
            file.write(proposed.to_json().encode())
    measure = proposed.measure().label
    found = {"schema": proposed.text(), "assumed": assumed, "measure": measure}
    console.result(found, proposed.text())
