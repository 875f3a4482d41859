"""What every list of kernels offers."""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

Point = Float[Array, " size"]
Scalar = Float[Array, ""]

PAIR_WORK_UNITS = 2.5e-9
"""Work units of one kernel at one row: a distance, and an exponential for each component."""


class AbstractKernels(eqx.Module):
    """Several normalised densities, the components of a mixture. Each is a sum over the same rows.

    A row that carries kernels is the centre of one kernel in every component.
    """

    @abc.abstractmethod
    def log_components(self, y: Point, *, exclude: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        """Evaluate every component at a point.

        Args:
            y: The point.
            exclude: The group of rows to leave out, for leave-one-out likelihoods. By default no
                row is left out.

        Returns:
            The log density under each component.
        """

    @property
    @abc.abstractmethod
    def n_components(self) -> int:
        """The number of components."""

    @property
    @abc.abstractmethod
    def bandwidths(self) -> Float[np.ndarray, " k"]:
        """A typical bandwidth of each component."""

    @abc.abstractmethod
    def select(self, mask: Bool[np.ndarray, " k"]) -> AbstractKernels:
        """Keep some of the components."""

    @abc.abstractmethod
    def sample(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        """Draw one point from a component."""

    @property
    def has_cells(self) -> bool:
        """Whether columns are counted or rounded, so that kernels of one level share a mass."""
        return False

    @property
    def pair_work(self) -> float:
        """Work units of one kernel of one component at one row."""
        return PAIR_WORK_UNITS

    @property
    @abc.abstractmethod
    def n_rows(self) -> int:
        """The number of rows that carry kernels."""

    @property
    @abc.abstractmethod
    def centres(self) -> Float[np.ndarray, "n e"]:
        """The `scaled_embedding` of the rows that carry kernels."""

    @abc.abstractmethod
    def scaled_embedding(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        """Embed rows and scale them by the relative bandwidths, without coordinates of cells."""

    @abc.abstractmethod
    def cutoff_radii(self, depths: Float[np.ndarray, " k"]) -> Float[np.ndarray, " n"]:
        """Compute the distance from each row beyond which its kernels are negligible.

        Args:
            depths: For each component, how many nats below its peak a kernel is negligible.

        Returns:
            One radius for each row that carries kernels, in scaled embedded coordinates.
        """

    @property
    @abc.abstractmethod
    def log_peaks(self) -> Float[np.ndarray, " k"]:
        """An upper bound of each component's log density, without the volume of charts."""

    def log_terms(self, y: Point) -> Float[Array, "n k"]:
        """Compute the log terms of the sums of `log_components`, without the volume of charts."""
        raise NotImplementedError(f"{type(self).__name__} has no kernels at rows.")

    def term_bounds(self) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k"]]:
        """Bound the log terms by height − ½ curvature·r², r the distance from a centre.

        Returns:
            The heights and the curvatures; distances are those of scaled embedded coordinates.
        """
        raise NotImplementedError(f"{type(self).__name__} has no kernels at rows.")

    def tables(self) -> tuple[Any, ...]:
        """List the arrays with an entry for each row that carries kernels."""
        raise NotImplementedError(f"{type(self).__name__} has no kernels at rows.")

    def with_tables(self, tables: tuple[Any, ...]) -> AbstractKernels:
        """Replace the rows that carry kernels by those of other `tables`."""
        raise NotImplementedError(f"{type(self).__name__} has no kernels at rows.")

    @abc.abstractmethod
    def subset(
        self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]
    ) -> AbstractKernels:
        """Keep the terms of some rows in every component, with their weights unchanged.

        Args:
            chosen: Numbers of the rows, padded to a size that is compiled already.
            valid: Which of them are no padding. Invalid terms contribute zero.
        """
