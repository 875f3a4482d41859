"""Usage errors are one line, and one JSON object under --json, as all other errors."""

import json

import pytest

from .running import run

CASES = {
    "too small": (["sample", "u.foliax", "-n", 0], "'-n': ", "foliax sample --help"),
    "too large": (["sample", "u.foliax", "-n", 10**14], "10000000", "foliax sample --help"),
    "no number": (["sample", "u.foliax", "-n", "x"], "'-n': ", "foliax sample --help"),
    "unknown option": (["fit", "q.csv", "--fast"], "No such option: --fast", "foliax fit --help"),
    "no argument": (["score"], "Missing argument 'MODEL'", "foliax score --help"),
    "too many": (["info", "a", "b"], "(b)", "foliax info --help"),
    "own check": (["fit", "q.csv", "--time-limit", "-1"], "duration", "foliax fit --help"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_usage_error_is_one_line(name):
    words, part, command = CASES[name]
    result = run(*words, code=2)
    (line,) = result.stderr.splitlines()
    assert result.stdout == ""
    assert line.startswith("Error: ")
    assert part in line
    assert line.endswith(f"See: {command}")


@pytest.mark.parametrize("name", CASES)
def test_a_usage_error_is_a_json_object(name):
    words, part, _ = CASES[name]
    result = run(*words, "--json", code=2)
    assert part in json.loads(result.stdout)["error"]
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")


def test_an_unknown_command_is_one_line():
    (line,) = run("fitt", code=2).stderr.splitlines()
    assert "No such command 'fitt'" in line
    assert "Did you mean" in line


def test_control_characters_of_options_are_escaped():
    assert "\x1b" not in run("fit", "q.csv", "--\x1b[2J", code=2).output


def test_help_is_as_before():
    assert "Usage: foliax" in run(code=2).output
    assert "Usage: foliax sample" in run("sample", "--help").output
