"""Trials in processes of their own, resumed where they stopped."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax

from . import trial
from .recipes import Row, named

# Each trial keeps to one core.
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1"}


class Job(NamedTuple):
    """A trial, by what another process can be told."""

    name: str
    number: int
    quick: bool

    @property
    def row(self) -> Row:
        return named(self.name, self.quick)


def missing(folder: Path, names: Sequence[str], trials: int, quick: bool) -> list[Job]:
    """What is not stored yet: the first trial of every row, then the second of every row, …"""
    jobs = [Job(name, number, quick) for number in range(trials) for name in names]
    return [job for job in jobs if trial.stored(folder, job.row, job.number) is None]


def run(
    folder: Path, jobs: Sequence[Job], processes: int, done: Callable[[Job, dict], None]
) -> dict[Job, Exception]:
    """Run trials, each stored as it ends and then told to `done`; what failed, and why."""
    before = {name: os.environ.get(name) for name in ONE_CORE}
    os.environ.update(ONE_CORE)
    lanes = concurrent.futures.ThreadPoolExecutor(processes)
    failed = {}
    try:
        running = {lanes.submit(_apart, folder, job): job for job in jobs}
        for future in concurrent.futures.as_completed(running):
            try:
                found = future.result()
            except Exception as error:
                failed[running[future]] = error
            else:
                done(running[future], found)
        return failed
    finally:
        lanes.shutdown(cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _apart(folder: Path, job: Job) -> dict:
    """The trial in a process of its own, since compiled programs keep their memory.

    One pool for all, with `max_tasks_per_child`, hangs once a process has had its tasks (Python's
    issue 115634).
    """
    cache = getattr(jax.config, "jax_compilation_cache_dir", None)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context, _start, (cache,)) as pool:
        return pool.submit(_one, folder, job).result()


def _start(cache: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", cache)


def _one(folder: Path, job: Job) -> dict:
    found = trial.run(job.row, job.number)
    trial.store(folder, job.row, job.number, found)
    return found
