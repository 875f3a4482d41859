"""Measure CPU time on one core, in turns, and store the results."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

Job = Callable[[], object]


def one_core() -> None:
    """Limit this process to one core and XLA to one thread; call it before any computation."""
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    )
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def time_in_turns(jobs: dict[str, Job], turns: int) -> dict[str, list[float]]:
    """Return the CPU seconds of every job in every turn, after a first run that compiles."""
    for job in jobs.values():
        job()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(turns):
        for name, job in jobs.items():
            began = time.process_time()
            job()
            seconds[name].append(time.process_time() - began)
    return seconds


def environment(*packages: str) -> dict:
    """Return package versions and the processor."""
    versions = {}
    for package in ("foliax", "jax", "flowjax", "equinox", "optax", *packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "versions": versions,
        "processor": f"{names[0] if names else platform.processor()}, one core",
    }


def ratio(seconds: list[float], others: list[float]) -> dict[str, float]:
    """Return median, smallest and largest ratio of the turns."""
    found = [a / b for a, b in zip(seconds, others, strict=True)]
    return {"median": statistics.median(found), "from": min(found), "to": max(found)}


def format_ratio(found: dict[str, float] | None, style: str) -> str:
    if found is None:
        return ""
    return f"{found['median']:{style}} ({found['from']:{style}} to {found['to']:{style}})"


def store(results: dict, path: Path) -> None:
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
