"""What every way of fitting a density shares: a description, and what it returns."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, Generic, TypeVar

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import AbstractDensity
from ..density.localized import LocalizedDensity
from ..manifolds import AbstractManifold
from ..manifolds.base import as_points
from ..manifolds.local import AbstractCoordinates, Unchanged, check_resolution
from ..training import Record

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

    def fit(
        self,
        where: Any,
        rows: Any,
        *,
        key: PRNGKeyArray,
        weights: Any = None,
        validation: Any = None,
        **watch: Any,
    ) -> Fitted:
        """Fit a density to rows.

        Rows that float32 could not tell apart (large offsets, points close together) are centred
        and scaled in float64 first; the result is a `LocalizedDensity`, in the given units.

        Args:
            where: The manifold; some specs take a dequantization too.
            rows: An (n, size) array of points of the manifold; some specs take a sampler too.
            key: Chooses all that is random.
            weights: One non-negative number for each row.
            validation: Held-out rows, for whatever the spec chooses by held-out likelihood. Where
                it needs some and gets none, it holds out a part of the rows.
            **watch: Callbacks and checkpoints, for the specs that have them.

        Returns:
            The density and a record of the fit.

        Raises:
            UnsupportedManifoldError: The spec cannot serve the manifold.
            ResolutionError: Single precision cannot tell the values of a coordinate apart.
        """
        known = {"key": key, "weights": weights, **watch}
        local = localize(where, rows)
        if local is None:
            return self._fit(where, rows, validation=validation, **known)
        held_out = None if validation is None else local.encode(as_points(where, validation))[0]
        points = local.encode(as_points(where, rows))[0]
        try:
            fitted = self._fit(local.working, points, validation=held_out, **known)
        except UnsupportedManifoldError as error:
            raise UnsupportedManifoldError(
                f"{type(self).__name__} cannot serve rows of {where} that are so close together; "
                f"they are fitted on {local.working}, where {error}"
            ) from error
        return Fitted(LocalizedDensity(where, local, fitted.density), fitted.record)

    @abc.abstractmethod
    def _fit(
        self,
        where: Any,
        rows: Any,
        *,
        key: PRNGKeyArray,
        weights: Any = None,
        validation: Any = None,
    ) -> Fitted:
        """`fit` for rows that float32 can tell apart."""

    def within(self, seconds: float) -> AbstractSpec:
        """The spec with a time limit, where its fitting can be ended early; otherwise itself."""
        return self

    def makes_use_of(self, n: int) -> bool:
        """Whether a fit to all of n rows needs none held out, and gains by every one of them."""
        return False


def localize(where: Any, rows: Any) -> AbstractCoordinates | None:
    """The coordinates that rows must be fitted in; None where they can be fitted as they are."""
    if callable(rows) or not isinstance(where, AbstractManifold):
        return None  # draws of a sampler, or the user's own dequantization
    points = as_points(where, rows).astype(np.float64)
    if not len(points):
        return None
    local = where.local_coordinates(points)
    check_resolution(local or Unchanged(where), points)
    return local


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
