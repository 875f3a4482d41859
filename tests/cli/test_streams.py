"""Closed and full streams: no traceback, the right exit code, no file damaged."""

import subprocess
import sys

import pytest

# A command that needs neither JAX nor a model, so that a process takes a fraction of a second.
PROGRAM = """
import os, sys
from foliax.cli import app, main
from foliax.cli.console import Console, handle_errors

@app.command()
@handle_errors
def lines(count: int, json_output: bool = False):
    console = Console(json_output, False)
    console.log("working")
    with open("file", "w") as file:
        os.write(2, b"a library prints")
        file.write(str(file.fileno()))
    console.result({"text": "line"}, "line\\n" * count)

@app.command()
@handle_errors
def broken(json_output: bool = False):
    raise ValueError("The table is wrong.")

main()
"""


@pytest.fixture
def shell(tmp_path):
    def run(command: str, redirect: str = "", *, environment: str = ""):
        words = f"{environment} FOLIAX_CACHE=off {sys.executable} program.py {command} {redirect}"
        script = f"set -o pipefail; {words}"
        (tmp_path / "program.py").write_text(PROGRAM)
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        return done

    return run


@pytest.mark.parametrize("environment", ["", "PYTHONUNBUFFERED=1"])
def test_a_reader_that_ends_early(shell, environment):
    done = shell("lines 1000000", "| head -1", environment=environment)
    assert (done.returncode, done.stdout) == (141, "line\n")
    assert "rror" not in done.stderr


def test_a_full_disk(shell):
    done = shell("lines 10", "> /dev/full")
    assert done.returncode == 2
    assert "Error: stdout cannot be written: No space left on device." in done.stderr
    assert shell("broken --json-output", "> /dev/full").stderr == "Error: The table is wrong.\n"
    assert shell("--help", "> /dev/full").returncode == 2


def test_closed_stdout(shell):
    done = shell("lines 10", ">&-")
    assert done.returncode == 2
    assert "Error: stdout cannot be written: it is closed." in done.stderr


def test_messages_that_cannot_be_written_do_not_end_the_work(shell, tmp_path):
    for redirect in ("2>/dev/full", "2>&-", "<&- 2>&-"):
        done = shell("lines 2", redirect)
        assert (done.returncode, done.stdout) == (0, "line\nline\n\n")
        assert int((tmp_path / "file").read_text()) > 2
    assert shell("broken", "2>&-").returncode == 2
