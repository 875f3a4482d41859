"""One hostile input for each seed: files, and the command that reads them."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

from .hostile_schemas import SCHEMAS, hostile_json, hostile_text, hostile_toml
from .hostile_tables import ENDINGS, clean_columns, clean_csv, hostile_table, odd_values
from .mutators import MUTATIONS_OF_MODELS, reseal

FIXTURES = Path(__file__).parents[1] / "tests" / "io" / "fixtures"
"""Small stored models of many classes, which no campaign has to fit."""

PLACE = "where: sphere(lat=lat, lon=lon)"
TORSIONS = "t: torsions(phi, psi, unit=degrees)"
MODELS = {
    "table": None,
    "scale-kernel": PLACE,
    "mixture-sphere": PLACE,
    "stack": PLACE,
    "local-kernel": TORSIONS,
    "mixture-torus": TORSIONS,
    "local-kernel-row": f"{TORSIONS}; x: real(depth); n: count(stations)",
    "mixture-rotations": "r: rotvec(lat, lon, phi, unit=degrees)",
}
"""The stored models, with schemas of the campaign's table; None for a model that has its own."""

FIT_SCHEMAS = (PLACE, TORSIONS, "depth: positive(depth)", "n: count(stations)", "x: real(depth)")
"""Small schemas, because each other manifold and number of rows compiles another program."""


@dataclasses.dataclass(frozen=True)
class Input:
    """Files and a command.

    Attributes:
        words: The words of the command, without `foliax`.
        files: Contents of the files by name.
        output: The only file that the command may write, or None.
    """

    words: tuple[str, ...]
    files: dict[str, bytes]
    output: str | None = None


def build_models() -> dict[str, bytes]:
    """Return the stored models in the current format, with schemas and rows.

    Returns:
        The bytes of model files by name. This starts JAX, so call it in a child process.
    """
    import numpy as np
    import pandas as pd

    from foliax import io
    from foliax.io.training_data import collect_training_data
    from foliax.tables import Schema

    found = {}
    frame = pd.DataFrame(clean_columns())
    for name, text in MODELS.items():
        model = io.load(FIXTURES / f"{name}.foliax")
        schema = model.schema if text is None else Schema.parse(text)
        assert schema is not None
        rows = np.arange(len(frame))
        kept = collect_training_data(frame, None, schema, rows[:16], rows[16:])
        found[name] = io.model_file.dumps(
            model.density,
            estimator=model.estimator,
            record=model.record,
            schema=schema,
            training_data=kept,
            extra={"seed": 0},
        )
    return found


def build_input(seed: int, models: dict[str, bytes]) -> Input:
    """Return the input of a seed; equal seeds give equal inputs.

    Args:
        seed: Chooses everything.
        models: What `build_models` returns.

    Returns:
        The input.
    """
    rng = random.Random(seed)
    build = rng.choices(list(BUILDERS), list(BUILDERS.values()))[0]
    found = build(rng, models)
    how = rng.choice([(), ("--quiet",), ("--quiet",), ("--json",)])
    return dataclasses.replace(found, words=(*found.words, *how))


def _check_table(rng: random.Random, models: dict[str, bytes]) -> Input:
    ending = rng.choice(ENDINGS)
    words = ("check", f"data{ending}")
    if rng.random() < 0.5:
        words += ("-s", rng.choice(SCHEMAS))
    words += rng.choices([(), ("--blocks", "magnitude"), ("--blocks", "3")], [8, 1, 1])[0]
    is_readable = ending == ".csv" and rng.random() < 0.7
    content = odd_values(rng) if is_readable else hostile_table(ending, rng)
    return Input(words, {f"data{ending}": content})


def _propose_schema(rng: random.Random, models: dict[str, bytes]) -> Input:
    ending = rng.choice(ENDINGS)
    output = rng.choice([None, "schema.json"])
    words = ("schema", f"data{ending}", *(("-o", output) if output else ()))
    return Input(words, {f"data{ending}": hostile_table(ending, rng)}, output)


def _check_schema(rng: random.Random, models: dict[str, bytes]) -> Input:
    kind = rng.choice(["text", "toml", "json"])
    files = {"data.csv": clean_csv()}
    if kind == "text":
        return Input(("check", "data.csv", f"--schema={hostile_text(rng)}"), files)
    content = hostile_toml(rng) if kind == "toml" else hostile_json(rng)
    return Input(("check", "data.csv", "-s", f"s.{kind}"), files | {f"s.{kind}": content})


def _score_table(rng: random.Random, models: dict[str, bytes]) -> Input:
    ending = rng.choice(ENDINGS)
    output = rng.choice([None, *(f"scored{ending}" for ending in ENDINGS)])
    words = ("score", "m.foliax", f"data{ending}", "--tol", "0.5")
    words += ("-o", output) if output else ()
    words += rng.choice([(), ("--drop-invalid",), ("--project",), ("--per", "km2")])
    model = models[rng.choice(["scale-kernel", "local-kernel-row"])]
    return Input(words, {f"data{ending}": hostile_table(ending, rng), "m.foliax": model}, output)


def _fit_table(rng: random.Random, models: dict[str, bytes]) -> Input:
    words = ("fit", "data.csv", "-s", rng.choice(FIT_SCHEMAS), "-m", "kernel", "-o", "m.foliax")
    words += rng.choice([(), ("--drop-invalid",), ("--project",), ("--weights", "depth")])
    words += rng.choice([(), (), ("--blocks", "magnitude"), ("--blocks", "3")])
    return Input(words, {"data.csv": odd_values(rng)}, "m.foliax")


def _damaged(rng: random.Random, models: dict[str, bytes]) -> bytes:
    """A model that was damaged, or changed and sealed again."""
    model = models[rng.choice(list(models))]
    change = reseal if rng.random() < 0.7 else rng.choice(MUTATIONS_OF_MODELS)
    return change(model, rng)


def _show_model(rng: random.Random, models: dict[str, bytes]) -> Input:
    return Input(("info", "m.foliax"), {"m.foliax": _damaged(rng, models)})


def _sample_model(rng: random.Random, models: dict[str, bytes]) -> Input:
    output = rng.choice([None, "drawn.csv", "drawn.parquet", "drawn.npz"])
    words = ("sample", "m.foliax", "-n", "8", *(("-o", output) if output else ()))
    return Input(words, {"m.foliax": _damaged(rng, models)}, output)


def _score_by_model(rng: random.Random, models: dict[str, bytes]) -> Input:
    files = {"m.foliax": _damaged(rng, models), "data.csv": clean_csv()}
    words = ("score", "m.foliax", "data.csv", "--tol", "0.5", "-o", "scored.csv")
    return Input(words, files, "scored.csv")


def _report_model(rng: random.Random, models: dict[str, bytes]) -> Input:
    files = {"m.foliax": reseal(models["scale-kernel"], rng)}
    return Input(("report", "m.foliax", "-o", "m.html"), files, "m.html")


BUILDERS: dict[Callable[[random.Random, dict[str, bytes]], Input], float] = {
    _check_table: 30,
    _propose_schema: 12,
    _check_schema: 20,
    _score_table: 12,
    _show_model: 20,
    _sample_model: 4,
    _score_by_model: 4,
    _fit_table: 0.3,
    _report_model: 0.2,
}
"""Builders of inputs and their weights. Fits and reports take seconds, so they are few."""
