"""Trials in other processes, resumed where they stopped."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax

from . import model_cache, results, trial
from .recipes import Row, named

# Each trial keeps to one core.
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1"}
TOGETHER = 5
"""Trials in one process."""
FIGURES = "figures"
"""Where figures are, and the densities that they show."""


class Job(NamedTuple):
    """A trial, by what another process can be told."""

    name: str
    number: int
    quick: bool

    @property
    def row(self) -> Row:
        return named(self.name, self.quick)


Ended = queue.SimpleQueue[tuple[Job, dict | BaseException]]
"""Trials of other processes, with what is to be stored or what went wrong."""


def missing(folder: Path, names: Sequence[str], trials: int, quick: bool) -> list[Job]:
    """What is not stored yet: the first trial of every row, then the second of every row, …"""
    jobs = [Job(name, number, quick) for number in range(trials) for name in names]
    stored = results.Results(folder)
    return [job for job in jobs if stored.find(job.row, job.number) is None]


def run(
    folder: Path, jobs: Sequence[Job], processes: int, done: Callable[[Job, dict], None]
) -> dict[Job, Exception]:
    """Run trials, each stored as it ends and then told to `done`; what failed, and why.

    Only this process writes to the tables' files. After an interrupt it still stores what ended.
    """
    before = {name: os.environ.get(name) for name in ONE_CORE}
    os.environ.update(ONE_CORE)
    lanes = concurrent.futures.ThreadPoolExecutor(processes)
    ended: Ended = queue.SimpleQueue()
    stop = threading.Event()
    failed: dict[Job, Exception] = {}
    unstored: list[tuple[Job, dict]] = []
    try:
        for several in together(jobs):
            lanes.submit(_apart, folder, several, ended, stop)
        for _ in jobs:
            match ended.get():
                case job, dict(found):
                    unstored.append((job, found))
                    _store(folder, unstored, failed)
                    if job not in failed:
                        done(job, found)
                case job, Exception() as error:
                    failed[job] = error
                case _, BaseException() as error:
                    raise error
        return failed
    finally:
        stop.set()
        # Before the wait for the lanes, which another interrupt may end, and after it.
        _store(folder, unstored + _waiting(ended), failed)
        lanes.shutdown(cancel_futures=True)
        _store(folder, _waiting(ended), failed)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _waiting(ended: Ended) -> list[tuple[Job, dict]]:
    """Trials that have ended well and that `run` has not seen."""
    found = []
    while not ended.empty():
        found.append(ended.get())
    return [(job, result) for job, result in found if isinstance(result, dict)]


def _store(folder: Path, unstored: list[tuple[Job, dict]], failed: dict[Job, Exception]) -> None:
    """Store trials and take them from the list; an interrupt leaves the rest in it."""
    while unstored:
        job, found = unstored[0]
        try:
            results.save(folder, job.row, job.number, found)
        except Exception as error:  # such as a full disk, or a number that is not finite
            failed[job] = error
        unstored.pop(0)


def together(jobs: Sequence[Job]) -> list[list[Job]]:
    """Trials of one row, up to `TOGETHER`, share a process: tracing takes as long as training.

    The first few of every row, then the next few. Short trials, of which a row has one, share it
    with others of their density: to start a process takes as long as some of them.
    """
    rows: dict[str, list[Job]] = {}
    for job in jobs:
        rows.setdefault(job.row.density if job.quick else job.name, []).append(job)
    longest = max(map(len, rows.values()), default=0)
    parts = (row[at : at + TOGETHER] for at in range(0, longest, TOGETHER) for row in rows.values())
    return [part for part in parts if part]


def _apart(
    folder: Path,
    jobs: Sequence[Job],
    ended: Ended,
    stop: threading.Event,
) -> None:
    """The trials in a process of their own, since compiled programs keep their memory.

    One pool for all, with `max_tasks_per_child`, hangs once a process has had its tasks (Python's
    issue 115634).
    """
    cache = getattr(jax.config, "jax_compilation_cache_dir", None)
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs)
    try:
        with concurrent.futures.ProcessPoolExecutor(1, context, _start, (cache,)) as pool:
            while waiting and not stop.is_set():
                job = waiting.pop(0)
                try:
                    ended.put((job, pool.submit(_one, folder, job).result()))
                except BaseException as error:
                    ended.put((job, error))
    except Exception as error:  # no process can be had: `run` waits for every trial
        for job in waiting:
            ended.put((job, error))


def _start(cache: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", cache)


def _one(folder: Path, job: Job) -> dict:
    row, number = job.row, job.number
    fitted, draws = trial.fit(row, number)
    model_cache.keep(folder / FIGURES, row, number, fitted)
    return trial.measure(row, number, fitted, draws)
