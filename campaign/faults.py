"""Kill, interrupt and obstruct `foliax fit`, and check that nothing is lost.

    python -m campaign.faults [--kills 100] [--interrupts 50] [--faults 60] [--seed 0]

Every run must leave the old model file as it was, or a complete new one, and exit with the right
code. Every fit that did not end must resume to the bits of an uninterrupted fit.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from foliax import io
from foliax.atomic import TEMPORARY_NAME
from foliax.cli.resume import run_folder

from .fault_child import CALLS, NOBODY, Fault, run_command

ROWS = 240
"""Rows of the table; `auto` then holds some out, and fits several candidates."""
MODELS = ("flow", "auto")
ERRORS = ("ENOSPC", "EROFS", "EIO", "SIGKILL", "SIGINT", "SIGTERM")
"""What happens at a call on a file."""
MAX_CALLS = {"flow": 30, "auto": 20}
"""Calls of each kind in a fit, about; beyond them nothing goes wrong."""
SCHEMA = "real(x)"
WAIT_SECONDS = 300
"""Seconds after which a run counts as stuck."""
MAX_RESUMES = 4
"""Resumed runs of one fit that are killed in their turn, at most; then one runs to its end."""


def make_table(path: Path) -> None:
    """Write a table of normal numbers."""
    x = np.random.default_rng(0).normal(size=ROWS)
    pd.DataFrame({"x": x.round(3)}).to_csv(path, index=False)


def describe_model(path: Path) -> list[Any]:
    """List what must be equal bit by bit: structure, arrays, log densities and history."""
    model = io.load(path)
    assert model.record is not None
    assert model.schema is not None
    points = model.schema.encode(pd.DataFrame({"x": np.linspace(-3, 3, 16)}))
    leaves = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(model.density)]
    scores = np.asarray(model.density.evaluate(points, key=jax.random.key(0)).value).tobytes()
    history = [repr(block[:5]) for block in model.record.history]
    return [str(jax.tree.structure(model.density)), leaves, scores, history]


@dataclasses.dataclass
class Campaign:
    """Runs fits in child processes, and counts what it finds.

    Args:
        folder: An empty folder for all files.
        seed: Chooses models, times and faults.
    """

    folder: Path
    seed: int
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    failures: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        self.processes = multiprocessing.get_context("forkserver")
        self.processes.set_forkserver_preload(["campaign.fault_child"])
        self.data, self.work = self.folder / "data.csv", self.folder / "work"
        self.output, self.log = self.work / "a.foliax", self.folder / "log.txt"
        self.work.mkdir()
        make_table(self.data)
        self.seconds, self.expected, self.other = {}, {}, {}
        for model in MODELS:
            for seed, found in ((1, self.other), (0, self.expected)):  # the first one compiles
                began = time.monotonic()
                code = self.finish(*self.start(model, seed=seed))
                self.seconds[model] = time.monotonic() - began
                self.check(code == 0, f"{model}, seed {seed}: exit code {code}")
                found[model] = describe_model(self.output)
        self.old = self.output.read_bytes()

    def summary(self) -> str:
        """One line with what ran so far, and how many checks failed."""
        counted = (f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{', '.join(counted)}; {len(self.failures)} failed."

    def start(self, model: str, *more: str, seed: int = 0, **how: Any) -> tuple[Any, Any]:
        """Start a fit, and wait until it handles signals."""
        ours, theirs = self.processes.Pipe(duplex=False)
        words = ["fit", str(self.data), "-s", SCHEMA, "-m", model, "-o", str(self.output)]
        words += ["--seed", str(seed), *more]
        process = self.processes.Process(
            target=run_command, args=(words, self.log, theirs), kwargs=how
        )
        process.start()
        theirs.close()
        return process, ours

    def finish(self, process: Any, started: Any) -> int | None:
        """Wait for the end of a fit; return its exit code."""
        process.join(WAIT_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
            self.check(False, f"no end after {WAIT_SECONDS} s")
        started.close()
        text = self.log.read_text(errors="replace")
        self.check("Traceback" not in text, f"traceback: {text[-2000:]}")
        return process.exitcode

    def check(self, is_right: bool, message: str) -> None:
        """Note a failure."""
        if not is_right:
            self.failures.append(message)
            print(f"FAILED: {message}", flush=True)

    def prepare(self) -> str:
        """Empty the folder, put an old model there or none, and choose what to fit."""
        print(self.summary(), flush=True)
        shutil.rmtree(self.work)
        self.work.mkdir()
        if self.rng.random() < 0.5:
            self.output.write_bytes(self.old)
        return str(self.rng.choice(MODELS))

    def signal_at_random_time(self, name: str) -> None:
        """Send a signal to a fit, and perhaps to those that resume it; then let it end."""
        model, more = self.prepare(), ()
        for _ in range(1 + int(self.rng.integers(MAX_RESUMES))):
            before = self.read_output()
            process, started = self.start(model, *more)
            started.poll(WAIT_SECONDS)
            time.sleep(float(self.rng.uniform(0, self.seconds[model])))
            number = signal.Signals[name]
            with contextlib.suppress(ProcessLookupError):  # It may have ended.
                os.kill(process.pid, number)
            code = self.finish(process, started)
            self.counts[name] += 1
            self.check_state(f"{name}, {model} {more}", model, before, code, number)
            more = ("--resume",)
            if code == 0:
                return
        self.resume(f"{name}, {model}", model)

    def fault_at_call(self, **how: Any) -> None:
        """Let a call on a file fail, or send a signal there; then resume."""
        model = self.prepare()
        call, error = str(self.rng.choice(CALLS)), str(self.rng.choice(ERRORS))
        fault = Fault(call, int(self.rng.integers(1, MAX_CALLS[model])), error, self.work)
        self.own_folder(how.get("user"))
        before = self.read_output()
        code = self.finish(*self.start(model, fault=fault, **how))
        self.counts["faults"] += 1
        number = signal.Signals[error] if error.startswith("SIG") else None
        name = f"{error} at {call} {fault.number}, {model} {how}"
        self.check_state(name, model, before, code, number)
        if code != 0:
            self.resume(name, model, **how)

    def limit_file_size(self) -> None:
        """Fit with a limit on the size of files, as `ulimit -f` sets it."""
        model, before = self.prepare(), self.read_output()
        most = int(self.rng.choice([1000, 20_000, 66_000]))
        code = self.finish(*self.start(model, max_file_bytes=most))
        self.counts["file size limits"] += 1
        self.check_state(f"limit of {most} bytes, {model}", model, before, code, None)
        if code != 0:
            self.resume(f"limit of {most} bytes, {model}", model)

    def write_twice_at_once(self) -> None:
        """Fit two models into one file at the same time."""
        model = self.prepare()
        runs = [self.start(model, seed=seed) for seed in (0, 1)]
        codes = [self.finish(*run) for run in runs]
        self.counts["two writers"] += 1
        self.check(codes == [0, 0], f"two writers, {model}: exit codes {codes}")
        found = describe_model(self.output)
        self.check(found in (self.expected[model], self.other[model]), "two writers: other bits")
        self.check_names("two writers", {self.output.name})

    def refuse_a_read_only_folder(self) -> None:
        """Fit as another user into a folder that this user may not write."""
        model, before = self.prepare(), self.read_output()
        code = self.finish(*self.start(model, user=NOBODY))
        self.counts["read-only folders"] += 1
        self.check(code == 2, f"read-only folder: exit code {code}")
        self.check(self.read_output() == before, "read-only folder: the old model changed")

    def own_folder(self, user: int | None) -> None:
        """Give the folder and its files to a user."""
        if user is not None:
            for path in (self.work, *self.work.iterdir()):
                os.chown(path, user, user)

    def read_output(self) -> bytes | None:
        return self.output.read_bytes() if self.output.exists() else None

    def check_state(
        self, name: str, model: str, before: bytes | None, code: int | None, number: int | None
    ) -> None:
        """Check the exit code, the model file and what else is in the folder."""
        is_new = self.read_output() != before
        allowed = {0, 2} if number is None else {0, -number if number == 9 else 128 + number}
        if number is not None and is_new:
            # After the work is done, a signal may end the process: a shell reports 128 + number.
            allowed.add(-number)
        self.check(code in allowed, f"{name}: exit code {code}: {self.log.read_text()[-500:]}")
        if is_new:
            same = describe_model(self.output) == self.expected[model]
            self.check(same, f"{name}: the new model differs")
        self.check(is_new or code != 0, f"{name}: exit code 0 without a new model")
        interrupted = self.output.with_suffix(".interrupted.foliax")
        if interrupted.exists():
            io.load(interrupted)
        names = {run_folder(self.output).name, interrupted.name, self.output.name}
        self.check_names(name, names, killed=number == signal.SIGKILL)

    def check_names(self, name: str, allowed: set[str], *, killed: bool = False) -> None:
        """Check that there are no other files; a kill may leave temporary files."""
        found = {path.name for path in self.work.iterdir()} - allowed
        found = {n for n in found if not (killed and TEMPORARY_NAME.match(n))}
        self.check(not found, f"{name}: leftovers {sorted(found)}")

    def resume(self, name: str, model: str, **how: Any) -> None:
        """Resume a fit to its end."""
        code = self.finish(*self.start(model, "--resume", **how))
        self.counts["resumes"] += 1
        self.check(code == 0, f"{name}, resumed: exit code {code}: {self.log.read_text()[-500:]}")
        same = code == 0 and describe_model(self.output) == self.expected[model]
        self.check(same, f"{name}, resumed: the model differs")
        self.counts["resumed to the same bits"] += same
        interrupted = self.output.with_suffix(".interrupted.foliax").name
        self.check_names(f"{name}, resumed", {self.output.name, interrupted})


def can_become_nobody() -> bool:
    """Whether child processes can run as another user."""
    return os.geteuid() == 0


def run_campaign(campaign: Campaign, kills: int, interrupts: int, faults: int) -> None:
    """Run everything: signals in random order, then faults."""
    wanted = {"SIGKILL": kills, "SIGINT": (interrupts + 1) // 2, "SIGTERM": interrupts // 2}
    while left := [n for n, count in wanted.items() if campaign.counts[n] < count]:
        campaign.signal_at_random_time(str(campaign.rng.choice(left)))
    for _ in range(faults):
        campaign.fault_at_call()
    for _ in range(faults // 10):
        campaign.limit_file_size()
        campaign.write_twice_at_once()
        if can_become_nobody():
            campaign.refuse_a_read_only_folder()
            campaign.fault_at_call(user=NOBODY)
    if not can_become_nobody():
        print("Skipped the runs as another user: only root can start them.")


def main() -> None:
    """Run the campaign and print a summary; exit with code 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="Signals SIGKILL.")
    parser.add_argument("--interrupts", type=int, default=50, help="Signals SIGINT and SIGTERM.")
    parser.add_argument("--faults", type=int, default=60, help="Faults at calls on files.")
    parser.add_argument("--seed", type=int, default=0, help="Chooses models, times and faults.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.environ["FOLIAX_CACHE"] = str(Path(folder) / "cache")
        os.environ["FOLIAX_SAVE_SECONDS"] = "0.05"
        campaign = Campaign(Path(folder), options.seed)
        print(f"Seconds of a fit: {campaign.seconds}", flush=True)
        run_campaign(campaign, options.kills, options.interrupts, options.faults)
    print(campaign.summary())
    raise SystemExit(bool(campaign.failures))


if __name__ == "__main__":
    main()
