"""Options that several commands share."""

import pytest
import typer

from foliax.cli.options import parse_time_limit

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
    with pytest.raises(typer.BadParameter, match="positive duration.*90s, 2m or 1h") as error:
        parse_time_limit(text)
    assert "\n" not in error.value.message


@pytest.mark.parametrize("command", ["fit", "compare", "demo"])
def test_the_commands_that_fit_take_a_time_limit(command):
    output = run(command, "--help").output
    assert "--time-limit" in output
    assert "--minutes" not in output
