"""Measure flows on manifolds, kernels and mixtures: `python -m benchmarks.estimators [ROW …]`.

The flows learn the paper's targets by reverse KL, from the target's log density and without
samples, with at most the paper's number of parameters. The exponential map learns from samples.
Each row uses one seed, not the one that chose its settings.

`python -m benchmarks.estimators contract [NAME …]` measures total mass, divergences in 20 fits,
NaNs in a million samples and their log densities, and the worst inverse∘forward of a flow; `mass`
measures the stored estimators' total mass again. Each result is stored in
benchmarks/results/estimators.json when it ends.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.learning import SEED, SO3_ROWS, fresh, show, silu_spline
from foliax.density import Dataset, PushForward
from foliax.estimators import (
    AbstractManifoldFlow,
    CircularSplineFlow,
    DirectionalMixture,
    ExponentialFlow,
    FitResult,
    LocalKernel,
    ManifoldODE,
    MobiusFlow,
    ScaleMixtureKernel,
    Stacking,
)
from foliax.estimators.manifold_flow.base import uniform_sampler
from foliax.evaluation import metrics
from foliax.paper import targets
from foliax.training import Training

RESULTS = Path(__file__).parent / "results" / "estimators.json"
S2, S3, SO3 = targets.sphere_s2(), targets.sphere_s3(), targets.rotations_so3()
CORRELATED, UNIMODAL = targets.torus_correlated(), targets.torus_unimodal()
MULTIMODAL = targets.torus_multimodal()


def by(steps, batch, rate, **more):
    return Training(steps=steps, batch_size=batch, learning_rate=rate, eval_every=500, **more)


TORUS, SPHERE = by(4_000, 256, 5e-3), by(6_000, 256, 5e-3)
# name: (target, estimator, the paper's KL(q‖p); for splines, that of its Möbius flow)
ROWS = {
    "Möbius T² correlated": (CORRELATED, MobiusFlow(9, training=TORUS), 0.0021),
    "Möbius T² unimodal": (UNIMODAL, MobiusFlow(9, training=TORUS), 0.0008),
    "Möbius T² multimodal": (MULTIMODAL, MobiusFlow(9, training=TORUS), 0.0012),
    "Möbius S²": (S2, MobiusFlow(12, 31, training=SPHERE), 0.0595),
    "Möbius S³": (S3, MobiusFlow(32, 63, training=SPHERE), 0.0542),
    "circular spline T² multimodal": (
        MULTIMODAL,
        CircularSplineFlow(8, width=48, training=TORUS),
        0.0012,
    ),
    "circular spline T² multimodal, coupling": (
        MULTIMODAL,
        CircularSplineFlow(8, 4, True, 16, training=TORUS),
        0.0012,
    ),
    "ODE S²": (S2, ManifoldODE(70, 2, training=by(5_000, 100, 5e-3)), 0.0085),
    "ODE S³": (S3, ManifoldODE(100, 3, training=by(5_000, 100, 4e-3)), 0.0098),
    "exponential SO(3)": (
        SO3,
        ExponentialFlow(silu_spline(5, 40), training=by(10_000, 200, 3e-3)),
        0.0207,
    ),
}
SHORT = Training(steps=200, batch_size=64, learning_rate=1e-2, warmup=20, eval_every=50)
KERNELS = (ScaleMixtureKernel(), LocalKernel())
SAMPLED = {
    "scale kernel": KERNELS[0],
    "local kernel": KERNELS[1],
    "mixture": DirectionalMixture(max_components=8),
    "stack": Stacking((*KERNELS, DirectionalMixture(4))),
}
# name: (target, estimator); flows have short trainings here.
CONTRACT = {
    name: (target, dataclasses.replace(spec, training=SHORT))
    for name, (target, spec, _) in ROWS.items()
    if name not in ("Möbius T² correlated", "Möbius T² unimodal")
} | {
    f"{name} {where}": (target, spec)
    for where, target in (("S²", S2), ("T²", MULTIMODAL), ("SO(3)", SO3))
    for name, spec in SAMPLED.items()
}


def fit_row(name: str, seed: int):
    target, spec, _ = ROWS[name]
    key = jax.random.key(seed)
    if isinstance(spec, AbstractManifoldFlow):
        return spec.fit_target(target.manifold, target, key=key)
    rows = target.sample(SO3_ROWS, key=jax.random.key(seed + 2))
    return spec.fit(Dataset(rows, target.manifold), key=key)


def measure(name: str) -> dict:
    target, spec, limit = ROWS[name]
    fit = fit_row(name, SEED)
    # An ODE solver is slow to evaluate.
    n = 5_000 if isinstance(spec, ManifoldODE) else 20_000
    found = metrics.compare(fit.density, target, n, key=jax.random.key(SEED + 1))
    return {
        "spec": repr(spec),
        "limit": limit,
        "parameters": fit.record.parameters,
        "training seconds": round(fit.record.seconds, 1),
        "KL(q‖p)": found.kl_qp,
        "KL(p‖q)": found.kl_pq,
        "ESS": found.ess.value,
        "mass": found.mass,
        "events": fit.record.events,
        "versions": {"jax": jax.__version__},
    }


def sampled_fit(name: str, seed: int) -> tuple[FitResult, np.ndarray]:
    """Return a short fit to samples of the target, and a thousand of the samples."""
    target, spec = CONTRACT[name]
    few = target.sample(1000, key=jax.random.key(SEED + seed))
    data = fresh(target) if hasattr(spec, "training") else few
    return spec.fit(Dataset(data, target.manifold), key=jax.random.key(seed)), few


def contract(name: str, seeds: int = 20, samples: int = 1_000_000) -> dict:
    """Fit with 20 seeds; check samples, mass and inverse of the last fit."""
    diverged, density = 0, None
    for seed in range(seeds):
        fit, few = sampled_fit(name, seed)
        density = fit.density
        score = metrics.log_prob_once(density, few, key=jax.random.key(seed)).value
        diverged += not np.isfinite(score).all() or any(
            event.startswith("Diverged") for event in fit.record.events
        )
    assert density is not None
    rows = density.sample(samples, key=jax.random.key(SEED))
    scored = min(samples, evaluations(name))
    value = metrics.log_prob_once(density, rows[:scored], key=jax.random.key(SEED)).value
    return {
        "mass": mass(name, density),
        "seeds": seeds,
        "diverged": diverged,
        "samples": samples,
        "scored": scored,
        "NaN": int((~np.isfinite(rows)).any(1).sum() + (~np.isfinite(value)).sum()),
        "inverse∘forward": round_trip(density),
    }


def evaluations(name: str) -> int:
    """Return how many log densities can be evaluated in reasonable time."""
    _, spec = CONTRACT[name]
    if isinstance(spec, ManifoldODE):
        return 20_000
    return 100_000 if isinstance(spec, LocalKernel | Stacking) else 1_300_000


def mass(name: str, density) -> metrics.Estimate:
    """Estimate total mass to a standard error of 0.1 %, within the affordable evaluations."""
    target, _ = CONTRACT[name]
    n = 20_000
    while True:
        found = metrics.total_mass(density, n, key=jax.random.key(SEED + 1), near=target, share=0.9)
        if found.error < 0.001 or 4 * n > evaluations(name):
            return found
        n *= 4


def weigh(name: str) -> dict:
    """Return the stored result with a new estimate of the mass."""
    known = stored()["contract"][name]
    return known | {"mass": mass(name, sampled_fit(name, known["seeds"] - 1)[0].density)}


def round_trip(density, n: int = 20_000) -> float | None:
    """Return the largest distance of inverse(forward(x)) from x over max(1, stretch)."""
    if not isinstance(density, PushForward):
        return None

    def one(x):
        y, _ = density.bijection.forward(x)
        back, _ = density.bijection.inverse(y)
        jacobian = jax.jacrev(lambda y: density.bijection.inverse(y)[0])(y)
        stretch = jnp.linalg.norm(jacobian, 2)
        return density.manifold.distance(back, x) / jnp.maximum(1, stretch)

    x = uniform_sampler(density.manifold)(jax.random.key(SEED + 3), n)
    return float(jax.jit(lambda x: jax.lax.map(one, x, batch_size=1000))(x).max())


def show_contract(results: dict) -> None:
    table = Table("estimator", "mass", "seeds diverged", "NaN in samples", "worst inverse∘forward")
    for name, r in results.items():
        trip = r["inverse∘forward"]
        table.add_row(
            name,
            str(metrics.Estimate(*r["mass"])),
            f"{r['diverged']} of {r['seeds']}",
            f"{r['NaN']} of {r['samples']:,} ({r['scored']:,} scored)",
            "–" if trip is None else f"{trip:.1e}",
        )
    Console(width=140).print(table)


def stored() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}, "contract": {}}


def store(part: str, name: str, found: dict) -> None:
    results = stored()
    results[part][name] = found
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def main(names: list[str]) -> None:
    part, run, table = "rows", measure, show
    if names[:1] in (["contract"], ["mass"]):
        run = contract if names[0] == "contract" else weigh
        part, table, names = "contract", show_contract, names[1:]
    for name in names or (CONTRACT if part == "contract" else ROWS):
        found = run(name)
        store(part, name, found)
        table({name: found})
    table(stored()[part])


if __name__ == "__main__":
    main(sys.argv[1:])
