"""Run commands on hostile tables, schemas and models, and judge how they end.

    python -m campaign.fuzz [-n 100000] [--seed 0] [--jobs 2] [--only SEED] [-o fuzz-failures]

Inputs have the seeds --seed, --seed + 1, …. Each input with a fault stays in the output folder,
under its seed; --only SEED repeats it. Processes fork after the imports and before JAX starts.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import pickle
import resource
import select
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO

from foliax.io.classes import import_storable_modules

from .inputs import Input, build_input, build_models
from .oracle import find_faults

INPUTS_PER_PROCESS = 400
"""Inputs that share a process; a new one then frees what their programs hold."""

MAX_CPU_SECONDS = 20.0
MAX_COMPILE_SECONDS = 90.0
"""CPU time of a fit or a report. JAX spends most of it on compiling."""

MAX_WALL_SECONDS = 300
"""Time after which a process that computes nothing is taken to hang."""

MAX_EXTRA_BYTES = 1_500_000_000
"""Memory that a command may take beside what its process has before the first command."""

COUNT_EVERY = 1000

Run = Callable[[list[str]], None]


@dataclasses.dataclass(frozen=True)
class Finding:
    """How an input ended.

    Attributes:
        seed: The seed of the input.
        end: The command and its exit code, or how its process ended.
        faults: What is wrong with that.
    """

    seed: int
    end: str
    faults: list[str]


def run_command(words: list[str]) -> None:
    """Run the command line in this process; it ends with `SystemExit`."""
    from foliax.cli import app

    app(words, prog_name="foliax")


def run_input(seed: int, given: Input, folder: Path, run: Run) -> Finding:
    """Run one input in this process and judge it.

    Args:
        seed: Names the folder of the input.
        given: The input.
        folder: Where to make that folder. It is removed if there is no fault.
        run: Runs the words of a command.

    Returns:
        The exit code and the faults.
    """
    own, place = folder / str(seed), folder / str(seed) / "files"
    place.mkdir(parents=True)
    for name, content in given.files.items():
        (place / name).write_bytes(content)
    (own / "command.json").write_text(json.dumps(given.words))
    os.chdir(place)
    slow = given.words[0] in ("fit", "report")
    signal.setitimer(signal.ITIMER_PROF, MAX_COMPILE_SECONDS if slow else MAX_CPU_SECONDS)
    signal.alarm(MAX_WALL_SECONDS)
    code = _redirect(lambda: run(list(given.words)), own)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)
    stdout, stderr = ((own / n).read_text(errors="surrogateescape") for n in ("stdout", "stderr"))
    faults = find_faults(given, code, stdout, stderr, place)
    os.chdir(folder)
    if not faults:
        shutil.rmtree(own)
    return Finding(seed, f"{given.words[0]} {code}", faults)


def _redirect(run: Callable[[], None], folder: Path) -> int | str | None:
    """Run with stdout and stderr in files, also those of C libraries; return the exit code."""
    code: int | str | None = "missing: the command returned"
    with ExitStack() as stack:
        for number, name in ((1, "stdout"), (2, "stderr")):
            file = stack.enter_context((folder / name).open("w", errors="surrogateescape"))
            stack.callback(_restore, number, os.dup(number))
            os.dup2(file.fileno(), number)
            stack.enter_context((redirect_stdout if number == 1 else redirect_stderr)(file))
        try:
            run()
        except SystemExit as end:
            code = 0 if end.code is None else end.code
        except BaseException as error:
            traceback.print_exc()
            code = type(error).__name__
    return code


def _restore(number: int, saved: int) -> None:
    os.dup2(saved, number)
    os.close(saved)


@dataclasses.dataclass
class Child:
    """A forked process and its inputs.

    Attributes:
        number: The process id.
        lines: The pipe in which it tells of each input.
        seeds: The seeds of its inputs.
        done: How many of them ended.
    """

    number: int
    lines: IO[bytes]
    seeds: list[int]
    done: int = 0


def run_all(seeds: Sequence[int], models: Path, folder: Path, jobs: int) -> Iterator[Finding]:
    """Run inputs in forked processes.

    Args:
        seeds: The seeds of the inputs.
        models: The file that `write_models` wrote.
        folder: Keeps the inputs with faults.
        jobs: The number of processes at a time.

    Yields:
        A finding for each input that ended. A process that is killed ends its input with a fault;
        another process takes its other inputs.
    """
    size = INPUTS_PER_PROCESS
    waiting = deque(list(seeds[at : at + size]) for at in range(0, len(seeds), size))
    running: list[Child] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(_fork(waiting.popleft(), models, folder))
        ready = select.select([child.lines for child in running], [], [])[0]
        for child in [child for child in running if child.lines in ready]:
            if line := child.lines.readline():
                child.done += 1
                yield Finding(**json.loads(line))
                continue
            running.remove(child)
            child.lines.close()
            status, rest = os.waitpid(child.number, 0)[1], child.seeds[child.done :]
            if rest:
                end = _describe_end(status)
                yield Finding(rest[0], end, [f"The process ended: {end}."])
            if rest[1:]:
                waiting.append(rest[1:])


def _fork(seeds: list[int], models: Path, folder: Path) -> Child:
    reader, writer = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reader)
        _work(seeds, models, folder, writer)
    os.close(writer)
    return Child(number, os.fdopen(reader, "rb", buffering=0), seeds)


def _describe_end(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    reasons = {signal.SIGPROF: "too much CPU time", signal.SIGALRM: "it hangs"}
    return reasons.get(signal.Signals(number), signal.Signals(number).name)


def _work(seeds: list[int], models: Path, folder: Path, writer: int) -> None:
    """Run inputs in this forked process, and end it."""
    try:
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)  # ends the process, also inside C
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        known = pickle.loads(models.read_bytes())
        _start_jax()
        for seed in seeds:
            given = build_input(seed, known)
            limit = _virtual_bytes() + MAX_EXTRA_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            found = dataclasses.asdict(run_input(seed, given, folder, run_command))
            os.write(writer, f"{json.dumps(found)}\n".encode())
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(70)


def _start_jax() -> None:
    """Start JAX's threads, whose stacks count as memory."""
    import jax

    jax.random.key(0).block_until_ready()


def _virtual_bytes() -> int:
    """The address space of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def write_models(path: Path) -> None:
    """Write the models by a forked process, so that JAX does not start in this one."""
    child = os.fork()
    if child == 0:
        try:
            path.write_bytes(pickle.dumps(build_models()))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("The models of the campaign could not be made.")


def import_foliax() -> None:
    """Import what commands import, so that a forked process has it."""
    for name in ("matplotlib.pyplot", "pyarrow.parquet", "foliax.report", "foliax.sklearn"):
        importlib.import_module(name)
    import_storable_modules()


def main() -> None:
    """Run the campaign, print the count as it goes, and exit with 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--number", type=int, default=100_000, help="Number of inputs.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the first input.")
    parser.add_argument("--jobs", type=int, default=2, help="Processes at a time.")
    parser.add_argument("--only", type=int, help="Run the input of this seed only.")
    parser.add_argument("-o", "--output", type=Path, default=Path("fuzz-failures"))
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.number)
    seeds = seeds if options.only is None else [options.only]
    if len(seeds) > INPUTS_PER_PROCESS:
        import_foliax()
    start, ends, failed = time.monotonic(), Counter[str](), 0
    with tempfile.TemporaryDirectory(prefix="foliax-fuzz-") as folder:
        os.environ.setdefault("FOLIAX_CACHE", f"{folder}/cache")
        models, inputs = Path(folder, "models"), Path(folder, "inputs")
        write_models(models)
        for found in run_all(seeds, models, inputs, options.jobs):
            ends[found.end] += 1
            if found.faults:
                failed += 1
                _keep(inputs / str(found.seed), options.output / str(found.seed), found.faults)
                print(f"{found.seed}: {' '.join(found.faults)}", flush=True)
            if ends.total() % COUNT_EVERY == 0:
                _print_count(ends.total(), failed, time.monotonic() - start)
    print("Exit codes:", ", ".join(f"{end}: {count}" for end, count in sorted(ends.items())))
    _print_count(ends.total(), failed, time.monotonic() - start)
    raise SystemExit(bool(failed))


def _keep(found: Path, place: Path, faults: list[str]) -> None:
    """Move an input with its output and faults out of the temporary folder."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(found, place)
    (place / "faults").write_text("\n".join(faults) + "\n")
    shutil.rmtree(found)


def _print_count(ended: int, failed: int, seconds: float) -> None:
    print(f"{ended} inputs, {failed} with faults, {ended / seconds:.1f} per second.", flush=True)


if __name__ == "__main__":
    main()
