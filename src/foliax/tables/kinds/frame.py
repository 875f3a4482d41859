"""The kind `frame`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import AbstractManifold, Stiefel
from .base import Check, Kind, Measure, Points, Values, column_kind
from .labels import relative_to_uniform
from .options import option, positive_integer
from .orthonormal import Matrices, are_singular, orthonormal_checks, polar_factors


@column_kind("frame", order=100)
@dataclass(frozen=True, kw_only=True)
class FrameKind(Kind):
    """n × p matrices with orthonormal columns, row by row: the Stiefel manifold; × uniform."""

    constrained: ClassVar[bool] = True
    n: int = option(positive_integer)
    p: int = option(positive_integer)

    def __post_init__(self):
        if self.p > self.n:
            raise ValueError(f"needs p ≤ n, got n={self.n} and p={self.p}.")

    def expected_columns(self) -> str | None:
        if self.width == self.n * self.p:
            return None
        return f"n × p = {self.n * self.p} columns, row by row"

    def _matrices(self, values: Values) -> Matrices:
        return values.reshape(-1, self.n, self.p)

    def manifold(self) -> AbstractManifold:
        return Stiefel(self.n, self.p)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from orthonormal_checks(self._matrices(values))

    def encode(self, values: Values) -> Points:
        return polar_factors(self._matrices(values)).reshape(-1, self.width)

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return relative_to_uniform(self.manifold())

    def project(self, values: Values) -> Values:
        return np.where(are_singular(self._matrices(values))[:, None], values, self.encode(values))
