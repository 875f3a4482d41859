"""A short part of `make fuzz`, and that its oracle sees what is wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from campaign.fuzz import run_input
from campaign.inputs import Input

ROOT = Path(__file__).parents[2]


def run_python(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run another process, because the campaign forks before JAX starts."""
    command = [sys.executable, "-c", code, *words, "--jobs", "1", "-o", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_hostile_inputs_end_well(tmp_path):
    code = "from campaign.fuzz import main; main()"
    ended = run_python(tmp_path, code, "-n", "100")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "100 inputs, 0 with faults" in ended.stdout
    ends = dict(re.findall(r"(\w+ \w+): (\d+)", ended.stdout))
    assert {"check 0", "check 1", "check 2", "info 0", "info 2", "schema 0", "score 2"} <= set(ends)
    assert list(tmp_path.iterdir()) == []


PLANTED = """
import os, signal
from campaign import fuzz
from campaign.inputs import Input

def run(words):
    if words[-1] == "1":
        os.kill(os.getpid(), signal.SIGSEGV)
    if words[-1] == "2":
        while True:
            pass
    if words[-1] == "3":
        bytearray(3_000_000_000)
    raise SystemExit(0)

fuzz.run_command, fuzz.MAX_CPU_SECONDS = run, 0.2
fuzz.build_models, fuzz.import_foliax = dict, lambda: None
fuzz.build_input = lambda seed, models: Input(("info", str(seed)), {"data": b"x"})
fuzz.main()
"""


def test_ends_of_processes_are_noticed_and_others_go_on(tmp_path):
    ended = run_python(tmp_path, PLANTED, "-n", "5")
    assert ended.returncode == 1, ended.stderr
    assert "1: The process ended: SIGSEGV." in ended.stdout
    assert "2: The process ended: too much CPU time." in ended.stdout
    assert "3: The exit code is MemoryError." in ended.stdout
    assert "5 inputs, 3 with faults" in ended.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3"]
    assert (tmp_path / "2" / "files" / "data").read_bytes() == b"x"


def crash():
    raise RuntimeError("planted")


def end(code: int, stderr: str = "", stdout: str = "", **files: str):
    def run():
        for name, content in files.items():
            Path(name).write_text(content)
        os.write(2, stderr.encode())  # as C libraries do
        print(stdout, end="")
        raise SystemExit(code)

    return run


FAULTS = {
    "traceback": (crash, "Traceback"),
    "warning": (end(0, "a.py:1: UserWarning: planted\n", out="x"), "traceback or warning"),
    "no exit code": (lambda: None, "missing"),
    "exit code": (end(3), "The exit code is 3"),
    "silent": (end(2), "0 lines of error"),
    "two lines": (end(2, "Error: a\nmore\n"), "Lines follow"),
    "two errors": (end(2, "Error: a\nError: b\n"), "2 lines of error"),
    "long": (end(2, "Error: " + "x" * 5000), "longer than"),
    "message": (end(0, "hello\n", out="x"), "beside the error"),
    "escape sequence": (end(2, "Error: \x1b[31m\n"), "control character"),
    "memory": (end(2, "Error: Unable to allocate 9 GiB\n"), "lack of memory"),
    "escape in result": (end(0, stdout="\x1b[31m", out="x"), "control character"),
    "result of a failure": (end(2, "Error: a\n", "result"), "printed a result"),
    "input": (end(0, data="other", out="x"), "input data was changed"),
    "no output": (end(0), "was not written"),
    "half an output": (end(2, "Error: a\n", out="x"), "'out' was left"),
    "temporary file": (end(0, out="x", tmp="y"), "'tmp' was left"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_reported(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run, message = FAULTS[name]
    given = Input(("info", "data", "--quiet"), {"data": b"x"}, "out")
    found = run_input(7, given, tmp_path, lambda words: run())
    assert message in " ".join(found.faults)
    assert (tmp_path / "7" / "files").is_dir()


@pytest.mark.parametrize("run", [end(0, out="x"), end(2, "Error: one line.\n")])
def test_a_good_end_leaves_nothing(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = Input(("info", "data", "--quiet"), {"data": b"x"}, "out")
    assert run_input(7, given, tmp_path, lambda words: run()).faults == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stdout", ["", "[1]", '{"a": NaN}', '{"a": 1}{}'])
def test_a_result_that_is_not_json_is_reported(stdout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = Input(("info", "data", "--json"), {"data": b"x"})
    found = run_input(7, given, tmp_path, lambda words: end(0, stdout=stdout)())
    assert "JSON" in " ".join(found.faults)


def test_code_in_a_page_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = {"m.html": "<p><script>alert(1)</script>"}
    found = run_input(7, Input(("report",), {}, "m.html"), tmp_path, lambda words: end(0, **page)())
    assert found.faults == ["The page holds code of the input."]
