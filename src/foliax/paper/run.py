"""Run trials in other processes; interrupted runs resume where they stopped."""

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
from .recipes import Row, find_row

# Each trial uses one core.
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1"}
TRIALS_PER_PROCESS = 5
"""Sharing a process saves tracing, which takes as long as training; memory limits the number."""
FIGURES_FOLDER = "figures"
"""The subfolder of the figures and of the densities that they show."""


class Job(NamedTuple):
    """A trial, described by values that another process can receive."""

    name: str
    number: int
    quick: bool

    @property
    def row(self) -> Row:
        return find_row(self.name, self.quick)


FinishedTrials = queue.SimpleQueue[tuple[Job, dict | BaseException]]
"""Trials that other processes have finished, with the result or the error."""


def missing_trials(folder: Path, names: Sequence[str], trials: int, quick: bool) -> list[Job]:
    """Return the trials that are not stored: the first of every row, then the second, …

    Args:
        folder: Where the tables' files are.
        names: The names of the rows.
        trials: The number of trials of each row.
        quick: Whether to look for short trials.

    Returns:
        The trials to run, in order.
    """
    jobs = [Job(name, number, quick) for number in range(trials) for name in names]
    stored = results.Results(folder)
    return [job for job in jobs if stored.find(job.row, job.number) is None]


def run(
    folder: Path, jobs: Sequence[Job], processes: int, on_result: Callable[[Job, dict], None]
) -> dict[Job, Exception]:
    """Run trials and store each one when it ends.

    Only this process writes to the tables' files. After an interrupt it still stores the trials
    that have ended.

    Args:
        folder: Where the tables' files are.
        jobs: The trials to run.
        processes: Trials to run at a time, one core each.
        on_result: Called with every trial and its result, after it is stored.

    Returns:
        The trials that failed, with their errors.
    """
    before = {name: os.environ.get(name) for name in ONE_CORE}
    os.environ.update(ONE_CORE)
    lanes = concurrent.futures.ThreadPoolExecutor(processes)
    finished: FinishedTrials = queue.SimpleQueue()
    stop = threading.Event()
    failed: dict[Job, Exception] = {}
    unstored: list[tuple[Job, dict]] = []
    try:
        for group in group_jobs(jobs):
            lanes.submit(_run_in_process, folder, group, finished, stop)
        for _ in jobs:
            match finished.get():
                case job, dict(found):
                    unstored.append((job, found))
                    _store(folder, unstored, failed)
                    if job not in failed:
                        on_result(job, found)
                case job, Exception() as error:
                    failed[job] = error
                case _, BaseException() as error:
                    raise error
        return failed
    finally:
        stop.set()
        # Store before waiting for the lanes, because another interrupt may end the wait.
        _store(folder, unstored + _take_results(finished), failed)
        lanes.shutdown(cancel_futures=True)
        _store(folder, _take_results(finished), failed)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _take_results(finished: FinishedTrials) -> list[tuple[Job, dict]]:
    """Take the results from the queue; drop the errors."""
    found = []
    while not finished.empty():
        found.append(finished.get())
    return [(job, result) for job, result in found if isinstance(result, dict)]


def _store(folder: Path, unstored: list[tuple[Job, dict]], failed: dict[Job, Exception]) -> None:
    """Store trials and remove them from the list; an interrupt leaves the rest in it."""
    while unstored:
        job, found = unstored[0]
        try:
            results.save(folder, job.row, job.number, found)
        except Exception as error:  # such as a full disk, or a number that is not finite
            failed[job] = error
        unstored.pop(0)


def group_jobs(jobs: Sequence[Job]) -> list[list[Job]]:
    """Group trials that share a process: up to `TRIALS_PER_PROCESS` of one row.

    The first group of every row comes before the second of any. Short trials, one for each row,
    share a process with others of their density, because starting a process takes as long as a
    short trial.
    """
    rows: dict[str, list[Job]] = {}
    for job in jobs:
        rows.setdefault(job.row.density if job.quick else job.name, []).append(job)
    longest = max(map(len, rows.values()), default=0)
    parts = (
        row[at : at + TRIALS_PER_PROCESS]
        for at in range(0, longest, TRIALS_PER_PROCESS)
        for row in rows.values()
    )
    return [part for part in parts if part]


def _run_in_process(
    folder: Path,
    jobs: Sequence[Job],
    finished: FinishedTrials,
    stop: threading.Event,
) -> None:
    """Run trials in their own process, because compiled programs keep their memory.

    A single pool with `max_tasks_per_child` hangs when a process reaches its limit (CPython issue
    115634).
    """
    cache = getattr(jax.config, "jax_compilation_cache_dir", None)
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs)
    try:
        with concurrent.futures.ProcessPoolExecutor(1, context, _use_cache, (cache,)) as pool:
            while waiting and not stop.is_set():
                job = waiting.pop(0)
                try:
                    finished.put((job, pool.submit(_run_trial, folder, job).result()))
                except BaseException as error:
                    finished.put((job, error))
    except Exception as error:  # no process starts, but `run` waits for every trial
        for job in waiting:
            finished.put((job, error))


def _use_cache(cache: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", cache)


def _run_trial(folder: Path, job: Job) -> dict:
    row, number = job.row, job.number
    fitted, draws = trial.fit(row, number)
    model_cache.save(folder / FIGURES_FOLDER, row, number, fitted)
    return trial.measure(row, number, fitted, draws)
