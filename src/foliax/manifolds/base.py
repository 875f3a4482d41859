"""The interfaces of manifolds and dequantizations."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .auxiliary import Auxiliary
from .symmetry import Symmetry

if TYPE_CHECKING:
    from .cover import AbstractCover
    from .local import AbstractCoordinates
    from .tangent import AbstractTangent

Scalar = Float[Array, ""]
Point = Float[Array, " size"]
Aux = Float[Array, " k"]
Ambient = Float[Array, " m"]


class AbstractManifold(eqx.Module):
    """A set Y with one stated reference measure; a point is one flat float vector.

    All methods take one point; callers use `jax.vmap` for many.
    """

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Intrinsic dimension."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape in which a point is shown; the flat vector is row-major."""

    @property
    def size(self) -> int:
        """Length of a flat point."""
        return math.prod(self.shape)

    @abc.abstractmethod
    def violation(self, y: Point) -> Scalar:
        """Measure how far y is off the manifold: 0 on it, positive off it."""

    @abc.abstractmethod
    def describe_violation(self, y: np.ndarray) -> str:
        """Say what is wrong with a point off the manifold and how to fix it, with its numbers."""

    @abc.abstractmethod
    def project(self, y: Point) -> Point:
        """Return the nearest point of the manifold, in its canonical representation.

        An open set has no nearest point; it returns y unchanged.
        """

    @abc.abstractmethod
    def distance(self, y: Point, other: Point) -> Scalar:
        """Return a distance between two points; it is 0 only if they are the same point."""

    @abc.abstractmethod
    def features(self, y: Point) -> Float[Array, " f"]:
        """Map y to the inputs of a network: smooth, and equal for representations of one point."""

    @abc.abstractmethod
    def log_total_volume(self) -> float:
        """Return the log of the manifold's total measure; inf if the measure is infinite."""

    @abc.abstractmethod
    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        """Draw a point from the uniform density.

        Raises:
            ValueError: The total measure is infinite.
        """

    @abc.abstractmethod
    def dequantization(self) -> AbstractDequantization:
        """Return the default dequantization of this manifold."""

    def cover(self) -> AbstractCover | None:
        """Return coordinates on which flows have exact densities; None if none are known."""
        from .plain_covers import cover_chart

        return cover_chart(self)

    def local_coordinates(self, rows: Float[np.ndarray, "n size"]) -> AbstractCoordinates | None:
        """Find coordinates in which float32 resolves rows like these; None if it already does."""
        return None

    def tolerates_merging(self, rows: Float[np.ndarray, "n size"]) -> bool:
        """Whether rows may become equal in float32, because their chart still resolves them."""
        return False

    @property
    def rounds_samples(self) -> bool:
        """Whether samples that are computed in float32 miss points that the chart resolves."""
        return False

    def restore_digits(
        self, rows: Float[np.ndarray, "n size"], noise: Float[np.ndarray, "n size"]
    ) -> Float[np.ndarray, "n size"]:
        """Spread samples over the points that float32 merged into them, by noise in [0, 1)."""
        return rows

    @property
    def factors(self) -> tuple[AbstractManifold, ...]:
        """The factors of a product, nested products flattened; otherwise the manifold itself."""
        return (self,)

    @property
    def unfolded(self) -> AbstractManifold:
        """The manifold Y of a quotient Y/G; otherwise the manifold itself."""
        return self

    @property
    def orbit_size(self) -> int:
        """The number of images of a point under the group of a quotient; otherwise 1."""
        return 1

    @property
    def symmetry(self) -> Symmetry:
        """The group G of a quotient Y/G, and Y; the trivial group for any other manifold."""
        return Symmetry(self)

    def orbit(self, y: Point) -> Float[Array, "g size"]:
        """All images of y under the group of a quotient; otherwise y alone."""
        return y[None]

    def representative(self, y: Point) -> Point:
        """The point that stands for the orbit of y; y itself where there is no group."""
        return y

    def tangent(self) -> AbstractTangent:
        """The tangent maps in an orthonormal frame; a chart's where the manifold is one chart.

        Raises:
            TangentError: No tangent maps are known for the manifold.
        """
        from .tangent import ChartTangent

        g = self.dequantization()
        if not is_chart(g):
            raise TangentError(f"No tangent maps are known for {self}.")
        return ChartTangent(g)

    def log(self, y: Point, other: Point) -> Float[Array, " d"]:
        """Compute log_y(other): the coordinates of a point in an orthonormal frame at y.

        Args:
            y: The centre, whose coordinates are 0.
            other: The point.

        Returns:
            The `dim` coordinates. On spheres, tori and SO(3) their norm is the angle of the
            geodesic; in a chart they are the differences of the chart's coordinates.

        Raises:
            TangentError: No tangent maps are known for the manifold.
        """
        tangent = self.tangent()
        return tangent.log_map(tangent.frame(y), tangent.query(other))[0]

    def exp(self, y: Point, v: Float[Array, " d"]) -> Point:
        """Compute exp_y(v), the inverse of `log`: the point of coordinates v in the frame at y.

        Args:
            y: The centre.
            v: The `dim` coordinates.

        Returns:
            The point.

        Raises:
            TangentError: No tangent maps are known for the manifold.
        """
        tangent = self.tangent()
        return tangent.exp_map(tangent.frame(y), v)


class TangentError(TypeError):
    """A manifold whose tangent maps are not known."""


class AbstractDequantization(eqx.Module):
    """A change of variables G: R^m -> Y × Z, invertible on each of finitely many branches.

    Brofos et al. 2021, Theorem 1 (one branch) and Corollary 2 (several).
    """

    manifold: eqx.AbstractVar[AbstractManifold]

    @property
    @abc.abstractmethod
    def auxiliary(self) -> Auxiliary:
        """The set in which the sampled z lies."""

    @property
    @abc.abstractmethod
    def ambient_dim(self) -> int:
        """Dimension m of the ambient space."""

    @property
    @abc.abstractmethod
    def branches(self) -> int:
        """Number of preimages of each (y, z)."""

    @abc.abstractmethod
    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        """G(x) = (y, z)."""

    @abc.abstractmethod
    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        """Return all x_b with G(x_b) = (y, z), and log_volume_b = log |dx / d(y, z)|.

        The log volume is added to log p(x_b), never subtracted.
        """


def is_chart(dequantization: AbstractDequantization) -> bool:
    """Whether a dequantization is a chart: one branch, no z, and as many numbers as dimensions."""
    return _is_flat(dequantization) and dequantization.auxiliary.size == 0


def is_chart_by_cells(dequantization: AbstractDequantization) -> bool:
    """Whether a dequantization maps each value to a cell of a chart: z is uniform in the cell."""
    return _is_flat(dequantization) and set(dequantization.auxiliary.kinds) == {"unit"}


def _is_flat(g: AbstractDequantization) -> bool:
    return g.ambient_dim == g.manifold.dim == g.manifold.size and g.branches == 1


MAX_BRANCHES = 1024
"""Preimages that one dequantization may have; each costs one ambient density."""


def check_branches(dequantization: AbstractDequantization) -> None:
    """Refuse a dequantization that has too many branches.

    Raises:
        ValueError: It has more than `MAX_BRANCHES`.
    """
    if dequantization.branches > MAX_BRANCHES:
        raise ValueError(
            f"{type(dequantization).__name__} has {dequantization.branches} branches, more than "
            f"the maximum of {MAX_BRANCHES}. Each branch costs one ambient density. Use a "
            "dequantization with fewer branches: ByRadii for a torus instead of Wrapping, "
            "Quaternions for SO(3) instead of ExponentialMap, or a smaller window."
        )


def log_joint(
    dequantization: AbstractDequantization,
    log_prob: Callable[[Ambient], Scalar],
    y: Point,
    z: Aux,
) -> Scalar:
    """Compute log p(y, z) = logsumexp_b [log_prob(x_b) + log_volume_b] for x ~ exp(log_prob).

    Args:
        dequantization: The change of variables G.
        log_prob: The ambient log density of one x.
        y: A point of the manifold.
        z: A point of the auxiliary set.
    """
    x, log_volume = dequantization.preimages(y, z)
    return jax.nn.logsumexp(jax.vmap(log_prob)(x) + log_volume)


def covers(dequantization: AbstractDequantization, x: Ambient) -> Bool[Array, ""]:
    """Whether the preimages of G(x) include x; false outside a truncated window.

    `log_joint` loses the mass of the ambient samples that are not covered.

    Args:
        dequantization: The change of variables G.
        x: An ambient point.
    """
    found, _ = dequantization.preimages(*dequantization.quantize(x))
    gap = jnp.max(jnp.abs(found - x), axis=-1).min()
    return gap <= jnp.sqrt(jnp.finfo(x.dtype).eps) * (1 + jnp.max(jnp.abs(x)))


def safe_norm(x: Float[Array, "n *rows"]) -> Float[Array, "*rows"]:
    """‖x‖ without overflow or underflow of the squares, with a finite gradient also at 0."""
    scale = jax.lax.stop_gradient(jnp.max(jnp.abs(x), axis=0))
    scale = jnp.where(scale > 0, scale, 1)
    squares = jnp.sum((x / scale) ** 2, axis=0)
    return jnp.where(squares > 0, scale * jnp.sqrt(jnp.where(squares > 0, squares, 1)), 0)
