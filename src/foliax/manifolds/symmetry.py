"""The symmetry group of a quotient Y/G, as plots show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .base import AbstractManifold


class Symmetry(NamedTuple):
    """The group G of a quotient Y/G, and Y; the trivial group for any other manifold.

    Attributes:
        base: Y; the manifold itself if it is not a quotient.
        group: matrices of G; empty if the manifold is not a quotient.
        side: the side from which G acts on matrices, "left" or "right".
        actions: G as matrices on flat points, (order, size, size).
    """

    base: AbstractManifold
    group: tuple = ()
    side: str = "right"
    actions: np.ndarray | None = None

    @property
    def order(self) -> int:
        """Number of elements of G."""
        return max(1, len(self.group))

    @property
    def is_axial(self) -> bool:
        """Whether G contains −1, so that v and −v are one point."""
        return self._contains(-np.eye(len(self.group[0]))) if self.group else False

    @property
    def is_cubic(self) -> bool:
        """Whether G contains x → y → z → x. The order does not tell: 23 and 622 have 12."""
        return self._contains(np.roll(np.eye(3), 1, axis=0))

    def _contains(self, matrix: np.ndarray) -> bool:
        return any(np.allclose(np.array(g), matrix, atol=1e-6) for g in self.group)

    def images(self, rows: np.ndarray) -> np.ndarray:
        """All images of the rows under G, (n · order, size); images of a row are neighbours."""
        if self.actions is None:
            return rows
        return np.einsum("gij,nj->ngi", self.actions, rows).reshape(-1, self.base.size)
