"""What every way of fitting a density shares: a description, and what it returns."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, Generic, TypeVar

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from .density import AbstractDensity
from .manifolds import AbstractManifold
from .record import Record

LEAST_TO_HOLD_OUT = 200
"""Rows of which some can be spared."""
MOST_HELD_OUT = 2000
"""Rows that suffice to say when to stop; a share of very many would take longer than training."""

D = TypeVar("D", bound=AbstractDensity)


@dataclasses.dataclass(frozen=True)
class Fitted(Generic[D]):
    """A density and how its fitting went."""

    density: D
    record: Record


class UnsupportedManifoldError(TypeError):
    """A way of fitting that cannot serve the manifold."""


class AbstractSpec(abc.ABC):
    """A way of fitting a density: a small frozen dataclass of numbers, strings and other specs."""

    @abc.abstractmethod
    def fit(
        self,
        where: AbstractManifold,
        rows: Any,
        *,
        key: PRNGKeyArray,
        weights: Any = None,
        validation: Any = None,
    ) -> Fitted:
        """The density fitted to rows, an (n, size) array of points of the manifold.

        `weights`: one non-negative number for each row. `validation`: held-out rows, for whatever
        the spec chooses by held-out likelihood; where it needs some and gets none, it holds out a
        part of the rows. Raises `UnsupportedManifoldError` where it cannot serve the manifold.
        """

    def within(self, seconds: float) -> AbstractSpec:
        """The spec with a time limit, where its fitting can be ended early; otherwise itself."""
        return self

    def makes_use_of(self, n: int) -> bool:
        """Whether a fit to all of n rows needs none held out, and gains by every one of them."""
        return False


def unsupported(spec: object, manifold: AbstractManifold, serves: str) -> UnsupportedManifoldError:
    """The refusal, naming what the spec does serve."""
    return UnsupportedManifoldError(
        f"{type(spec).__name__} cannot serve {manifold}: it is for {serves}. "
        "DequantizedFlow serves every manifold."
    )


def hold_out(rows, weights, share: float, key: PRNGKeyArray, most: int | None = None):
    """(rows, weights, held-out rows, their weights): a random split, at most so many held out."""
    n = len(rows)
    held = max(1, min(most or n, round(share * n)))
    if n - held < 1:
        raise ValueError(f"{n} rows are too few to hold out {share:.0%} of them.")
    order = np.asarray(jax.random.permutation(key, n))
    kept, out = order[held:], order[:held]
    if weights is None:
        return rows[kept], None, rows[out], None
    weights = np.asarray(weights)
    return rows[kept], weights[kept], rows[out], weights[out]
