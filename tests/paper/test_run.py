"""Trials in other processes: errors, interrupts and grouping."""

import concurrent.futures
import math
import threading

import pytest

from foliax.evaluation import Estimate
from foliax.paper import results, run


def test_a_trial_that_fails_is_named_and_the_others_run(tmp_path, monkeypatch):
    """Threads stand in for processes."""
    found = {"metrics": {"KL(q‖p)": Estimate(0.1, 0.01)}}

    def one(folder, job):
        if job.number == 1:
            raise ArithmeticError("the solver failed")
        return found

    monkeypatch.setattr(run, "_run_trial", one)
    monkeypatch.setattr(run.concurrent.futures, "ProcessPoolExecutor", lambda *_, **__: Threads())
    jobs = [run.Job("table1-s2-mobius", number, False) for number in range(3)]
    told = []
    failed = run.run(tmp_path, jobs, 1, lambda job, result: told.append((job.number, result)))
    assert sorted(told) == [(0, found), (2, found)]
    stored = results.read(tmp_path / "table1.json")["table1-s2-mobius"]
    assert list(stored) == ["0", "2"]
    assert {job.number: str(error) for job, error in failed.items()} == {1: "the solver failed"}


def test_a_trial_that_cannot_be_stored_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(
        run, "_run_trial", lambda folder, job: {"KL": math.nan if job.number else 0.1}
    )
    monkeypatch.setattr(run.concurrent.futures, "ProcessPoolExecutor", lambda *_, **__: Threads())
    jobs = [run.Job("table1-s2-mobius", number, False) for number in range(2)]
    told = []
    failed = run.run(tmp_path, jobs, 1, lambda job, result: told.append(job.number))
    assert told == [0]
    assert {job.number for job in failed} == {1}
    assert list(results.read(tmp_path / "table1.json")["table1-s2-mobius"]) == ["0"]


@pytest.mark.parametrize("place", ["while it waits", "while it stores"])
def test_an_interrupt_loses_no_trial_that_has_ended(tmp_path, monkeypatch, place):
    """Trial 0 is stored or about to be, and trial 1 ends while the processes are stopped."""
    interrupted, save = threading.Event(), results.save

    def one(folder, job):
        if job.number:
            interrupted.wait(10)
        return {"KL": 0.1}

    def interrupt(*_):
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    def interrupted_save(*arguments):
        interrupt()
        save(*arguments)

    if place == "while it stores":
        monkeypatch.setattr(results, "save", interrupted_save)
    monkeypatch.setattr(run, "_run_trial", one)
    monkeypatch.setattr(run.concurrent.futures, "ProcessPoolExecutor", lambda *_, **__: Threads())
    monkeypatch.setattr(run, "TRIALS_PER_PROCESS", 1)
    jobs = [run.Job("table1-s2-mobius", number, False) for number in range(2)]
    with pytest.raises(KeyboardInterrupt):
        run.run(tmp_path, jobs, 2, interrupt)
    assert list(results.read(tmp_path / "table1.json")["table1-s2-mobius"]) == ["0", "1"]


class Threads(concurrent.futures.ThreadPoolExecutor):
    """A pool of one thread that stands in for a process."""

    def __init__(self):
        super().__init__(1)


def test_trials_of_a_row_share_a_process_a_few_at_a_time():
    jobs = [run.Job(name, number, False) for number in range(7) for name in ("a", "b")]
    jobs.append(run.Job("c", 6, False))
    parts = run.group_jobs(jobs)
    assert [(part[0].name, [job.number for job in part]) for part in parts] == [
        ("a", [0, 1, 2, 3, 4]),
        ("b", [0, 1, 2, 3, 4]),
        ("c", [6]),
        ("a", [5, 6]),
        ("b", [5, 6]),
    ]
    assert run.group_jobs([]) == []


def test_short_trials_of_a_density_share_a_process():
    names = ["table1-s2-mobius", "table2-s3-mobius", "table1-s2-man-ode"]
    parts = run.group_jobs([run.Job(name, 0, True) for name in names])
    assert [[job.name for job in part] for part in parts] == [[names[0], names[2]], [names[1]]]


def test_where_no_process_can_be_had_every_trial_fails_rather_than_wait(tmp_path, monkeypatch):
    def none(*arguments):
        raise OSError("no semaphores")

    monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", none)
    jobs = [run.Job("table3-unimodal-mobius", number, True) for number in range(2)]
    failed = run.run(tmp_path, jobs, 1, lambda job, found: None)
    assert {str(error) for error in failed.values()} == {"no semaphores"}
    assert list(failed) == jobs
