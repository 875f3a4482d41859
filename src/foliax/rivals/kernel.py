"""The scale-mixture kernel: kernels of many bandwidths, weighted by leave-one-out likelihood."""

from __future__ import annotations

import bisect
import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.spatial import KDTree

from ..manifolds import AbstractManifold
from ..manifolds.base import as_points
from ..record import Record
from ..registry import storable
from ..specs import AbstractSpec, Fitted
from .kernel_density import KernelDensity
from .kernels import AbstractKernels, Background, ScaleKernels, Space
from .near import components_of_parts
from .weights import mixture_weights

TURNS = ((600, 600, 2.0), (8000, 1000, 2**0.5))
"""How ratios of bandwidths are found: of so many kernels, by so many rows, in steps of a factor."""
ASKED = 1000
"""Rows that tell which concentrations are of use."""
SLIGHT = 1e-4
"""A weight of no use."""
FAR = 16.001
"""How far a ratio may be from one over its deviation; sixteen, in spite of rounding."""
SAMPLE = 20_000
"""Rows that tell how many are near each other."""
SIDE = 0.7
"""Of the cubes whose rows carry one kernel, in bandwidths."""
LIGHT = 1000
"""Kernels that are evaluated in no time."""
NOTHING = 1.0
"""Nats of the weighed rows' log-likelihood, for which no component is worth its time."""
DEPTH = 20.0
"""Nats below its peak from which a kernel hardly counts."""


@storable("rivals.ScaleMixtureKernel")
@dataclasses.dataclass(frozen=True)
class ScaleMixtureKernel(AbstractSpec):
    """p = π₀·uniform + Σ_k π_k Σ_i w_i K(· | y_i, κ_k), κ_k from `smallest` to `largest`.

    Each κ is `ratio` times the one before. Exactly normalised on spheres, tori, SO(n), reals,
    half-lines, intervals, counts, rounded values, their products and quotients. The weights π
    maximise the leave-one-out likelihood of the rows by EM. A row leaves together with its exact
    copies, so that copies cannot drive the likelihood to infinity; where all of a row is counted or
    rounded, whose likelihood is bounded, it leaves alone. With several bandwidths (factors of a
    product, angles of a torus) their ratios are found by the same likelihood, of at most 1,000 rows
    under at most 8,000 kernels. Beyond `max_rows` a fifth of the rows, and so many at the most,
    weigh kernels made of the rest; then all carry kernels, those in one cube of 0.7 bandwidths as
    one; where this leaves more than 5 `max_rows` for a κ and `max_rows`/4 within reach of a row, so
    many random rows as do not. The sharpest κ are left out where all of them together gain no more
    than `chance` nats of log-likelihood: so much comes of a few rows that happen to be near each
    other, and only spikes would come of it. Likewise those of the smallest weights, for one nat
    (beyond `max_rows` for `chance`), but for the broadest and for those of few kernels.
    """

    smallest: float = 0.5
    largest: float = 1.4e8
    max_rows: int = 20_000
    chance: float = 5.0
    ratio: float = 2.0

    def __post_init__(self):
        if not (0 < self.smallest < self.largest and self.max_rows >= 2 and self.chance >= 0):
            raise ValueError(
                "ScaleMixtureKernel needs 0 < smallest < largest, max_rows >= 2 and chance >= 0, "
                f"got {self.smallest}, {self.largest}, {self.max_rows} and {self.chance}."
            )
        if not 1 < self.ratio <= self.largest / self.smallest:
            raise ValueError(
                f"ScaleMixtureKernel needs 1 < ratio <= largest/smallest, got {self.ratio}."
            )

    def _fit(
        self,
        where: AbstractManifold,
        rows: Any,
        *,
        key: PRNGKeyArray,
        weights: Any = None,
        validation: Any = None,
    ) -> Fitted[KernelDensity]:
        began = time.monotonic()
        space = Space(where)
        data = Data.of(space, rows, weights)
        relative = find_relative(space, data, self.kappas(), key)
        if len(data.rows) > self.max_rows:
            return self._of_many(space, data, relative, key, began)
        kappas = useful(space, data, relative, self.kappas(), key)
        kernels = ScaleKernels(space, *data[:3], kappas, relative)
        scores = leave_one_out(kernels, data)
        return fitted(*mixed(where, (kernels,), scores, data, self.chance), began)

    def makes_use_of(self, n: int) -> bool:
        return n <= self.max_rows

    def _of_many(
        self, space: Space, data: Data, relative: np.ndarray, key: PRNGKeyArray, began: float
    ) -> Fitted[KernelDensity]:
        """Weights by rows set aside, and kernels of all rows, fewer the broader the kernels are."""
        data = data.take(np.asarray(jax.random.permutation(key, len(data.rows))))
        aside = min(self.max_rows, len(data.rows) // 5)
        held, others = data.take(np.arange(aside)), data.take(np.arange(aside, len(data.rows)))
        pairs = [self.kappas()[k : k + 2] for k in range(0, len(self.kappas()), 2)]
        parts = [self._merged(space, others, relative, pair) for pair in pairs]
        scores = components_of_parts(parts, held.rows)
        parts, scores = with_background(space.manifold, parts, scores)
        shares, best = weighed(parts, scores, held, self.chance)
        shares, best = fewest(parts, shares, scores, held, self.chance)
        # Of all rows now, but only what has any weight.
        whole = [
            self._merged(space, data, relative, pair) if own.any() else part
            for pair, part, own in zip(pairs, parts, by_part(parts, shares), strict=False)
        ]
        parts = [*whole, *parts[len(pairs) :]]
        found = fitted(KernelDensity(space.manifold, *pruned(parts, shares)), best, began)
        carried = max((part.count for part in found.density.parts), default=0)
        found.record.events.append(
            f"{len(data.rows)} distinct rows carry kernels, near ones together, {carried} at the "
            f"most for a bandwidth; {aside} of them weighed those of the others."
        )
        return found

    def _merged(
        self, space: Space, data: Data, relative: np.ndarray, kappas: np.ndarray
    ) -> ScaleKernels:
        """Kernels of all rows, of those in a cube as one; of fewer rows where it were too many."""
        centres = merged(space, data, relative, SIDE / np.sqrt(kappas[-1]))
        most = 5 * self.max_rows
        if len(centres.rows) > most:
            reach = np.sqrt(2 * DEPTH / kappas[0])
            crowding = share_within(space, centres, relative, reach)
            most = max(most, int(self.max_rows / 4 / max(crowding, 1e-9)))
        if len(centres.rows) > most:
            centres = data.take(np.arange(most))
        return ScaleKernels(space, *centres[:3], kappas, relative)

    def kappas(self) -> np.ndarray:
        """The concentrations."""
        steps = np.log(self.largest / self.smallest) / np.log(self.ratio)
        # A whole number of steps must not be lost to rounding.
        return self.smallest * self.ratio ** np.arange(1 + int(np.floor(steps + 1e-9)))


class Data(NamedTuple):
    """Distinct rows, their weights, and the group with which each leaves."""

    rows: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    together: bool
    """Whether copies of a row leave with it."""

    @staticmethod
    def of(space: Space, rows: Any, weights: Any) -> Data:
        """Rows without copies; an error where too few are left."""
        rows = np.asarray(jnp.asarray(as_points(space.manifold, rows)))
        weights = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
        if weights.shape != (len(rows),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(
                f"Weights must be {len(rows)} non-negative numbers that are not all zero."
            )
        distinct, first = np.unique(rows, axis=0, return_inverse=True)
        total = np.bincount(first.reshape(-1), weights)
        distinct, total = distinct[total > 0], total[total > 0]
        together = not space.rounded().all()
        if len(distinct) < 2 and together:
            raise ValueError(
                f"A kernel estimate needs at least 2 distinct rows of {space.manifold}; "
                f"there is {len(distinct)}."
            )
        return Data(distinct, total, np.arange(len(distinct)), together)

    def take(self, chosen: np.ndarray) -> Data:
        """Some of the rows."""
        return self._replace(
            rows=self.rows[chosen], weights=self.weights[chosen], groups=self.groups[chosen]
        )


def merged(space: Space, data: Data, relative: np.ndarray, side: float) -> Data:
    """The first row of every cube of this side, with the weight of all that are in it."""
    embedded = space.placed(data.rows, relative, cells=True)
    cubes = np.floor(embedded / side).astype(np.int64).view(np.uint64)
    # One number for each cube: two of a million share it by chance once in thirty million times.
    factors = np.random.default_rng(0).integers(0, 2**64, cubes.shape[1], np.uint64) | 1
    mixed_up = ((cubes * factors) ^ (cubes * factors >> np.uint64(29))).sum(1, dtype=np.uint64)
    _, first, which = np.unique(mixed_up, return_index=True, return_inverse=True)
    return data.take(first)._replace(weights=np.bincount(which, data.weights))


def share_within(space: Space, data: Data, relative: np.ndarray, reach: float) -> float:
    """The share of the rows that is near a row, on the average; by some of them."""
    some = np.random.default_rng(0).permutation(len(data.rows))[:SAMPLE]
    places = space.placed(data.rows[some], relative).astype(float)
    if not places.size:
        return 1.0
    # A row that stands for many is asked as often as they would be.
    asked = np.random.default_rng(1).choice(
        len(some), 300, p=data.weights[some] / data.weights[some].sum()
    )
    near = KDTree(places).query_ball_point(places[asked], reach, return_length=True)
    return float(np.mean(near)) / len(some)


def leave_one_out(kernels: ScaleKernels, data: Data) -> Float[np.ndarray, "n k"]:
    """Log densities of the rows under each component without the rows themselves."""
    if data.together:
        gone = np.asarray(jnp.exp(kernels.log_rows), float)
        order = len(gone) // max(1, len(np.unique(np.asarray(kernels.groups))))
        share = dict(zip(np.asarray(kernels.groups)[::order], gone[::order], strict=True))
        lost = np.array([share.get(g, 0.0) for g in data.groups])
        values = components_of_parts([kernels], data.rows, data.groups)
        return values - np.log1p(-lost)[:, None]
    return _without_one_copy(kernels, data)


def _without_one_copy(kernels: ScaleKernels, data: Data) -> np.ndarray:
    """Bounded likelihoods: of each row one unit of weight leaves, copies stay."""
    everything = components_of_parts([kernels], data.rows)
    others = components_of_parts([kernels], data.rows, data.groups)
    unit = data.weights.sum() / max(len(data.rows), data.weights.sum())
    left = np.maximum(data.weights - unit, 0)[:, None] / data.weights[:, None]
    with np.errstate(divide="ignore"):
        # A row without copies leaves whole: log 0 is meant.
        kept = np.logaddexp(np.log1p(-left) + others, np.log(left) + everything)
    return kept - np.log1p(-unit / data.weights.sum())


def find_relative(
    space: Space, data: Data, kappas: np.ndarray, key: PRNGKeyArray
) -> Float[np.ndarray, " s"]:
    """The bandwidths' ratios: one over the deviation of each, then changed by turns.

    First doubled and halved on few rows, then by smaller steps on more. By a factor of 16 at most:
    ties within a column would reward ever sharper kernels there.
    """
    owners = space.owners()
    embedded = np.asarray(jax.vmap(space.embed)(jnp.asarray(data.rows)), float)
    variance = np.bincount(owners, embedded.var(0))
    start = np.where(variance > 0, 1 / np.sqrt(np.maximum(variance, 1e-300)), 1.0)
    if space.bandwidths == 1:
        # One bandwidth is as good as another where the κ cover them all.
        return np.ones(1) if np.isfinite(space.manifold.log_total_volume()) else start
    order = np.asarray(jax.random.permutation(key, len(data.rows)))
    relative = start
    for centres, asked, step in TURNS:
        some, few = (data.take(np.sort(order[:count])) for count in (centres, asked))

        def score(relative, some=some, few=few):
            # Every other scale, few rows and few steps: enough to tell ratios apart. Where copies
            # stay, the scores lack a constant, since the total is not that of the few.
            kernels = ScaleKernels(space, *some[:3], kappas[::2], relative)
            return mixture_weights(leave_one_out(kernels, few), few.weights, steps=50)[1]

        relative = climbed(score, relative, start, step)
    return relative


def useful(
    space: Space, data: Data, relative: np.ndarray, kappas: np.ndarray, key: PRNGKeyArray
) -> np.ndarray:
    """The concentrations to which some of the rows give any weight, and those next to them.

    All of them where kernels are cheap: of few rows, or of one bandwidth.
    """
    if len(data.rows) <= 4 * ASKED or space.bandwidths == 1:
        return kappas
    few = data.take(np.sort(np.asarray(jax.random.permutation(key, len(data.rows)))[:ASKED]))
    kernels = ScaleKernels(space, *data[:3], kappas, relative)
    _, scores = with_background(space.manifold, [kernels], leave_one_out(kernels, few))
    weighty = mixture_weights(scores, few.weights)[0][: len(kappas)] > SLIGHT
    return kappas[np.convolve(weighty, np.ones(3), "same") > 0]


def climbed(
    score: Callable[[np.ndarray], float], relative: np.ndarray, start: np.ndarray, step: float
) -> np.ndarray:
    """Ratios of a larger score, of which one at a time is changed by the factor `step`."""
    best = score(relative)
    for _ in range(3):
        before = best
        for s in range(len(relative)):
            for factor in (step, 1 / step):
                while 1 / FAR <= relative[s] * factor / start[s] <= FAR:
                    tried = relative.copy()
                    tried[s] *= factor
                    found = score(tried)
                    if found <= best + 1e-4:
                        break
                    relative, best = tried, found
        if best - before < 1e-3:
            break
    return relative


def mixed(
    manifold: AbstractManifold,
    parts: Sequence[AbstractKernels],
    scores: Float[np.ndarray, "n k"],
    rows: Data,
    chance: float,
) -> tuple[KernelDensity, float]:
    """The mixture of all components by EM on their held-out scores, and its mean held-out score.

    The uniform density is among the components where there is one. Sharp components are left out
    where all of them together gain no more than `chance` nats, and those of the smallest weights
    where they gain no more than `NOTHING`: they would only take time.
    """
    parts, scores = with_background(manifold, parts, scores)
    shares, _ = weighed(parts, scores, rows, chance)
    shares, best = fewest(parts, shares, scores, rows, min(chance, NOTHING))
    return KernelDensity(manifold, *pruned(parts, shares)), best


def with_background(
    manifold: AbstractManifold, parts: Sequence[AbstractKernels], scores: Float[np.ndarray, "n k"]
) -> tuple[list[AbstractKernels], Float[np.ndarray, "n l"]]:
    """The uniform density beside the parts, where there is one, and its scores beside theirs."""
    if not np.isfinite(manifold.log_total_volume()):
        return list(parts), scores
    uniform = np.full((len(scores), 1), -manifold.log_total_volume())
    return [*parts, Background(manifold)], np.concatenate([scores, uniform], axis=1)


def weighed(
    parts: Sequence[AbstractKernels], scores: Float[np.ndarray, "n k"], rows: Data, chance: float
) -> tuple[Float[np.ndarray, " k"], float]:
    """The components' shares, the sharpest's none where they gain too little; the mean score."""
    order = np.argsort(-np.concatenate([part.breadths for part in parts]), kind="stable")
    broad = order[: supported(scores[:, order], rows, chance)]
    shares = np.zeros(len(order))
    shares[broad], best = mixture_weights(scores[:, broad], rows.weights)
    return shares, best


def fewest(
    parts: Sequence[AbstractKernels],
    shares: Float[np.ndarray, " k"],
    scores: Float[np.ndarray, "n k"],
    rows: Data,
    chance: float,
) -> tuple[Float[np.ndarray, " k"], float]:
    """The shares without the smallest, which together gain no more than `chance` nats.

    Those of few kernels stay: they take no time; and the broadest, which serves what is far from
    all rows.
    """
    stay = np.concatenate([np.full(part.components, part.count <= LIGHT) for part in parts])
    breadths = np.concatenate([part.breadths for part in parts])
    stay[np.argmax(np.where(shares > 0, breadths, -np.inf))] = True
    order = np.lexsort((-shares, ~stay))
    order = order[shares[order] > 0]
    order = order[: max(stay[order].sum(), supported(scores[:, order], rows, chance))]
    fewer = np.zeros(len(shares))
    fewer[order], best = mixture_weights(scores[:, order], rows.weights)
    return fewer, best


def supported(scores: Float[np.ndarray, "n k"], rows: Data, chance: float) -> int:
    """How many of the first components do as well as all, but for `chance` nats.

    Copies that leave together are one row; others are as many as their weight says.
    """
    _, best = mixture_weights(scores, rows.weights)
    count = len(scores) if rows.together else max(len(scores), float(rows.weights.sum()))

    def enough(first: int) -> bool:
        if not np.isfinite(scores[:, :first].max(1)).all():
            return False
        _, found = mixture_weights(scores[:, :first], rows.weights)
        return bool(count * (best - found) <= chance)

    return bisect.bisect_left(range(1, scores.shape[1]), True, key=enough) + 1


def by_part(
    parts: Sequence[AbstractKernels], shares: Float[np.ndarray, " k"]
) -> list[Float[np.ndarray, " _"]]:
    """The shares of each part's components."""
    return np.split(shares, np.cumsum([part.components for part in parts])[:-1])


def pruned(
    parts: Sequence[AbstractKernels], shares: Float[np.ndarray, " k"], *, least: float = 1e-6
) -> tuple[tuple[AbstractKernels, ...], tuple]:
    """The parts with components of negligible weight taken out, and their log weights."""
    pairs = [
        (part.only(own > least), own[own > least])
        for part, own in zip(parts, by_part(parts, shares), strict=True)
        if (own > least).any()
    ]
    kept, each = zip(*pairs, strict=True)
    total = sum(own.sum() for own in each)
    return kept, tuple(jnp.asarray(np.log(own / total)) for own in each)


def fitted(density: KernelDensity, best: float, began: float) -> Fitted[KernelDensity]:
    """The density with its record; rows that it stores count as parameters."""
    stored = jax.tree.leaves(eqx.filter(density.parts, eqx.is_inexact_array))
    size = sum(a.size for a in stored) + sum(len(w) for w in density.log_weights) - 1
    record = Record(size, stopped="weights converged")
    record.best_validation, record.seconds = -best, time.monotonic() - began
    return Fitted(density, record)
