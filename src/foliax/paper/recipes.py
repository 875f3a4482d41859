"""How each row of the paper's tables is trained here: the paper's models, and one of our own."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import unicodedata
from collections.abc import Callable

from ..density import AbstractTarget
from ..dequantizers import HeavyTailed
from ..estimators import DequantizedFlow, ManifoldODE, MobiusFlow
from ..flows import AbstractAmbientSpec, DiscreteODE, RealNVP, Residual
from ..manifolds import (
    QR,
    AbstractDequantization,
    AbstractManifold,
    Fold,
    Polar,
    Quaternions,
    SignedQuaternions,
    Sphere,
    Stiefel,
    Torus,
    Wrapping,
)
from ..training import ELBO, AbstractObjective, ImportanceWeighted, Training
from . import targets
from .published import OURS, PAPER

OWN = "foliax"
"""The method's name of our own rows."""
QUICK = 500
"""Samples of a short trial's metrics."""
Spec = DequantizedFlow | MobiusFlow | ManifoldODE
Where = AbstractManifold | AbstractDequantization


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a table: a density to learn, and a way.

    `where`: a dequantization, or the manifold, whose own it is then. `rows`: size of a fixed
    training set; 0: fresh draws at every step, or, for Möbius flows, none, since they learn by
    reverse KL with the density in hand. `points`: samples that its metrics are estimated from.
    `angles`: whether moments of raw angles are wanted too, as the paper's on T² are.
    """

    table: str
    density: str
    method: str
    target: Callable[[int], AbstractTarget]
    spec: Spec
    where: Where
    rows: int = 0
    points: int = 10_000
    angles: bool = False

    @property
    def name(self) -> str:
        """table1-s2-deq-realnvp-i-s: for files and for choosing."""
        text = unicodedata.normalize("NFKD", f"{self.table} {self.density} {self.method}").lower()
        return re.sub(r"[^a-z0-9]+", "-", text.encode("ascii", "ignore").decode()).strip("-")

    @property
    def limits(self) -> tuple[float, int]:
        """KL(q‖p) to reach, and the most parameters."""
        if self.method == OWN:
            return OURS[self.table, self.density]
        paper = PAPER[self.table, self.density, self.method]
        return sum(paper.kl_qp), paper.parameters

    @property
    def tol(self) -> float:
        """The largest error of a log density for the KL to be shown.

        Their root mean square e is half of it or less, so that e²/2 is a twentieth of the KL at
        most. None in short trials, which show no KL.
        """
        return math.sqrt(0.4 * self.limits[0]) if self.points > QUICK else math.inf

    def quick(self) -> Row:
        """The same with few steps and few samples: whether it runs, not how well."""
        training = self.spec.training
        fewer = dataclasses.replace(training, steps=max(200, training.steps // 10), block=200)
        spec = dataclasses.replace(self.spec, training=fewer)
        return dataclasses.replace(self, spec=spec, points=QUICK)


def always(make: Callable[[], AbstractTarget]) -> Callable[[int], AbstractTarget]:
    """A target that is the same in every trial."""
    return lambda seed: make()


def flow(
    ambient: AbstractAmbientSpec, width: int, objective: AbstractObjective, **training
) -> DequantizedFlow:
    """A dequantized flow with the paper's sizes."""
    return DequantizedFlow(ambient, HeavyTailed(width), objective, Training(**training))


def own(
    steps: int, batch: int = 100, layers: int = 8, width: int = 48, components: int = 8
) -> DequantizedFlow:
    """Our own recipe, the same for all: a residual flow from a few Gaussians, importance-weighted.

    A thousandth or so of the paper's parameters does on O(3) and SO(3).
    """
    by = {"steps": steps, "batch": batch, "rate": 3e-3, "warmup": 200}
    return flow(Residual(layers, width, components), 10, ImportanceWeighted(2), **by)


@functools.cache
def rows() -> tuple[Row, ...]:
    """Every row, in the paper's order, ours after the paper's."""
    return (
        *_sphere("table1", 2, targets.sphere_s2, (70, 2), (40, 10), MobiusFlow(12, 31)),
        *_sphere("table2", 3, targets.sphere_s3, (100, 3), (70, 70), MobiusFlow(32, 63)),
        *_torus("Correlated", targets.torus_correlated),
        *_torus("Unimodal", targets.torus_unimodal),
        *_torus("Multimodal", targets.torus_multimodal),
        # Fewer rows: a smaller flow, fewer steps.
        *_orthogonal(
            "Procrustes",
            targets.procrustes,
            15_800,
            O3,
            own(3_000, 300, 4, 24, 16),
            steps=(4_000, 4_000, 12_000, 4_000),
            weighted=(4, 4),
            activation="tanh",
        ),
        *_orthogonal(
            "SO(3)",
            always(targets.rotations_so3),
            84_800,
            SO3,
            own(6_000, 300),
            steps=(8_000, 8_000, 8_000, 12_000),
            weighted=(2, 4),
            activation="silu",
        ),
    )


def named(name: str, quick: bool = False) -> Row:
    """The row of this name, or the quick one."""
    row = next(row for row in rows() if row.name == name)
    return row.quick() if quick else row


def _sphere(
    table: str,
    d: int,
    make: Callable[[], AbstractTarget],
    field: tuple[int, int],
    sizes: tuple[int, int],
    mobius: MobiusFlow,
) -> list[Row]:
    """Table 1 or 2: `field`, width and depth of the ODEs' networks; `sizes`, widths of RealNVP's
    networks and of its dequantizer's."""
    coupling, radius = sizes
    density = {2: "S²", 3: "S³"}[d]
    ode, nvp = DiscreteODE(*field, 6), RealNVP(3, coupling)
    steps, on_sphere = {2: (4_000, 2_500), 3: (2_500, 2_000)}[d]
    by_ode = {"steps": steps, "batch": 100, "rate": 3e-3, "warmup": 200}
    by_nvp = {"steps": 7_000, "batch": 100, "rate": 3e-3, "warmup": 200}
    specs = {
        "Deq. ODE (ELBO)": flow(ode, 10, ELBO(), **by_ode),
        "Deq. ODE (I.S.)": flow(ode, 10, ImportanceWeighted(2), **by_ode),
        "Deq. RealNVP (ELBO)": flow(nvp, radius, ELBO(), **by_nvp),
        "Deq. RealNVP (I.S.)": flow(nvp, radius, ImportanceWeighted(5), **by_nvp),
        # By likelihood: by reverse KL, as the paper's, three of five trials missed.
        "Man. ODE": ManifoldODE(*field, cost=1e-3, training=Training(on_sphere, 100, 3e-3)),
        "Möbius": dataclasses.replace(mobius, training=Training(6_000, 256, 5e-3, block=500)),
        OWN: own(9_900, 200) if d == 2 else own(9_900),
    }
    # An ODE's points take long, and its KL has a small variance.
    return [
        Row(
            table,
            density,
            method,
            always(make),
            spec,
            Sphere(d),
            points=4_000 if solved(spec) else 10_000,
        )
        for method, spec in specs.items()
    ]


def solved(spec: Spec) -> bool:
    """Whether a solver stands behind the density: such rows take longest."""
    return isinstance(spec, ManifoldODE) or (
        isinstance(spec, DequantizedFlow) and spec.ambient is not None and spec.ambient.uses_solver
    )


def _torus(density: str, make: Callable[[], AbstractTarget]) -> list[Row]:
    """A third of table 3."""
    by = {"batch": 100, "rate": 3e-3, "warmup": 200}
    nvp, torus = RealNVP(3, 35), Torus(2)
    # By the modulus: all 25 shifts of up to two turns; at 3e-3 the unimodal one does not get on.
    ways: dict[str, tuple[Spec, Where]] = {
        "Deq. RealNVP (ELBO)": (flow(nvp, 35, ELBO(), steps=10_000, **by), torus),
        "Deq. RealNVP (I.S.)": (flow(nvp, 35, ImportanceWeighted(5), steps=5_000, **by), torus),
        "Modulus": (
            flow(RealNVP(3, 40), 1, ImportanceWeighted(1), steps=5_000, **by | {"rate": 1e-3}),
            Wrapping(torus, 2),
        ),
        "Möbius": (MobiusFlow(9, training=Training(4_000, 256, 5e-3, block=500)), torus),
        OWN: (own(5_000), Wrapping(torus, 1)),
    }
    return [
        Row("table3", density, method, always(make), spec, where, points=2_000, angles=True)
        for method, (spec, where) in ways.items()
    ]


# By the polar decomposition of R⁹ = O(3) × Tri₊(3), by QR, and by quaternions.
O3 = Polar(Stiefel(3, 3)), QR(Stiefel(3, 3)), SignedQuaternions()
SO3 = Fold(Polar(Stiefel(3, 3))), Fold(QR(Stiefel(3, 3))), Quaternions()


def _orthogonal(
    density: str,
    target: Callable[[int], AbstractTarget],
    size: int,
    where: tuple[AbstractDequantization, AbstractDequantization, AbstractDequantization],
    ours: DequantizedFlow,
    *,
    steps: tuple[int, int, int, int],
    weighted: tuple[int, int],
    activation: str,
) -> list[Row]:
    """Half of table 4: fixed training sets. `steps` of the paper's four flows, of which two are
    importance-weighted, with K of `weighted`. `activation` of their networks: with SiLU, which is
    not bounded, couplings can throw samples far out, where no q(z | y) looks."""
    polar, qr, quaternions = where
    by = {"batch": 100, "rate": 3e-3, "warmup": 200}
    of = functools.partial(flow, RealNVP(6, 64, split=5, activation=activation), 32, **by)
    ways = {
        "ELBO - Polar": (of(ELBO(), steps=steps[0]), polar),
        "I.S. - Polar": (of(ImportanceWeighted(weighted[0]), steps=steps[1]), polar),
        "ELBO - QR": (of(ELBO(), steps=steps[2]), qr),
        "I.S. - QR": (of(ImportanceWeighted(weighted[1]), steps=steps[3]), qr),
        OWN: (ours, quaternions),
    }
    return [
        Row("table4", density, method, target, spec, where, size, points=4_000)
        for method, (spec, where) in ways.items()
    ]
