"""Stacking: a mixture of any densities of one manifold, weighted by held-out likelihood."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from .density import AbstractDensity, drawn_by, picked
from .manifolds import AbstractManifold
from .manifolds.base import as_points
from .marginal import LogProb, evaluate
from .record import Record
from .registry import storable
from .rivals.weights import mixture_weights
from .specs import AbstractSpec, Fitted, hold_out

Point = Float[Array, " size"]


@storable("stacking.Stacked")
class Stacked(AbstractDensity):
    """p(y) = Σ_k π_k p_k(y); sample: k ~ π, y ~ p_k.

    Error: the members' errors, each times its share π_k p_k(y)/p(y), in quadrature.
    """

    members: tuple[AbstractDensity, ...]
    log_weights: Float[Array, " k"]
    manifold: AbstractManifold

    def __init__(self, members: tuple[AbstractDensity, ...], log_weights: Float[Array, " k"]):
        if len({repr(member.manifold) for member in members}) != 1:
            raise ValueError("Only densities of one manifold can be stacked, and at least one.")
        self.members = members
        self.log_weights = log_weights
        self.manifold = members[0].manifold

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        keys = [None] * len(self.members)
        if key is not None:
            keys = list(jax.random.split(key, len(self.members)))
        pairs = zip(self.members, keys, strict=True)
        each = [member.log_prob(y, context=context, key=k) for member, k in pairs]
        return _composed(
            jnp.stack([found.value for found in each]) + self.log_weights,
            jnp.stack([found.error for found in each]),
        )

    def log_probs(
        self, rows: np.ndarray, numbers: np.ndarray, key: PRNGKeyArray, chunk: int
    ) -> tuple[np.ndarray, np.ndarray]:
        keys = jax.random.split(key, len(self.members))
        pairs = [
            member.log_probs(rows, numbers, k, chunk)
            for member, k in zip(self.members, keys, strict=True)
        ]
        each, errors = (np.stack(found, axis=1) for found in zip(*pairs, strict=True))
        found = _composed_rows(each + np.asarray(self.log_weights), errors)
        return np.asarray(found.value), np.asarray(found.error)

    def draws(self, keys: Key[Array, " n"]) -> np.ndarray:
        if not len(keys):
            return np.zeros((0, self.manifold.size), np.float32)
        chosen, rest = picked(self.log_weights, keys)
        members = self.members
        return drawn_by(chosen, len(members), lambda m, which: members[m].draws(rest[which]))

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        chosen = jax.random.categorical(k1, self.log_weights)
        draws = [lambda key, m=m: m.sample(context=context, key=key) for m in self.members]
        return jax.lax.switch(chosen, draws, k2)

    @property
    def work(self) -> int:
        return sum(member.work for member in self.members)

    def refined(self) -> Stacked:
        finer = tuple(member.refined() for member in self.members)
        if all(a is b for a, b in zip(finer, self.members, strict=True)):
            return self
        return Stacked(finer, self.log_weights)


def _composed(logs: Float[Array, " k"], errors: Float[Array, " k"]) -> LogProb:
    """Of the members' log densities with their weights."""
    shares = jax.nn.softmax(logs)
    # A member of no share may be infinitely uncertain.
    composed = jnp.where(shares > 0, shares * errors, 0)
    return LogProb(jax.nn.logsumexp(logs), jnp.sqrt((composed**2).sum()))


_composed_rows = jax.jit(jax.vmap(_composed))


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
