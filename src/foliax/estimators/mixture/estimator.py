"""The mixture estimator, and its choice of K."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...density import Dataset
from ...manifolds import AbstractManifold
from ...registry import storable
from ...training import Block, Callback, Record
from ...training.callbacks import find_reason_to_stop
from ..base import AbstractEstimator, FitError, FitResult, UnsupportedManifoldError
from .base import MAX_CONCENTRATION, AbstractFamily, MixtureDensity
from .em import EM, EMResult, Mixture, PreparedRows
from .lookup import find_family
from .narrow import concentration_of_spacing, describe_narrow_components

SHORT_RUN_STEPS = 10
"""Steps of EM from each random start, enough to tell good starts from bad ones."""
MAX_WORSE_IN_A_ROW = 2
"""Numbers of components in a row that score worse before the search ends."""
START_WORK_UNITS = 1.0
"""Work units of a fit to no rows: imports and the first calls of the libraries."""
TYPICAL_STEPS = 100
"""Steps of EM until a step gains less than the tolerance, typically."""
MIN_WORK_UNITS = 5.0
"""Work units with which the search gets far enough to be worth a start."""
ROWS_WORK_SHARE = 0.5
"""Share of the work that all numbers of components may take; more steps may be needed."""
MIN_SUBSAMPLE_ROWS = 10_000
"""The least rows of a subsample, since fewer rows show fewer components."""


@storable(
    "rivals.DirectionalMixture",
    renamed_fields={
        "held_out": "validation_fraction",
        "sharpest": "max_concentration",
        "seconds": "max_work",
        "time_limit": "max_work",
    },
)
@dataclasses.dataclass(frozen=True)
class DirectionalMixture(AbstractEstimator):
    """A mixture of directional densities and a uniform one, fitted by EM.

    Components are von Mises–Fisher on S^d, wrapped normal on T^d and matrix Fisher on SO(3).

    Args:
        components: The number K of components. None chooses among 1, 2, 3, 4, 6, 8, 12, …, until
            two in a row score worse.
        max_components: The largest K to try.
        choose: The score: "bic" of the rows, or the likelihood of "held-out" rows. With weights,
            BIC uses Kish's number of rows, (Σw)²/Σw².
        validation_fraction: The fraction of the rows to hold out if no validation rows are given.
            They take part in a last run of EM.
        restarts: Short runs from random starts; the best one continues.
        steps: The largest number of EM steps.
        tolerance: The gain in nats per row below which EM stops.
        max_concentration: The largest concentration, 1/variance: the sharpest that float32 holds.
            Rows that are not so close together have a lower one, see `concentration_of_spacing`. A
            component that reaches it is a warning in the record.
        max_rows: Rows beyond this number are subsampled: more hardly change a mixture.
        max_work: Work units after which no larger K is tried; 0 sets no limit. They are counted in
            steps, rows and components, so that equal keys give equal results.

    Raises:
        ValueError: A setting is out of range.
    """

    components: int | None = None
    max_components: int = 256
    choose: Literal["bic", "held-out"] = "bic"
    validation_fraction: float = 0.1
    restarts: int = 3
    steps: int = 300
    tolerance: float = 1e-5
    max_concentration: float = MAX_CONCENTRATION
    max_rows: int = 50_000
    max_work: float = 0.0

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
        if not (
            0 < self.validation_fraction < 1
            and 10 <= self.max_concentration <= MAX_CONCENTRATION
            and self.tolerance >= 0
        ):
            raise ValueError(
                "DirectionalMixture needs 0 < validation_fraction < 1, 10 <= max_concentration <= "
                f"{MAX_CONCENTRATION:g} and tolerance >= 0, got {self}."
            )

    def serves(self, manifold: AbstractManifold) -> bool:
        try:
            self._family(manifold)
        except UnsupportedManifoldError:
            return False
        return True

    def _family(self, manifold: AbstractManifold) -> AbstractFamily:
        return find_family(manifold, self, self.max_concentration)

    def fit_work(self, n: int, manifold: AbstractManifold) -> float:
        n = min(n, self.max_rows)
        work = START_WORK_UNITS + n * self._row_work(n, manifold)
        return min(work, self.max_work) if self.max_work else work

    def _row_work(self, n: int, manifold: AbstractManifold) -> float:
        """Work units of one of n rows, if all numbers of components are tried."""
        steps = self.restarts * SHORT_RUN_STEPS + min(TYPICAL_STEPS, self.steps)
        return steps * sum(self.grid(n)) * self._family(manifold).step_work

    def min_work(self, n: int, manifold: AbstractManifold) -> float:
        return min(MIN_WORK_UNITS, self.fit_work(n, manifold))

    def within(self, work: float, n: int, manifold: AbstractManifold) -> DirectionalMixture:
        rows = int(ROWS_WORK_SHARE * work / self._row_work(n, manifold))
        most = min(self.max_rows, max(MIN_SUBSAMPLE_ROWS, rows))
        return dataclasses.replace(self, max_rows=most, max_work=max(work, 1e-3))

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[MixtureDensity]:
        started = time.perf_counter()
        manifold = data.manifold
        family = self._family(manifold)
        em = EM(family, manifold.log_total_volume(), self.steps, self.tolerance)
        if len(data) < max(2, self.components or 1):
            raise FitError(
                f"{len(data)} rows are too few for {self.components or 'a choice of'} components: "
                "a mixture needs at least two rows, and as many as components."
            )
        split_key, seed_key = jax.random.split(key)
        if len(data) > self.max_rows:
            data = data.take(np.asarray(jax.random.permutation(key, len(data)))[: self.max_rows])
        everything, scored = prepare_rows(em.family, data), None
        largest = min(self.max_concentration, concentration_of_spacing(everything.features))
        em = em._replace(family=find_family(manifold, self, largest))
        train = everything
        if self.components is None and self.choose == "held-out":
            if validation is None:
                kept, validation = data.split(self.validation_fraction, key=split_key)
                train = prepare_rows(em.family, kept)
            scored = prepare_rows(em.family, validation)
        random = np.random.default_rng(np.asarray(jax.random.key_data(seed_key)).tolist())
        mixture, record = self._choose_components(em, train, scored, random, callbacks)
        if scored is not None and len(train.rows) < len(everything.rows):
            mixture = _run_to_the_end(em, mixture, everything).mixture
        if narrow := describe_narrow_components(em.family, mixture):
            record.warn(narrow)
        record.seconds = time.perf_counter() - started
        return FitResult(build_density(manifold, em.family, mixture), record)

    def _choose_components(
        self,
        em: EM,
        data: PreparedRows,
        scored: PreparedRows | None,
        random: np.random.Generator,
        callbacks: Sequence[Callback],
    ) -> tuple[Mixture, Record]:
        """Find the mixture of the smallest score, BIC/2n or the held-out loss; record every K."""
        best, least, worse, record, begun = None, np.inf, 0, Record(0), time.perf_counter()
        for k in self.grid(len(data.rows)):
            mixture, values = self._fit_components(em, data, k, random)
            n, free = data.weights.sum(), len(mixture.weights[:-1]) * (em.family.n_parameters + 1)
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
            steps = self.restarts * SHORT_RUN_STEPS + len(values)
            record.work += len(data.rows) * k * steps * em.family.step_work
            if worse == MAX_WORSE_IN_A_ROW:
                break
            if 0 < self.max_work < record.work:
                record.events.append(f"The work limit ended the search after K = {k}.")
                break
            if reason := find_reason_to_stop(callbacks):
                record.stopped = reason
                record.events.append(f"Stopped after K = {k} ({reason}): kept the best so far.")
                break
        if best is None:
            raise FloatingPointError(
                "No mixture has a finite likelihood. Check the rows for extreme values."
            )
        found = f"{em.family.name}, K = {record.best_step} by {self._chosen_by()}"
        record.stopped = record.stopped or found
        return best, record

    def grid(self, rows: int) -> list[int]:
        """List the numbers of components to try, given the number of rows."""
        if self.components is not None:
            return [self.components]
        doubled = {m * 2**i for m in (2, 3) for i in range(40)} | {1}
        return sorted(k for k in doubled if k <= min(rows, self.max_components))

    def _chosen_by(self) -> str:
        return "request" if self.components is not None else self.choose

    def _fit_components(
        self, em: EM, data: PreparedRows, k: int, random: np.random.Generator
    ) -> EMResult:
        """Run EM to its end from the best of several short runs."""
        short = em._replace(steps=SHORT_RUN_STEPS)
        starts = [short.run(em.initialize(data, k, random), data) for _ in range(self.restarts)]
        return _run_to_the_end(em, max(starts, key=lambda run: run.values[-1]).mixture, data)


def _run_to_the_end(em: EM, mixture: Mixture, data: PreparedRows) -> EMResult:
    """Run EM, and again without components that have fewer rows than there are features.

    Such a component has collapsed onto its rows: a peak that no new row would hit.
    """
    while True:
        result = em.run(mixture, data)
        count = result.mixture.weights[:-1] * data.weights.sum()
        alive = count > min(data.features.shape[1], count.max() / 2)
        if alive.all():
            return result
        mixture = result.mixture.select(alive)


def prepare_rows(family: AbstractFamily, data: Dataset) -> PreparedRows:
    """Prepare rows of positive weight for EM.

    Args:
        family: The components' family.
        data: Rows with their weights.

    Returns:
        The rows, with weights whose sum is Kish's number of rows.
    """
    given = np.ones(len(data)) if data.weights is None else data.weights
    rows, used = np.asarray(data.rows, float)[given > 0], given[given > 0]
    kish = used * used.sum() / (used**2).sum()
    features = np.asarray(jax.jit(jax.vmap(data.manifold.features))(jnp.asarray(rows)), float)
    return PreparedRows(family.prepare(rows), features, kish)


def build_density(
    manifold: AbstractManifold, family: AbstractFamily, mixture: Mixture
) -> MixtureDensity:
    """Build the density of a mixture that EM found."""
    log_weights = jnp.array(np.log(mixture.weights))
    return MixtureDensity(manifold, family.build(mixture.parameters), log_weights)
