"""Stacking: mixtures weighted by held-out likelihood."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import AbstractDensity, Stacked, evaluate
from ..manifolds import AbstractManifold
from ..manifolds.base import as_points
from ..registry import storable
from ..training import Record
from .base import AbstractSpec, Fitted, hold_out
from .weights import mixture_weights


def stack(
    members: tuple[AbstractDensity, ...],
    rows: Any,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    prior: float = 1.0,
) -> tuple[Stacked, float]:
    """The members mixed by EM on rows that none of them has seen, and the mean score there.

    `prior`: the weights' Dirichlet prior, in rows, so that few rows do not decide alone. Members
    whose weight vanishes are dropped.
    """
    rows = as_points(members[0].manifold, rows)
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
    scores = np.stack([evaluate(m, rows, tol=0.02, key=key).value for m in members], axis=1)
    pi, score = mixture_weights(scores, weights, prior=prior)
    kept = np.flatnonzero(pi > 1e-6)
    log_weights = jnp.asarray(np.log(pi[kept] / pi[kept].sum()))
    return Stacked(tuple(members[k] for k in kept), log_weights), score


@storable("stacking.Stacking")
@dataclasses.dataclass(frozen=True)
class Stacking(AbstractSpec):
    """Several ways of fitting, each on the same part of the rows, stacked on the rest.

    `validation`: share of the rows held out where none are given.
    """

    specs: tuple[AbstractSpec, ...]
    validation: float = 0.1
    prior: float = 1.0

    def __post_init__(self):
        if not self.specs or not 0 < self.validation < 1:
            raise ValueError("Stacking needs at least one spec and 0 < validation < 1.")

    def _fit(
        self,
        where: AbstractManifold,
        rows: Any,
        *,
        key: PRNGKeyArray,
        weights: Any = None,
        validation: Any = None,
    ) -> Fitted[Stacked]:
        began = time.monotonic()
        split_key, stack_key, *keys = jax.random.split(key, 2 + len(self.specs))
        rows = as_points(where, rows)
        held_weights = None
        if validation is None:
            rows, weights, validation, held_weights = hold_out(
                rows, weights, self.validation, split_key
            )
        fitted = [
            spec.fit(where, rows, key=k, weights=weights, validation=validation)
            for spec, k in zip(self.specs, keys, strict=True)
        ]
        members = tuple(f.density for f in fitted)
        density, score = stack(
            members, validation, key=stack_key, weights=held_weights, prior=self.prior
        )
        record = Record(sum(f.record.parameters for f in fitted), stopped="weights converged")
        record.events += [event for f in fitted for event in f.record.events]
        shares = np.exp(np.asarray(density.log_weights))
        kept = [type(m).__name__ for m in density.members]
        record.events.append(
            "Stacked: " + ", ".join(f"{s:.3f} {k}" for s, k in zip(shares, kept, strict=True))
        )
        record.best_validation, record.seconds = -score, time.monotonic() - began
        return Fitted(density, record)
