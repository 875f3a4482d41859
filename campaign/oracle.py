"""What every command owes its user, whatever the input is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from foliax.cli.console import BAD_INPUT, CHECK_FAILED
from foliax.escaping import CONTROL_CHARACTERS

from .inputs import Input

MAX_ERROR_CHARACTERS = 2500
"""Characters of an error; a longer one hides what it says."""

OUT_OF_MEMORY = re.compile(r"MemoryError|Unable to allocate|RESOURCE_EXHAUSTED|bad_alloc|malloc")
"""Signs that a command asked for more memory than the campaign allows."""

BUG = re.compile(r"Traceback \(most recent|^\S*Warning:|: \w*Warning: ", re.MULTILINE)
"""Signs of an error or a warning that nobody wrote for users."""


CODE_OF_INPUTS = (b"<script>alert(1)", b"\x1b[2J")
"""What a page must escape; `mutators.HOSTILE_TEXTS` has it."""


def find_faults(
    given: Input, code: int | str | None, stdout: str, stderr: str, folder: Path
) -> list[str]:
    """Return what is wrong with the end of a command; nothing if all is well.

    Args:
        given: The input.
        code: The exit code, or a text for another end.
        stdout: What the command printed.
        stderr: Its messages.
        folder: The folder in which it ran.

    Returns:
        One sentence for each fault.
    """
    allowed = (0, CHECK_FAILED, BAD_INPUT) if given.words[0] == "check" else (0, BAD_INPUT)
    faults = [] if code in allowed else [f"The exit code is {code}."]
    for pattern, what in ((BUG, "a traceback or warning"), (OUT_OF_MEMORY, "a lack of memory")):
        if match := pattern.search(stderr):
            faults.append(f"The messages show {what}: {match[0]!r}.")
    faults += _judge_messages(given, code, stderr)
    faults += _judge_result(given, code, stdout)
    return faults + _judge_files(given, code, folder)


def _judge_messages(given: Input, code: int | str | None, stderr: str) -> list[str]:
    faults = []
    if match := CONTROL_CHARACTERS.search(stderr.replace("\n", "").replace("\t", "")):
        faults.append(f"The messages hold the control character {match[0]!r}.")
    lines = stderr.splitlines()
    errors = [i for i, line in enumerate(lines) if line.startswith("Error: ")]
    points_into_text = bool(errors) and "Schema, character" in lines[errors[0]]
    if code == BAD_INPUT and "Usage: " not in stderr:
        if len(errors) != 1:
            faults.append(f"There are {len(errors)} lines of error.")
        elif errors[0] != len(lines) - 1 and not points_into_text:
            faults.append("Lines follow the error.")
        elif len("\n".join(lines[errors[0] :])) > MAX_ERROR_CHARACTERS:
            faults.append(f"The error is longer than {MAX_ERROR_CHARACTERS} characters.")
    if "--quiet" in given.words or "--json" in given.words:
        first = errors[0] if code == BAD_INPUT and errors else len(lines)
        if first and "Usage: " not in stderr:
            faults.append("There are messages beside the error.")
    return faults


def _judge_result(given: Input, code: int | str | None, stdout: str) -> list[str]:
    if "--json" in given.words:
        try:
            found = json.loads(stdout, parse_constant=_refuse_constant)
        except ValueError as error:
            return [f"The result is not JSON: {error}."]
        return [] if isinstance(found, dict) else ["The result is not a JSON object."]
    if code == BAD_INPUT and stdout:
        return ["A command that failed printed a result."]
    prints_table = given.words[0] in ("score", "sample")
    match = CONTROL_CHARACTERS.search(stdout.replace("\n", "").replace("\t", ""))
    if match and not prints_table:
        return [f"The result holds the control character {match[0]!r}."]
    return []


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _judge_files(given: Input, code: int | str | None, folder: Path) -> list[str]:
    faults = []
    found = {path.name: path for path in folder.iterdir()}
    for name, content in given.files.items():
        if name not in found or found.pop(name).read_bytes() != content:
            faults.append(f"The input {name} was changed.")
    written = given.output if code == 0 else None
    if written is not None and (written not in found or not found[written].stat().st_size):
        faults.append(f"The output {written} was not written.")
    elif given.output == "m.html" and written:
        page = found[written].read_bytes()
        faults += ["The page holds code of the input." for text in CODE_OF_INPUTS if text in page]
    return faults + [f"The file {name!r} was left." for name in found if name != written]
