"""Options that several commands share."""

import pytest
import typer

from foliax.cli.options import complete_model, parse_time_limit
from foliax.estimators import LocalKernel, base, estimator_names

from .running import run


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("2m", 120),
        ("1h", 3600),
        ("1.5m", 90),
        ("45", 45),
        (".5 h", 1800),
        (120.0, 120),
    ],
)
def test_a_time_limit_has_a_unit(text, seconds):
    assert parse_time_limit(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "2d", "-1", "0", "0s", "1h30m", "inf", "nan", "9" * 400])
def test_other_time_limits_are_refused_in_one_line(text):
    with pytest.raises(
        typer.BadParameter, match=r"positive duration\. Write, for example, 90s"
    ) as error:
        parse_time_limit(text)
    assert "\n" not in error.value.message


@pytest.mark.parametrize("command", ["fit", "compare", "demo"])
def test_the_commands_that_fit_take_a_time_limit(command):
    output = run(command, "--help").output
    assert "--time-limit" in output
    assert "--minutes" not in output


def test_the_command_line_learns_of_a_new_estimator(monkeypatch, tmp_path):
    monkeypatch.setitem(base._named, "my own", LocalKernel)
    assert complete_model("my") == ["my-own"]
    assert len(complete_model("")) == len(estimator_names())
    assert "my own" in " ".join(run("fit", tmp_path / "a.csv", "-m", "?", code=2).output.split())
