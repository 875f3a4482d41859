"""Print errors of log volumes and total masses: `make geometry`. Takes a few minutes."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from foliax.manifolds import QR, Polar, Stiefel

from .contract import Case, covered_samples, marginals, mass, volume_errors


def all_cases() -> Iterator[Case]:
    """Yield the cases of all test files of this folder."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        yield from getattr(module, "CASES", ())


def volumes_and_masses(console: Console) -> None:
    table = Table("manifold", "max |log_volume − autodiff|, float64", "total mass", "s.e.")
    for case in all_cases():
        with jax.enable_x64(True):
            error = float(volume_errors(case.dequantization, covered_samples(case, 200)).max())
        total, deviation = mass(case, 2_000_000)
        table.add_row(str(case), f"{error:.1e}", f"{total:.4f}", f"{deviation:.4f}")
    console.print(table)


def uniform_frames(console: Console) -> None:
    table = Table("Gaussian matrix on", "by", "log density", "s.e.", "−log volume")
    with jax.enable_x64(True):
        for n, p in ((3, 3), (3, 2), (4, 3)):
            for way in (Polar, QR):
                case = Case(f"St({n},{p})", way(Stiefel(n, p)))
                y = jnp.eye(n, p).reshape(1, -1)
                value, error = marginals(case, case.plain, y, 1_000_000)
                known = -Stiefel(n, p).log_total_volume()
                table.add_row(
                    str(case), way.__name__, f"{value[0]:.4f}", f"{error[0]:.4f}", f"{known:.4f}"
                )
    console.print(table)


def ways_to_so3(console: Console) -> None:
    table = Table("SO(3) by", "largest |log density − exact| of 5 rotations", "its s.e.")
    with jax.enable_x64(True):
        rows, exact = test_rotations.four_ways(1_000_000)
        for name, (values, errors) in rows.items():
            worst = int(np.argmax(np.abs(values - exact)))
            gap = abs(values[worst] - exact[worst])
            table.add_row(name, f"{gap:.1e}", f"{errors[worst]:.1e}")
    console.print(table)


def gradient_at_identity(console: Console) -> None:
    def volume(z):
        return Polar(Stiefel(3, 3)).preimages(jnp.eye(3, dtype=z.dtype).reshape(-1), z)[1][0]

    z = np.eye(3)[np.tril_indices(3)]
    with jax.enable_x64(True):
        wide = np.asarray(jax.grad(volume)(jnp.asarray(z)))
    narrow = np.asarray(jax.grad(volume)(jnp.asarray(z, "float32")))
    relative = np.abs(narrow - wide).max() / np.abs(wide).max()
    console.print(
        f"Gradient of the polar log-volume at L = I: {narrow}, float32 off by {relative:.1e}"
    )


if __name__ == "__main__":
    console = Console(width=110)
    gradient_at_identity(console)
    uniform_frames(console)
    ways_to_so3(console)
    volumes_and_masses(console)
