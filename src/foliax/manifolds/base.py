"""What a manifold and a dequantization are; Theorem 1 by automatic differentiation."""

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


def log_volume_by_autodiff(quantize: Callable[[Ambient], tuple[Point, Aux]], x: Ambient) -> Scalar:
    """−½ log det(∇Gᵀ∇G) at x, Theorem 1: the measure on Y is the one its flat points induce."""

    def stacked(x: Ambient) -> Float[Array, " s"]:
        y, z = quantize(x)
        return jnp.concatenate([y, z])

    # R of a QR factorisation, so that the condition number is not squared by ∇Gᵀ∇G.
    triangle = jnp.linalg.qr(jax.jacfwd(stacked)(x), mode="r")
    return -jnp.log(jnp.abs(jnp.diagonal(triangle))).sum()


class ByAutodiff(AbstractDequantization):
    """Theorem 1 and Corollary 2 for any manifold: G and its inverses given as plain functions.

    `quantize`: x -> (y, z). `inverses`: one (y, z) -> x for each branch; together they must
    list every x with G(x) = (y, z). The volume term is −½ log det(∇Gᵀ∇G), by autodiff.
    """

    manifold: AbstractManifold
    _auxiliary: Auxiliary
    _ambient_dim: int = eqx.field(static=True)
    _quantize: Callable[[Ambient], tuple[Point, Aux]] = eqx.field(static=True)
    _inverses: tuple[Callable[[Point, Aux], Ambient], ...] = eqx.field(static=True)

    def __init__(
        self,
        manifold: AbstractManifold,
        auxiliary: Auxiliary,
        ambient_dim: int,
        quantize: Callable[[Ambient], tuple[Point, Aux]],
        *inverses: Callable[[Point, Aux], Ambient],
    ):
        self.manifold = manifold
        self._auxiliary = auxiliary
        self._ambient_dim = ambient_dim
        self._quantize = quantize
        self._inverses = inverses

    @property
    def auxiliary(self) -> Auxiliary:
        return self._auxiliary

    @property
    def ambient_dim(self) -> int:
        return self._ambient_dim

    @property
    def branches(self) -> int:
        return len(self._inverses)

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        return self._quantize(x)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x = jnp.stack([inverse(y, z) for inverse in self._inverses])
        return x, jax.vmap(lambda x: log_volume_by_autodiff(self._quantize, x))(x)


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
    _refuse(manifold, rows, bad)


def check_points_on_device(manifold: AbstractManifold, rows: np.ndarray, *, tol: float = 1e-4):
    """Raise `OffManifoldError` where rows are no points in the precision that models compute in."""
    bad = np.asarray(_violations(manifold, jnp.asarray(rows))) > tol
    _refuse(manifold, rows, bad)


def _refuse(manifold: AbstractManifold, rows: np.ndarray, bad: np.ndarray) -> None:
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
