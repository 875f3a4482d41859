"""Run commands in this process."""

import json
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from foliax.cli import app

QUAKES = Path(__file__).parents[2] / "src" / "foliax" / "data" / "quakes.csv"


def run(*words, code: int = 0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def run_json(*words, code: int = 0) -> dict:
    return json.loads(run(*words, "--json", code=code).stdout)


def run_all(folder: Path, frame: pd.DataFrame, schema: str, *how) -> tuple[pd.DataFrame, ...]:
    """Run fit, score, sample and plot; return (scores, samples)."""
    data, model = folder / "data.csv", folder / "data.foliax"
    frame.to_csv(data, index=False)
    run("fit", data, "-s", schema, *how)
    run("score", model, data, "-o", folder / "scored.csv", "--tol", 0.5)
    run("sample", model, "-n", 20, "-o", folder / "samples.csv")
    run("plot", model, data, "-o", folder / "plot.png")
    assert (folder / "plot.png").stat().st_size > 1000
    return pd.read_csv(folder / "scored.csv"), pd.read_csv(folder / "samples.csv")
