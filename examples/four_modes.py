"""Learn a four-mode density on the sphere from 5,000 points, and compare it with the truth."""

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from foliax import DequantizedFlow, HeavyTailed, ImportanceWeighted, Training, evaluate
from foliax.density import Dataset
from foliax.evaluation import compare
from foliax.flows import SplineCoupling
from foliax.manifolds import conversions
from foliax.paper import targets
from foliax.training import OnBlock
from foliax.training.progress import training_bar


def main() -> None:
    console = Console()
    target = targets.sphere_s2()
    rows = target.sample(5000, key=jax.random.key(0))
    estimator = DequantizedFlow(
        SplineCoupling(4, 24, 2, 8, 4.0, activation="silu"),
        HeavyTailed(10),
        ImportanceWeighted(2),
        Training(steps=4000, batch_size=200, learning_rate=3e-3, patience=8),
    )
    console.print(f"Fitting {len(rows)} points on S² ...")
    with training_bar() as bar:
        fitted = estimator.fit(
            Dataset(rows, target.manifold), key=jax.random.key(1), callbacks=[OnBlock(bar)]
        )
    density, record = fitted.density, fitted.record
    console.print(
        f"{record.parameters:,} parameters, {record.history[-1].step} steps in "
        f"{record.seconds:.0f} s ({record.stopped}); held-out loss "
        f"{record.best_validation:.4f} nats, uniform {target.manifold.log_total_volume():.4f}"
    )
    drawn = density.sample(5, key=jax.random.key(2))
    found = evaluate(density, drawn, tol=1e-3)
    exact = np.array([float(target.log_prob(y).value) for y in drawn])
    lat, lon = conversions.latlon_from_vectors(drawn.astype(float), degrees=True)
    table = Table("sample: lat", "lon", "log density per steradian", "± error", "truth")
    for row in zip(lat, lon, found.value, found.error, exact, strict=True):
        table.add_row(
            *(f"{v:.1f}" for v in row[:2]), f"{row[2]:.4f}", f"{row[3]:.0e}", f"{row[4]:.4f}"
        )
    console.print(table)
    against = compare(density, target, 10_000, key=jax.random.key(3))
    console.print(
        f"Against the truth: KL(q‖p) {against.kl_qp}, KL(p‖q) {against.kl_pq}, "
        f"effective sample size {against.ess:.1%}, total mass {against.mass}"
    )


if __name__ == "__main__":
    main()
