"""Quotients of manifolds by finite groups."""

from __future__ import annotations

import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from .auxiliary import Auxiliary
from .base import (
    MAX_BRANCHES,
    AbstractDequantization,
    AbstractManifold,
    Ambient,
    Aux,
    Point,
    Scalar,
    check_branches,
)
from .cover import AbstractCover
from .local import NARROW_RADIANS, AbstractCoordinates, Rodrigues, Stereographic
from .plain_covers import AxisCover, OrbitCover, SphereCover
from .rotations import orbit_preimages
from .sphere import Sphere
from .symmetry import Symmetry

Matrices = tuple[tuple[tuple[float, ...], ...], ...]


def _nested(group) -> Matrices:
    return tuple(tuple(tuple(float(v) for v in row) for row in g) for g in np.asarray(group))


MIN_IMAGE_DISTANCE = 20 * NARROW_RADIANS
"""Distance of a point from its images, in the flat space, that gives it local coordinates."""
PILOT_ROWS = 1000
"""Rows that show whether all are close together, before images of all rows are computed."""
MAX_ACTION_ENTRIES = 2**24
"""Entries of the matrices by which a group acts on flat points: 128 MB."""


def _check_group(g: np.ndarray) -> None:
    """Check that matrices are a group, in memory that grows with their number squared."""
    flat = g.reshape(len(g), -1)
    if np.abs(np.einsum("aij,akj->aik", g, g) - np.eye(g.shape[1])).max() > 1e-6:
        raise ValueError("The group's matrices must be orthogonal.")
    # Orthogonal matrices are nearest where their inner product is largest.
    nearest = np.argmax(flat @ flat.T - 1e9 * np.eye(len(g)), axis=1)
    if len(g) > 1 and np.abs(flat - flat[nearest]).max(axis=1).min() < 1e-6:
        raise ValueError("The group lists an element twice.")
    gaps = [np.abs(flat - np.eye(g.shape[1]).reshape(-1)).max(axis=1).min()]
    for element in g:
        products = (element @ g).reshape(len(g), -1)
        gaps.append(np.abs(products - flat[np.argmax(products @ flat.T, axis=1)]).max())
    if max(gaps) > 1e-6:
        raise ValueError("These matrices are not a group: products or the identity are missing.")


@storable("manifolds.Quotient")
class Quotient(AbstractManifold):
    """Y/G, G a finite group of orthogonal matrices: y and its images under G are one point.

    Measure: push-forward, of volume vol(Y)/|G|, so the density is the sum over the orbit. The
    representative is the image nearest to e_d (vectors) or Id (matrices). Distance: the minimum
    over the orbit, so ties between representatives have distance 0.

    Args:
        base: The manifold Y.
        group: The matrices of G, of shape (order, n, n).
        side: "left" for y ↦ gy (vectors and matrices), "right" for y ↦ yg (matrices).
    """

    base: AbstractManifold
    group: Matrices = eqx.field(static=True, converter=_nested)
    side: Literal["left", "right"] = eqx.field(static=True, default="left")

    def __check_init__(self):
        g = np.array(self.group)
        acted = self.base.shape[0] if self.side == "left" else self.base.shape[-1]
        if self.side == "right" and len(self.base.shape) == 1:
            raise ValueError("A group acts on vectors from the left: use side='left'.")
        if g.ndim != 3 or g.shape[1:] != (acted, acted):
            raise ValueError(
                f"The group must be matrices of shape (order, {acted}, {acted}), got {g.shape}."
            )
        if len(g) > MAX_BRANCHES or len(g) * self.base.size**2 > MAX_ACTION_ENTRIES:
            raise ValueError(
                f"A group of {len(g)} matrices is too large for points of {self.base.size} numbers."
            )
        _check_group(g)
        with jax.ensure_compile_time_eval():
            images = self.orbit(jnp.asarray(self._reference()))
            off = float(jax.vmap(self.base.violation)(images).max())
        if off > 1e-4:
            raise ValueError(
                f"The group does not keep {self.base}: an image is off the manifold by {off:.3g}."
            )

    def __str__(self) -> str:
        return f"{self.base} modulo a group of {len(self.group)} matrices"

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.base.shape

    def _actions(self) -> np.ndarray:
        """Return the group as matrices that act on flat points."""
        g = np.array(self.group)
        rows, columns = self.base.shape if len(self.base.shape) == 2 else (self.base.size, 1)
        if self.side == "left":
            return np.stack([np.kron(m, np.eye(columns)) for m in g])
        return np.stack([np.kron(np.eye(rows), m.T) for m in g])

    def _reference(self) -> np.ndarray:
        if len(self.base.shape) == 2:
            return np.eye(*self.base.shape).reshape(-1)
        return np.eye(self.base.size)[-1]

    @property
    def unfolded(self) -> AbstractManifold:
        return self.base

    @property
    def orbit_size(self) -> int:
        return len(self.group)

    @property
    def symmetry(self) -> Symmetry:
        return Symmetry(self.base, self.group, self.side, self._actions())

    def orbit(self, y: Point) -> Float[Array, "g size"]:
        """Return all images of y under the group."""
        return jnp.asarray(self._actions(), y.dtype) @ y

    def representative(self, y: Point) -> Point:
        return self.project(y)

    def log(self, y: Point, other: Point) -> Float[Array, " d"]:
        """Of the image of `other` that is nearest to y."""
        images = self.orbit(other)
        apart = jax.vmap(lambda image: self.base.distance(y, image))(images)
        return self.base.log(y, images[jnp.argmin(apart)])

    def exp(self, y: Point, v: Float[Array, " d"]) -> Point:
        return self.representative(self.base.exp(y, v))

    def violation(self, y: Point) -> Scalar:
        return self.base.violation(y)

    def describe_violation(self, y: np.ndarray) -> str:
        return self.base.describe_violation(y)

    def project(self, y: Point) -> Point:
        images = self.orbit(self.base.project(y))
        return images[jnp.argmax(images @ self._reference().astype(y.dtype))]

    def distance(self, y: Point, other: Point) -> Scalar:
        return jax.vmap(lambda image: self.base.distance(y, image))(self.orbit(other)).min()

    def features(self, y: Point) -> Float[Array, " f"]:
        """Return invariant features of the orbit.

        Groups of order 2 use the mean and second moments of the base's features f (axes: 0 and
        yyᵀ). Low moments are constant for larger groups, which use soft maxima along 24 fixed
        directions c: (1/κ) log Σ_g exp(κ⟨f(gy), c⟩).
        """
        images = jax.vmap(self.base.features)(self.orbit(y))
        if len(self.group) <= 2:
            moments = (images.T @ images / len(images))[np.triu_indices(images.shape[1])]
            return jnp.concatenate([images.mean(0), moments])
        directions = np.random.default_rng(0).normal(size=(24, images.shape[1]))
        directions *= 1.5 / np.linalg.norm(directions, axis=1, keepdims=True)
        heights = images @ jnp.asarray(directions.T, y.dtype)
        kappa = 8.0
        return jax.nn.logsumexp(kappa * heights, axis=0) / kappa

    def log_total_volume(self) -> float:
        return self.base.log_total_volume() - math.log(len(self.group))

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return self.project(self.base.sample_uniform(key=key))

    def cover(self) -> AbstractCover | None:
        base = self.base.cover()
        if isinstance(base, SphereCover) and self._is_sign() and self.dim > 1:
            return AxisCover(self)
        return None if base is None or base.cell_count else OrbitCover(self, base)

    def _is_sign(self) -> bool:
        """Whether the group is {1, −1}; the identity is one of its elements."""
        return len(self.group) == 2 and bool(np.allclose(np.sum(self.group, axis=0), 0))

    def dequantization(self) -> Orbits:
        return Orbits(self, self.base.dequantization())

    def local_coordinates(self, rows: np.ndarray) -> NearestImage | None:
        """Use the base's coordinates of the images that are close together."""
        actions = self._actions()
        some = rows[:: max(1, len(rows) // PILOT_ROWS)]
        apart = np.linalg.norm(_nearest_images(some, rows[0], actions, np) - rows[0], axis=1)
        if apart.max() > 4 * NARROW_RADIANS:  # more than the diameter, also of matrices
            return None
        near = _nearest_images(rows, rows[0], actions, np)
        inner = self.base.local_coordinates(near)
        # Only there are images nearest where their inner product is largest.
        if not isinstance(inner, Stereographic | Rodrigues):
            return None
        centre = inner.decode(np.zeros(inner.working.size))
        apart = np.linalg.norm(actions @ centre - centre, axis=1)
        is_identity = np.abs(actions - np.eye(len(centre))).max(axis=(1, 2)) < 1e-6
        if (apart[~is_identity] < MIN_IMAGE_DISTANCE).any():
            return None
        return NearestImage(inner.working, inner, centre, self._reference(), actions)


@storable("manifolds.NearestImage")
class NearestImage(AbstractCoordinates):
    """The coordinates of the image nearest to `centre`, for points of a quotient near one point.

    The coordinates cover all images that are nearer to `centre` than to its own images. These are
    `MIN_IMAGE_DISTANCE` away, tens of times the radius of the rows: no mass is lost.

    Args:
        working: The manifold of the coordinates.
        inner: Coordinates of the base around `centre`.
        centre: A point of the base.
        reference: The point whose nearest image represents an orbit.
        actions: The group as matrices that act on flat points.
    """

    working: AbstractManifold
    inner: AbstractCoordinates
    centre: np.ndarray
    reference: np.ndarray
    actions: np.ndarray

    def encode(self, y: Any, xp: Any = np) -> tuple[Any, Any]:
        return self.inner.encode(_nearest_images(y, self.centre, self.actions, xp), xp)

    def decode(self, t: Any, xp: Any = np) -> Any:
        return _nearest_images(self.inner.decode(t, xp), self.reference, self.actions, xp)


def _nearest_images(y: Any, centre: np.ndarray, actions: np.ndarray, xp: Any) -> Any:
    """Return the image of each point, of shape (…, size), that is nearest to a point."""
    actions = actions.astype(y.dtype)
    # ⟨gy, c⟩ = ⟨y, gᵀc⟩. One image at a time, since all images of many rows take much memory.
    best = xp.argmax(y @ (centre.astype(y.dtype) @ actions).T, axis=-1)[..., None]
    nearest = y
    for number, action in enumerate(actions):
        nearest = xp.where(best == number, y @ action.T, nearest)
    return nearest


@storable("manifolds.Orbits")
class Orbits(AbstractDequantization):
    """A quotient from its base: |G| times as many branches, the same z and log_volume."""

    manifold: Quotient
    base: AbstractDequantization

    def __check_init__(self):
        check_branches(self)

    @property
    def auxiliary(self) -> Auxiliary:
        return self.base.auxiliary

    @property
    def ambient_dim(self) -> int:
        return self.base.ambient_dim

    @property
    def branches(self) -> int:
        return self.base.branches * len(self.manifold.group)

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        y, z = self.base.quantize(x)
        images = self.manifold.orbit(y)
        nearest = jnp.argmax(images @ self.manifold._reference().astype(y.dtype))
        return images[nearest], z

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return orbit_preimages(self.base, self.manifold.orbit(y), z)


def ProjectiveSpace(d: int) -> Quotient:
    """RP^d = S^d / {±1}: axes, x ≡ −x; measure: area, half the sphere's."""
    identity = np.eye(d + 1)
    return Quotient(Sphere(d), np.stack([identity, -identity]))
