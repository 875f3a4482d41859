"""The benchmarks run, with tiny sizes; times are not checked."""

import io
import json
import math
import sys

import numpy as np
import pytest
from rich.console import Console

from benchmarks import marginal, peers, speed, timing
from benchmarks.scaling_targets import TARGETS
from foliax.evaluation import mean_and_error

from .small import density

SPEED = speed.Sizes(
    turns=1,
    steps=4,
    block=2,
    peer_steps=2,
    rows=40,
    held_out=10,
    batch=8,
    points=20,
    chunk=10,
)
MARGINAL = marginal.Sizes(
    points=6,
    nodes=512,
    samples=64,
    turns=1,
    torus_points=4,
    grid=16,
    replicates=2,
    torus_samples=(8,),
)


@pytest.fixture(autouse=True)
def few_couplings(monkeypatch):
    monkeypatch.setattr(speed, "COUPLINGS", 1)
    monkeypatch.setattr(peers, "COUPLINGS", 1)


def printed(module, results) -> str:
    out = io.StringIO()
    module.show(results, Console(file=out, width=200))
    return out.getvalue()


@pytest.mark.slow
def test_missing_peers_are_skipped_with_a_message(monkeypatch, tmp_path):
    for package in ("torch", "zuko", "normflows"):
        monkeypatch.setitem(sys.modules, package, None)
    said: list[str] = []
    results = speed.measure(SPEED, (speed.SPACE,), say=said.append)
    assert [message.split(":")[0] for message in said] == [
        "zuko is skipped",
        "normflows is skipped",
    ]
    assert all("torch==2.13.0" in message for message in said)
    assert set(results["skipped"]) == {"zuko", "normflows"}
    assert len(results["rows"]) == 3
    for name, row in results["rows"].items():
        assert row["steps/s"] > 0
        assert (row["time / bare scan"] is not None) == name.startswith("foliax")
    table = printed(speed, results)
    assert "foliax with validation, R³" in table
    assert "zuko is skipped" in table
    timing.store(results, tmp_path / "speed.json")
    assert json.loads((tmp_path / "speed.json").read_text()) == results


@pytest.mark.parametrize("name", peers.PEERS)
def test_peers_where_they_are_installed(name):
    pytest.importorskip("torch")
    pytest.importorskip(name)
    rows = np.asarray(speed.data(speed.SPACE, SPEED)[0])
    training, scoring, parameters = peers.peer_jobs(
        name, rows, steps=2, batch=8, points=SPEED.points, chunk=SPEED.chunk
    )
    training()
    assert sum(len(part) for part in scoring()) == SPEED.points
    assert parameters > 0


@pytest.mark.slow
def test_marginal(monkeypatch, tmp_path):
    monkeypatch.setattr(
        marginal, "trained", lambda target, sizes: density(target.manifold.dequantization())
    )
    results = marginal.measure(MARGINAL)
    assert list(results["S²"]["rows"]) == [
        "quadrature",
        "quadrature, refined",
        "importance sampling, 64",
    ]
    assert list(results["T²"]["rows"]) == ["RQMC, 8", "importance sampling, 8"]
    for where in ("S²", "T²"):
        for row in results[where]["rows"].values():
            assert math.isfinite(row["largest error"])
    assert results["S²"]["rows"]["quadrature"]["largest error"] < 0.05
    assert "its rms error over RQMC's" in printed(marginal, results)
    timing.store(results, tmp_path / "marginal.json")
    assert json.loads((tmp_path / "marginal.json").read_text())["S²"] == results["S²"]


@pytest.mark.parametrize("name", TARGETS)
def test_draws_of_the_scaling_targets_follow_their_density(name):
    """E_p[1/(p·vol)] = 1, where p is above 0 everywhere and the volume is finite."""
    target = TARGETS[name]
    log_volume = target.manifold.log_total_volume()
    if not math.isfinite(log_volume):
        pytest.skip("the manifold has no finite volume")
    found = mean_and_error(np.exp(-target.log_density(target.draw(4000, 1)) - log_volume))
    assert abs(found.value - 1) < 4 * found.error
