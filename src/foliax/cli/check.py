"""`foliax check`."""

from __future__ import annotations

import typer

from foliax.escaping import escape_control_characters

from . import options as o
from .console import CHECK_FAILED, Console, handle_errors


@handle_errors
def check(
    data: o.Data,
    schema: o.SchemaText = None,
    blocks: o.Blocks = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Check a table for problems before fitting.

    Exit with code 1 if there are errors.

    Examples:

      foliax check quakes.csv

      foliax check quakes.csv -s 'where: sphere(lat=lat, lon=long)'

      foliax check track.csv --blocks day
    """
    from foliax.tables import audit, read_table
    from foliax.tables.correlated import read_blocks

    from . import tables

    console = Console(json_output, quiet)
    frame = read_table(data)
    others = tables.drop_row_columns(frame, tables.RowColumns(blocks=blocks))
    parsed = tables.choose_schema(console, others, schema, yes=True)
    # Blocks of one row each change nothing: what is found without blocks is also found with them.
    if blocks is not None and blocks not in frame.columns and blocks.isdecimal():
        blocks = None if int(blocks) == len(frame) > 0 else blocks
    findings = audit(frame, parsed, None if blocks is None else read_blocks(frame, blocks))
    errors = sum(finding.severity == "error" for finding in findings)
    verdict = _verdict(errors, len(findings) - errors)
    console.result(
        {
            "ok": not errors,
            "schema": parsed.text(),
            "findings": [finding._asdict() for finding in findings],
        },
        "\n".join([*(escape_control_characters(str(f), keep="") for f in findings), verdict]),
    )
    if errors:
        raise typer.Exit(CHECK_FAILED)


def _verdict(errors: int, warnings: int) -> str:
    counts = {"error": errors, "warning": warnings}
    parts = [f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items() if n]
    return f"{', '.join(parts)}." if parts else "No problems found."
