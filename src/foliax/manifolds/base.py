"""What a manifold and a dequantization are."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .auxiliary import Auxiliary

if TYPE_CHECKING:
    from .local import AbstractCoordinates
    from .tangent import AbstractTangent

Scalar = Float[Array, ""]
Point = Float[Array, " size"]
Aux = Float[Array, " k"]
Ambient = Float[Array, " m"]


class AbstractManifold(eqx.Module):
    """A set Y with one stated reference measure; a point is one flat float vector.

    Everything is for one point; callers `jax.vmap`.
    """

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Intrinsic dimension."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """How one point is presented; the flat vector is row-major."""

    @property
    def size(self) -> int:
        """Length of a flat point."""
        return math.prod(self.shape)

    @abc.abstractmethod
    def violation(self, y: Point) -> Scalar:
        """How far y is off the manifold: 0 on it, positive off it."""

    @abc.abstractmethod
    def complaint(self, y: np.ndarray) -> str:
        """What is wrong with a point that is off the manifold, in words and numbers."""

    @abc.abstractmethod
    def project(self, y: Point) -> Point:
        """The nearest point of the manifold, where there is one; canonical where there are many."""

    @abc.abstractmethod
    def distance(self, y: Point, other: Point) -> Scalar:
        """A distance between two points, 0 only where they are the same point."""

    @abc.abstractmethod
    def features(self, y: Point) -> Float[Array, " f"]:
        """What networks see of y: smooth, equal for representations of the same point."""

    @abc.abstractmethod
    def log_total_volume(self) -> float:
        """Log of the reference measure of the whole manifold; inf where it is infinite."""

    @abc.abstractmethod
    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        """A point from the uniform density; an error where the volume is infinite."""

    @abc.abstractmethod
    def dequantization(self) -> AbstractDequantization:
        """The dequantization used where none is named."""

    def local_coordinates(self, rows: Float[np.ndarray, "n size"]) -> AbstractCoordinates | None:
        """Coordinates in which float32 can tell these rows apart; None where it can as they are."""
        return None

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
        """The set of the sampled z."""

    @property
    @abc.abstractmethod
    def ambient_dim(self) -> int:
        """m."""

    @property
    @abc.abstractmethod
    def branches(self) -> int:
        """How many preimages a (y, z) has."""

    @abc.abstractmethod
    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        """G(x) = (y, z)."""

    @abc.abstractmethod
    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        """All x_b with G(x_b) = (y, z), and log_volume_b = log |dx / d(y, z)|, to be added."""


def is_chart(dequantization: AbstractDequantization) -> bool:
    """Whether a dequantization is a chart: one branch, no z, and as many numbers as dimensions."""
    return _is_flat(dequantization) and dequantization.auxiliary.size == 0


def is_chart_by_cells(dequantization: AbstractDequantization) -> bool:
    """Whether a dequantization maps each value to a cell of a chart: z is uniform in the cell."""
    return _is_flat(dequantization) and set(dequantization.auxiliary.kinds) == {"unit"}


def _is_flat(g: AbstractDequantization) -> bool:
    return g.ambient_dim == g.manifold.dim == g.manifold.size and g.branches == 1


BRANCH_BUDGET = 1024


def check_branches(dequantization: AbstractDequantization) -> None:
    """Refuse a dequantization with more branches than a density can afford."""
    if dequantization.branches > BRANCH_BUDGET:
        raise ValueError(
            f"{type(dequantization).__name__} has {dequantization.branches} branches, above the "
            f"budget of {BRANCH_BUDGET}: every density would cost that many ambient ones. Use a "
            "dequantization of fewer branches: ByRadii for a torus instead of Wrapping, "
            "Quaternions for SO(3) instead of ExponentialMap, or a smaller window."
        )


def log_joint(
    dequantization: AbstractDequantization,
    log_prob: Callable[[Ambient], Scalar],
    y: Point,
    z: Aux,
) -> Scalar:
    """Log density of (y, z) under x ~ exp(log_prob): logsumexp_b [log_prob(x_b) + log_volume_b]."""
    x, log_volume = dequantization.preimages(y, z)
    return jax.nn.logsumexp(jax.vmap(log_prob)(x) + log_volume)


def covers(dequantization: AbstractDequantization, x: Ambient) -> Bool[Array, ""]:
    """Whether x is among the preimages of its own G(x): false beyond a truncated window.

    The share of ambient samples that are not covered is the mass that `log_joint` loses.
    """
    found, _ = dequantization.preimages(*dequantization.quantize(x))
    gap = jnp.max(jnp.abs(found - x), axis=-1).min()
    return gap <= jnp.sqrt(jnp.finfo(x.dtype).eps) * (1 + jnp.max(jnp.abs(x)))


class OffManifoldError(ValueError):
    """Rows that are not points of the manifold."""


def check_points(manifold: AbstractManifold, rows: np.ndarray, *, tol: float = 1e-4) -> None:
    """Raise `OffManifoldError` naming the first bad row, what is wrong and what mends it."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != manifold.size:
        raise OffManifoldError(
            f"Points of {manifold} are rows of {manifold.size} numbers; got shape {rows.shape}."
        )
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise OffManifoldError(
            f"Row {row}, column {column}: value is {rows[row, column]}. "
            "Drop or fill missing values first."
        )
    if len(rows) == 0:
        return
    # In float64: large offsets and fine steps are no violations.
    with jax.enable_x64(True):
        bad = np.asarray(_violations(manifold, jnp.asarray(rows))) > tol
    if bad.any():
        row = int(np.argmax(bad))
        raise OffManifoldError(
            f"Row {row} ({bad.sum()} of {len(rows)} rows like it): {manifold.complaint(rows[row])}"
        )


def as_points(manifold: AbstractManifold, rows: Any) -> np.ndarray:
    """Rows as floats, checked; lists and whole numbers are welcome."""
    rows = np.asarray(rows)
    if not np.issubdtype(rows.dtype, np.floating):
        rows = rows.astype(float)
    check_points(manifold, rows)
    return rows


@eqx.filter_jit
def _violations(manifold: AbstractManifold, rows: Float[Array, "n size"]) -> Float[Array, " n"]:
    return jax.vmap(manifold.violation)(rows)


def safe_norm(x: Float[Array, " n"]) -> Scalar:
    """‖x‖ without overflow or underflow of the squares, with a finite gradient also at 0."""
    scale = jax.lax.stop_gradient(jnp.max(jnp.abs(x)))
    scale = jnp.where(scale > 0, scale, 1)
    squares = jnp.sum((x / scale) ** 2)
    return jnp.where(squares > 0, scale * jnp.sqrt(jnp.where(squares > 0, squares, 1)), 0)
