"""The description of a mixture by EM: the family for a manifold, and the choice of K."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...density import Dataset
from ...manifolds import AbstractManifold, SpecialOrthogonal, Sphere, Torus
from ...registry import storable
from ...training import Block, Callback, Record
from ..base import AbstractEstimator, FitError, FitResult, unsupported
from .base import AbstractFamily, MixtureDensity
from .em import EM, Climb, Data, Mixture
from .rotations import MatrixFisherFamily
from .sphere import VonMisesFisherFamily
from .torus import WrappedNormalFamily


@storable("rivals.DirectionalMixture")
@dataclasses.dataclass(frozen=True)
class DirectionalMixture(AbstractEstimator):
    """A mixture by EM: von Mises–Fisher on S^d, wrapped normal on T^d, matrix Fisher on SO(3).

    `components`: K, or None to choose among 1, 2, 3, 4, 6, 8, 12, … ≤ `max_components`, until two
    in a row are worse, by BIC of the rows or by the likelihood of held-out ones (`validation`, or
    a share `held_out` of the rows, which then join a last climb). `restarts`: short climbs from
    random seeds, the best of which goes on for at most `steps`, until one gains less than
    `tolerance` nats for each row. `sharpest`: the largest concentration, 1/variance.
    Beyond `max_rows` a random part of the rows is climbed. After `seconds`, where it is not 0, no
    larger K is begun. A uniform component is always there. BIC with weights: of Kish's number of
    rows, (Σw)²/Σw².
    """

    components: int | None = None
    max_components: int = 256
    choose: Literal["bic", "held-out"] = "bic"
    held_out: float = 0.1
    restarts: int = 3
    steps: int = 300
    tolerance: float = 1e-5
    sharpest: float = 1e6
    max_rows: int = 50_000
    seconds: float = 0.0

    def __post_init__(self):
        least = 1 if self.components is None else self.components
        if min(least, self.max_components, self.restarts, self.steps) < 1:
            raise ValueError(
                "DirectionalMixture needs components, max_components, restarts and steps of at "
                f"least 1, got {self}."
            )
        if self.max_rows < max(2, least):
            raise ValueError(
                "DirectionalMixture needs max_rows of at least 2, and as many as components, "
                f"got {self.max_rows}."
            )
        if self.choose not in ("bic", "held-out"):
            raise ValueError(f"choose must be 'bic' or 'held-out', got {self.choose!r}.")
        if not (0 < self.held_out < 1 and 10 <= self.sharpest <= 1e8 and self.tolerance >= 0):
            raise ValueError(
                "DirectionalMixture needs 0 < held_out < 1, 10 <= sharpest <= 1e8 and tolerance "
                f">= 0, got {self}."
            )

    def with_time_limit(self, seconds: float) -> DirectionalMixture:
        return dataclasses.replace(self, seconds=max(seconds, 1e-3))

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[MixtureDensity]:
        """Fit the mixture of the chosen K; the record lists every K tried."""
        started = time.perf_counter()
        manifold = data.manifold
        em = EM(family(manifold, self), manifold.log_total_volume(), self.steps, self.tolerance)
        if len(data) < max(2, self.components or 1):
            raise FitError(
                f"{len(data)} rows are too few for {self.components or 'a choice of'} components: "
                "a mixture needs at least two rows, and as many as components."
            )
        split_key, seed_key = jax.random.split(key)
        if len(data) > self.max_rows:
            data = data.take(np.asarray(jax.random.permutation(key, len(data)))[: self.max_rows])
        everything, scored = prepared(em.family, data), None
        train = everything
        if self.components is None and self.choose == "held-out":
            if validation is None:
                kept, validation = data.split(self.held_out, key=split_key)
                train = prepared(em.family, kept)
            scored = prepared(em.family, validation)
        random = np.random.default_rng(np.asarray(jax.random.key_data(seed_key)).tolist())
        mixture, record = self._chosen(em, train, scored, random)
        if scored is not None and len(train.rows) < len(everything.rows):
            mixture = _climbed(em, mixture, everything).mixture
        record.seconds = time.perf_counter() - started
        return FitResult(built(manifold, em.family, mixture), record)

    def _chosen(
        self, em: EM, data: Data, scored: Data | None, random: np.random.Generator
    ) -> tuple[Mixture, Record]:
        """The best mixture of the grid, by its score: BIC/2n or held-out, both to be small."""
        best, least, worse, record, begun = None, np.inf, 0, Record(0), time.perf_counter()
        for k in self.grid(len(data.rows)):
            mixture, values = self._fitted(em, data, k, random)
            n, free = data.weights.sum(), len(mixture.weights[:-1]) * (em.family.free + 1)
            score = -values[-1] + free * np.log(n) / (2 * n)
            held_out = np.nan
            if scored is not None:
                score = held_out = -em.mean_log_prob(mixture, scored.rows, scored.weights)
            worse = worse + 1 if score >= least else 0
            if score < least:
                best, least, record.parameters, record.best_step = mixture, score, free, k
                record.best_validation = held_out
            tried = (k, self.max_components, -values[-1], held_out, record.best_validation)
            record.history.append(Block(*tried, time.perf_counter() - begun))
            record.events.append(
                f"K = {k}: {len(mixture.weights) - 1} components alive after {len(values)} steps, "
                f"score {score:.4f}."
            )
            if worse == 2:
                break
            if 0 < self.seconds < time.perf_counter() - begun:
                record.events.append(f"No more than K = {k}: the time is used up.")
                break
        if best is None:
            raise FloatingPointError("No mixture has a finite likelihood.")
        record.stopped = f"{em.family.name}, K = {record.best_step} by {self._by()}"
        return best, record

    def grid(self, rows: int) -> list[int]:
        """The K to try."""
        if self.components is not None:
            return [self.components]
        doubled = {m * 2**i for m in (2, 3) for i in range(40)} | {1}
        return sorted(k for k in doubled if k <= min(rows, self.max_components))

    def _by(self) -> str:
        return "request" if self.components is not None else self.choose

    def _fitted(self, em: EM, data: Data, k: int, random: np.random.Generator) -> Climb:
        """The best of several short climbs, climbed to its end."""
        short = em._replace(steps=10)
        starts = [short.climb(em.start(data, k, random), data) for _ in range(self.restarts)]
        return _climbed(em, max(starts, key=lambda c: c.values[-1]).mixture, data)


def _climbed(em: EM, mixture: Mixture, data: Data) -> Climb:
    """EM to its end, without components of fewer rows than there are features.

    Such a one has shrunk around them: a peak that no further row would find.
    """
    while True:
        climb = em.climb(mixture, data)
        count = climb.mixture.weights[:-1] * data.weights.sum()
        alive = count > min(data.features.shape[1], count.max() / 2)
        if alive.all():
            return climb
        mixture = climb.mixture.kept(alive)


def prepared(family: AbstractFamily, data: Dataset) -> Data:
    """Rows of positive weight, ready for EM; weights add up to Kish's number of rows."""
    weights = np.ones(len(data)) if data.weights is None else data.weights
    rows, weights = np.asarray(data.rows, float)[weights > 0], weights[weights > 0]
    weights = weights * weights.sum() / (weights**2).sum()
    features = np.asarray(jax.jit(jax.vmap(data.manifold.features))(jnp.asarray(rows)), float)
    return Data(family.prepare(rows), features, weights)


def built(where: AbstractManifold, family: AbstractFamily, mixture: Mixture) -> MixtureDensity:
    """The density."""
    log_weights = jnp.array(np.log(mixture.weights))
    return MixtureDensity(where, family.build(mixture.parameters), log_weights)


@functools.singledispatch
def family(where: AbstractManifold, spec: DirectionalMixture) -> AbstractFamily:
    """The family for a manifold; more are registered by type."""
    raise unsupported(spec, where, "spheres, tori and SO(3)")


@family.register
def _(where: Sphere, spec: DirectionalMixture) -> AbstractFamily:
    return VonMisesFisherFamily(where.d, spec.sharpest)


@family.register
def _(where: Torus, spec: DirectionalMixture) -> AbstractFamily:
    return WrappedNormalFamily(where.d, spec.sharpest)


@family.register
def _(where: SpecialOrthogonal, spec: DirectionalMixture) -> AbstractFamily:
    if where.n != 3:
        raise unsupported(spec, where, "spheres, tori and SO(3)")
    return MatrixFisherFamily(spec.sharpest)
