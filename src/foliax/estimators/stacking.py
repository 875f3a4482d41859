"""Stacking: mixtures weighted by held-out likelihood."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import AbstractDensity, Dataset, Stacked
from ..manifolds.row_errors import name_rows
from ..registry import storable
from ..training import Callback, Record
from .base import AbstractEstimator, FitResult
from .broad import build_broad_stack, describe_broad
from .weights import mixture_weights

DROPPED_WEIGHT = 1e-6
"""Weight below which a member only costs time."""
SCORE_TOLERANCE = 0.02
"""Standard error of the log densities by which members are weighted, in nats."""


def stack(
    members: tuple[AbstractDensity, ...],
    held_out: Dataset,
    *,
    key: PRNGKeyArray,
    prior: float = 1.0,
) -> tuple[Stacked, float]:
    """Mix densities by EM on rows that none of them has seen.

    Args:
        members: The densities. Those whose weight vanishes are dropped.
        held_out: Rows that weight them.
        key: Chooses the noise of log densities that are integrated by sampling.
        prior: The weights' Dirichlet prior, in rows, so that few rows do not decide alone.

    Returns:
        The mixture, and its mean log density on the held-out rows.
    """
    n = len(held_out)
    weights = np.ones(n) if held_out.weights is None else held_out.weights
    how = {"tol": SCORE_TOLERANCE, "condition": held_out.condition, "key": key}
    with name_rows(held_out.names):
        scores = np.stack([m.evaluate(held_out.rows, **how).value for m in members], axis=1)
        pi, score = mixture_weights(scores, weights, prior=prior)
    kept = np.flatnonzero(pi > DROPPED_WEIGHT)
    log_weights = jnp.asarray(np.log(pi[kept] / pi[kept].sum()))
    return Stacked(tuple(members[k] for k in kept), log_weights), score


@storable(
    "stacking.Stacking", renamed_fields={"specs": "estimators", "validation": "validation_fraction"}
)
@dataclasses.dataclass(frozen=True)
class Stacking(AbstractEstimator):
    """Several estimators fitted to the same part of the rows and stacked on the rest.

    If one of them is a kernel, the stack keeps a broad component with a weight of at least 0.01.

    Args:
        estimators: The estimators to fit and stack.
        validation_fraction: Share of the rows held out, where no held-out rows are given.
        prior: The weights' Dirichlet prior, in rows.
    """

    estimators: tuple[AbstractEstimator, ...]
    validation_fraction: float = 0.1
    prior: float = 1.0

    def __post_init__(self):
        if not self.estimators or not 0 < self.validation_fraction < 1:
            raise ValueError(
                "Stacking needs at least one estimator and 0 < validation_fraction < 1."
            )

    @property
    def keeps_broad_component(self) -> bool:
        return any(each.keeps_broad_component for each in self.estimators)

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult:
        began = time.monotonic()
        split_key, stack_key, *keys = jax.random.split(key, 2 + len(self.estimators))
        if validation is None:
            data, validation = data.split(self.validation_fraction, key=split_key)
        results = [
            estimator.fit(
                data,
                key=k,
                validation=validation,
                callbacks=[callback.for_part(str(number)) for callback in callbacks],
            )
            for number, (estimator, k) in enumerate(zip(self.estimators, keys, strict=True))
        ]
        members = tuple(result.density for result in results)
        density, score = stack(members, validation, key=stack_key, prior=self.prior)
        added = 0.0
        if self.keeps_broad_component:
            shares = np.exp(np.asarray(density.log_weights, float))
            density, added = build_broad_stack(density.members, shares, members)
        parameters = sum(result.record.parameters for result in results)
        record = Record(parameters, stopped="weights converged")
        record.events += [event for result in results for event in result.record.events]
        record.warnings += [text for result in results for text in result.record.warnings]
        record.events.append(_describe_stack(density))
        if added:
            record.events.append(describe_broad(added))
        # At least this: the broad density costs every row at most −log(1 − added).
        score += math.log1p(-added)
        record.best_validation, record.seconds = -score, time.monotonic() - began
        return FitResult(density, record)


def _describe_stack(density: AbstractDensity) -> str:
    members, shares = (density,), np.ones(1)
    if isinstance(density, Stacked):
        members, shares = density.members, np.exp(np.asarray(density.log_weights))
    named = zip(shares, members, strict=True)
    return "Stacked: " + ", ".join(f"{share:.3f} {type(m).__name__}" for share, m in named)
