"""Recipes for every row of the paper's tables: the paper's models, and one of our own."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from ..density import AbstractTarget
from ..dequantizers import HeavyTailed
from ..estimators import DequantizedFlow, ManifoldODE, MobiusFlow
from ..estimators.spline_flow import SplineFlow
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
from .published import OWN_LIMITS, PAPER

OWN = "foliax"
"""The method name of our own rows."""
QUICK_POINTS = 500
"""Samples for the metrics of a short trial."""
TORUS_DRAWS = 1_000_000
"""Rows of our own trainings on T²: the paper draws 10,000 batches of 100."""
Estimator = DequantizedFlow | MobiusFlow | ManifoldODE | SplineFlow
Space = AbstractManifold | AbstractDequantization


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a table: a density to learn and a method.

    Attributes:
        table: The paper's table, such as "table1".
        density: The density's name in the table.
        method: The method's name in the table.
        target: Returns the density of a trial, given the trial's number.
        estimator: The estimator with its training settings.
        dequantization: A dequantization, or a manifold, which stands for its default one.
        rows: Size of a fixed training set. 0 draws fresh rows at every step; Möbius flows need
            none, because they minimise the reverse KL with the target's density.
        points: Samples for the metrics.
        angles: Whether to report moments of raw angles too, as the paper does on T².
    """

    table: str
    density: str
    method: str
    target: Callable[[int], AbstractTarget]
    estimator: Estimator
    dequantization: Space
    rows: int = 0
    points: int = 10_000
    angles: bool = False

    @property
    def name(self) -> str:
        """Name for files and for the command line, such as table1-s2-deq-realnvp-i-s."""
        text = unicodedata.normalize("NFKD", f"{self.table} {self.density} {self.method}").lower()
        return re.sub(r"[^a-z0-9]+", "-", text.encode("ascii", "ignore").decode()).strip("-")

    @property
    def limits(self) -> tuple[float, int]:
        """The largest allowed KL(q‖p) and number of parameters."""
        if self.method == OWN:
            return OWN_LIMITS[self.table, self.density]
        paper = PAPER[self.table, self.density, self.method]
        return sum(paper.kl_qp), paper.parameters

    @property
    def tolerance(self) -> float:
        """The largest error of a log density, in nats, that the KL limit allows.

        The root mean square error e is at most half of it, so that the bias e²/2 is at most a
        twentieth of the limit. Short trials have none, because their KL means nothing.
        """
        return math.sqrt(0.4 * self.limits[0]) if self.points > QUICK_POINTS else math.inf

    def quick(self) -> Row:
        """Return the row with few steps and few samples, to see that it runs."""
        training = self.estimator.training
        fewer = dataclasses.replace(training, steps=max(200, training.steps // 10), eval_every=200)
        estimator = dataclasses.replace(self.estimator, training=fewer)
        return dataclasses.replace(self, estimator=estimator, points=QUICK_POINTS)


def same_every_trial(make: Callable[[], AbstractTarget]) -> Callable[[int], AbstractTarget]:
    """Return a target that ignores the trial's number."""
    return lambda seed: make()


def flow(
    ambient: AbstractAmbientSpec, width: int, objective: AbstractObjective, **training
) -> DequantizedFlow:
    """Return a dequantized flow with a heavy-tailed dequantizer of the given width."""
    return DequantizedFlow(ambient, HeavyTailed(width), objective, Training(**training))


def own_recipe(
    steps: int, batch: int = 100, layers: int = 8, width: int = 48, components: int = 8
) -> DequantizedFlow:
    """Return our own recipe: a residual flow from a mixture of Gaussians, importance-weighted.

    On O(3) and SO(3) it has about a thousandth of the paper's parameters.
    """
    by = {"steps": steps, "batch_size": batch, "learning_rate": 3e-3, "warmup": 200}
    return flow(Residual(layers, width, components), 10, ImportanceWeighted(2), **by)


def own_torus_recipe() -> SplineFlow:
    """Return our own recipe on T²: two layers of splines, and five passes over a fixed set of rows.

    No rows are held out: so small a flow does not overfit a million rows.
    """
    training = Training(steps=10_000, batch_size=500, learning_rate=0.01, warmup=200)
    return SplineFlow(
        layers=2, width=8, bins=8, members=1, training=training, validation_fraction=0.0
    )


@functools.cache
def rows() -> tuple[Row, ...]:
    """Return every row in the paper's order; ours follow the paper's."""
    return (
        *_sphere("table1", 2, targets.sphere_s2, (70, 2), (40, 10), MobiusFlow(12, 31)),
        *_sphere("table2", 3, targets.sphere_s3, (100, 3), (70, 70), MobiusFlow(32, 63)),
        *_torus("Correlated", targets.torus_correlated),
        *_torus("Unimodal", targets.torus_unimodal),
        *_torus("Multimodal", targets.torus_multimodal),
        # A smaller training set needs a smaller flow and fewer steps.
        *_orthogonal(
            "Procrustes",
            targets.procrustes,
            15_800,
            O3,
            own_recipe(3_000, 300, 4, 24, 16),
            PaperFlows((4_000, 4_000, 12_000, 4_000), samples=(4, 4), activation="tanh"),
        ),
        *_orthogonal(
            "SO(3)",
            same_every_trial(targets.rotations_so3),
            84_800,
            SO3,
            own_recipe(6_000, 300),
            PaperFlows((8_000, 8_000, 8_000, 12_000), samples=(2, 4), activation="silu"),
        ),
    )


def find_row(name: str, quick: bool = False) -> Row:
    """Return the row of this name, or its quick version."""
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
    """Return the rows of table 1 or 2.

    `field` has width and depth of the ODEs' networks; `sizes` has the widths of RealNVP's networks
    and of its dequantizer.
    """
    coupling, radius = sizes
    density = {2: "S²", 3: "S³"}[d]
    ode, nvp = DiscreteODE(*field, 6), RealNVP(3, coupling)
    steps, on_sphere = {2: (4_000, 2_500), 3: (2_500, 2_000)}[d]
    by_ode = {"steps": steps, "batch_size": 100, "learning_rate": 3e-3, "warmup": 200}
    by_nvp = {"steps": 7_000, "batch_size": 100, "learning_rate": 3e-3, "warmup": 200}
    estimators = {
        "Deq. ODE (ELBO)": flow(ode, 10, ELBO(), **by_ode),
        "Deq. ODE (I.S.)": flow(ode, 10, ImportanceWeighted(2), **by_ode),
        "Deq. RealNVP (ELBO)": flow(nvp, radius, ELBO(), **by_nvp),
        "Deq. RealNVP (I.S.)": flow(nvp, radius, ImportanceWeighted(5), **by_nvp),
        # By likelihood: with the paper's reverse KL, three of five trials missed the limit.
        "Man. ODE": ManifoldODE(*field, cost=1e-3, training=Training(on_sphere, 100, 3e-3)),
        "Möbius": dataclasses.replace(mobius, training=Training(6_000, 256, 5e-3, eval_every=500)),
        OWN: own_recipe(9_900, 200),
    }
    # Evaluating an ODE is slow, and its KL has a small variance.
    return [
        Row(
            table,
            density,
            method,
            same_every_trial(make),
            estimator,
            Sphere(d),
            points=4_000 if uses_ode_solver(estimator) else 10_000,
        )
        for method, estimator in estimators.items()
    ]


def uses_ode_solver(estimator: Estimator) -> bool:
    """Return whether evaluating the density solves an ODE, which is slow."""
    return isinstance(estimator, ManifoldODE) or (
        isinstance(estimator, DequantizedFlow)
        and estimator.ambient is not None
        and estimator.ambient.uses_solver
    )


def _torus(density: str, make: Callable[[], AbstractTarget]) -> list[Row]:
    """Return the rows of one density in table 3."""
    by = {"batch_size": 100, "learning_rate": 3e-3, "warmup": 200}
    nvp, torus = RealNVP(3, 35), Torus(2)
    # Modulus: all 25 shifts by up to two turns. At 3e-3 the unimodal density does not train.
    methods: dict[str, tuple[Estimator, Space]] = {
        "Deq. RealNVP (ELBO)": (flow(nvp, 35, ELBO(), steps=10_000, **by), torus),
        "Deq. RealNVP (I.S.)": (flow(nvp, 35, ImportanceWeighted(5), steps=5_000, **by), torus),
        "Modulus": (
            flow(
                RealNVP(3, 40),
                1,
                ImportanceWeighted(1),
                steps=5_000,
                **by | {"learning_rate": 1e-3},
            ),
            Wrapping(torus, 2),
        ),
        "Möbius": (MobiusFlow(9, training=Training(4_000, 256, 5e-3, eval_every=500)), torus),
        OWN: (own_torus_recipe(), torus),
    }
    target, draws = same_every_trial(make), {OWN: TORUS_DRAWS}
    return [
        Row("table3", density, method, target, *how, draws.get(method, 0), 2_000, angles=True)
        for method, how in methods.items()
    ]


# Polar decomposition of R⁹ = O(3) × Tri₊(3), QR decomposition, and quaternions.
O3 = Polar(Stiefel(3, 3)), QR(Stiefel(3, 3)), SignedQuaternions()
SO3 = Fold(Polar(Stiefel(3, 3))), Fold(QR(Stiefel(3, 3))), Quaternions()


class PaperFlows(NamedTuple):
    """Settings of the paper's four flows on a density of table 4.

    Attributes:
        steps: Training steps of ELBO and importance weighting by polar decomposition, then by QR.
        samples: K of the two importance-weighted flows.
        activation: Of the networks. SiLU is not bounded, so that couplings can move samples far
            out, where q(z | y) has no mass.
    """

    steps: tuple[int, int, int, int]
    samples: tuple[int, int]
    activation: str


def _orthogonal(
    density: str,
    target: Callable[[int], AbstractTarget],
    rows: int,
    dequantizations: tuple[AbstractDequantization, AbstractDequantization, AbstractDequantization],
    own: DequantizedFlow,
    flows: PaperFlows,
) -> list[Row]:
    """Return the rows of one density in table 4, which have fixed training sets."""
    polar, qr, quaternions = dequantizations
    steps, samples = flows.steps, flows.samples
    by = {"batch_size": 100, "learning_rate": 3e-3, "warmup": 200}
    of = functools.partial(flow, RealNVP(6, 64, split=5, activation=flows.activation), 32, **by)
    methods = {
        "ELBO - Polar": (of(ELBO(), steps=steps[0]), polar),
        "I.S. - Polar": (of(ImportanceWeighted(samples[0]), steps=steps[1]), polar),
        "ELBO - QR": (of(ELBO(), steps=steps[2]), qr),
        "I.S. - QR": (of(ImportanceWeighted(samples[1]), steps=steps[3]), qr),
        OWN: (own, quaternions),
    }
    return [
        Row("table4", density, method, target, estimator, dequantization, rows, points=4_000)
        for method, (estimator, dequantization) in methods.items()
    ]
