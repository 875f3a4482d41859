"""Independent factors: the baseline that tells whether columns depend on each other."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from ..density import AbstractDensity, Dataset, LogProb
from ..density.base import Budget, Condition, Point
from ..manifolds import AbstractManifold
from ..manifolds.product import pieces
from ..registry import storable
from ..training import Callback, Record
from ..training.history import CUT_SHORT, INTERRUPTED
from .base import AbstractEstimator, FitResult, named_estimator
from .dequantized_flow import FLOW
from .kernel import ScaleMixtureKernel


@storable("estimators.ProductDensity")
class ProductDensity(AbstractDensity):
    """p(y) = Π_i p_i(y_i): the factors y_i of a product manifold are independent.

    Standard error: those of the parts, in quadrature. A sample is a sample of each part.

    Args:
        manifold: The product.
        parts: The density of each of its factors, in their order.
    """

    manifold: AbstractManifold
    parts: tuple[AbstractDensity, ...]

    def __check_init__(self):
        factors = [repr(factor) for factor in self.manifold.factors]
        if [repr(part.manifold) for part in self.parts] != factors:
            raise ValueError(f"A product needs one density for each factor of {self.manifold}.")

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        blocks = pieces(y, [part.manifold.size for part in self.parts])
        found = [
            part._log_prob(block, key=None if key is None else jax.random.fold_in(key, i))
            for i, (part, block) in enumerate(zip(self.parts, blocks, strict=True))
        ]
        error = jnp.sqrt(sum(each.error**2 for each in found))
        return LogProb(sum(each.value for each in found), error)

    def log_prob_rows(
        self,
        rows: np.ndarray,
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> LogProb:
        value, variance = np.zeros(len(rows)), np.zeros(len(rows))
        for i, (part, block) in enumerate(zip(self.parts, self._split(rows), strict=True)):
            noise = jax.random.fold_in(key, i)
            found = part.log_prob_rows(block, row_ids, key=noise, batch_size=batch_size)
            value, variance = value + np.asarray(found.value), variance + found.error**2
        return LogProb(value, np.sqrt(variance))

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        keys = jax.random.split(key, len(self.parts))
        drawn = [part._sample(key=k) for part, k in zip(self.parts, keys, strict=True)]
        return jnp.concatenate(drawn)

    def sample_rows(
        self, keys: Key[Array, " n"], *, condition: np.ndarray | None = None
    ) -> np.ndarray:
        each = jax.vmap(lambda key: jax.random.split(key, len(self.parts)))(keys)
        drawn = [part.sample_rows(each[:, i]) for i, part in enumerate(self.parts)]
        return np.concatenate(drawn, axis=1)

    @property
    def work(self) -> int:
        return sum(part.work for part in self.parts)

    @property
    def evaluation_work(self) -> float:
        return sum(part.evaluation_work for part in self.parts)

    def refine(self) -> ProductDensity:
        return self._with_parts(tuple(part.refine() for part in self.parts))

    def with_budget(self, budget: Budget) -> ProductDensity:
        return self._with_parts(tuple(part.with_budget(budget) for part in self.parts))

    def _with_parts(self, parts: tuple[AbstractDensity, ...]) -> ProductDensity:
        if all(a is b for a, b in zip(parts, self.parts, strict=True)):
            return self
        return ProductDensity(self.manifold, parts)

    def _split(self, rows: np.ndarray) -> list[np.ndarray]:
        return split_blocks(self.manifold, rows)


@named_estimator("independent")
@storable("estimators.Independent")
@dataclasses.dataclass(frozen=True)
class Independent(AbstractEstimator):
    """The product of densities that are fitted to each factor of a product manifold on its own.

    A density of the whole rows that scores no better shows no dependence between the factors. On a
    manifold of one factor the result is that of the inner estimator.

    Args:
        estimator: Fits the factors that it serves. By default a kernel, which takes seconds.
        fallback: Fits the other factors. By default a flow, which serves every manifold.
    """

    estimator: AbstractEstimator = dataclasses.field(default_factory=ScaleMixtureKernel)
    fallback: AbstractEstimator = FLOW

    def serves(self, manifold: AbstractManifold) -> bool:
        return all(self.choose(factor).serves(factor) for factor in manifold.factors)

    def fit_work(self, n: int, manifold: AbstractManifold) -> float:
        return sum(self.choose(factor).fit_work(n, factor) for factor in manifold.factors)

    @property
    def keeps_broad_component(self) -> bool:
        return self.estimator.keeps_broad_component

    def uses_all_rows(self, n: int) -> bool:
        return self.estimator.uses_all_rows(n)

    def choose(self, factor: AbstractManifold) -> AbstractEstimator:
        """Return the estimator of a factor."""
        return self.estimator if self.estimator.serves(factor) else self.fallback

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult:
        factors = data.manifold.factors
        if len(factors) == 1:
            inner = self.choose(data.manifold)
            return inner.fit(data, key=key, validation=validation, callbacks=callbacks)
        began = time.monotonic()
        held_out = [None] * len(factors) if validation is None else split_factors(validation)
        results: list[FitResult] = []
        for i, (part, held) in enumerate(zip(split_factors(data), held_out, strict=True)):
            found = self.choose(part.manifold).fit(
                part,
                key=jax.random.fold_in(key, i),
                validation=held,
                callbacks=[callback.for_part(f"factor {i}") for callback in callbacks],
            )
            if found.record.stopped == INTERRUPTED and i + 1 < len(factors):
                raise KeyboardInterrupt
            results.append(found)
        record = combine_records([found.record for found in results])
        record.seconds = time.monotonic() - began
        parts = tuple(found.density for found in results)
        return FitResult(ProductDensity(data.manifold, parts), record)


def split_blocks(manifold: AbstractManifold, rows: np.ndarray) -> list[np.ndarray]:
    """Split the columns of rows into the blocks of the factors."""
    ends = np.cumsum([factor.size for factor in manifold.factors])[:-1]
    return np.split(np.asarray(rows), ends, axis=1)


def split_factors(data: Dataset) -> Iterator[Dataset]:
    """Yield the rows of each factor, with the weights of the whole rows."""
    blocks = split_blocks(data.manifold, data.rows)
    for factor, block in zip(data.manifold.factors, blocks, strict=True):
        yield data.replace(rows=block, manifold=factor)


def combine_records(records: Sequence[Record]) -> Record:
    """Combine the records of the factors; log densities of independent factors add up."""
    record = Record(sum(each.parameters for each in records), stopped="done")
    for number, each in enumerate(records):
        record.events += [f"factor {number}: {event}" for event in each.events]
        record.warnings += [f"factor {number}: {text}" for text in each.warnings]
        record.history += each.history
        if each.stopped in (CUT_SHORT, INTERRUPTED):
            record.stopped = each.stopped
    record.best_validation = sum(each.best_validation for each in records)
    return record
