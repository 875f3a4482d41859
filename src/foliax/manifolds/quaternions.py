"""Rotation matrices of unit quaternions and back, for JAX."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..registry import storable
from .angles import acute_angle
from .tangent import AbstractTangent, Frame, Point, Query, Scalar, Vector

Quaternion = Float[Array, " four"]


def rotation_of_quaternion(q: Quaternion) -> Float[Array, "3 3"]:
    """Return the rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q
    return jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of_rotation(matrix: Float[Array, "3 3"]) -> Quaternion:
    """Return the unit quaternion (w, x, y, z), w ≥ 0, of a rotation matrix.

    4qqᵀ is the identity plus `quaternion_form`. Its row with the largest diagonal entry,
    normalised, is ±q, which is smooth and accurate for every rotation.
    """
    outer = jnp.eye(4, dtype=matrix.dtype) + quaternion_form(matrix)
    row = outer[jnp.argmax(jnp.diagonal(outer))]
    return row / jnp.linalg.norm(row) * jnp.where(row[0] < 0, -1, 1)


def quaternion_form(m: Float[Array, "3 3"]) -> Float[Array, "4 4"]:
    """Return the symmetric S with qᵀSq = tr MᵀR for the rotation R of every unit quaternion q."""
    a, b, c = m[0, 0], m[1, 1], m[2, 2]
    wx, wy, wz = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    xy, xz, yz = m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1]
    return jnp.array(
        [
            [a + b + c, wx, wy, wz],
            [wx, a - b - c, xy, xz],
            [wy, xy, b - a - c, yz],
            [wz, xz, yz, c - a - b],
        ]
    )


def multiply_quaternions(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return Hamilton's product ab."""
    scalar = a[0] * b[0] - a[1:] @ b[1:]
    vector = a[0] * b[1:] + b[0] * a[1:] + jnp.cross(a[1:], b[1:])
    return jnp.concatenate([scalar[None], vector])


def quaternions_of_rotation_of_space(matrix: Float[Array, "4 4"]) -> tuple[Quaternion, Quaternion]:
    """Return unit quaternions (p, q) with Mv = p v q̄ for a rotation M of R⁴.

    M is linear in p qᵀ (Van Elfrinkhof 1897), and so is the inverse. A row and a column of p qᵀ
    through its largest entry give both.
    """
    outer = jnp.tensordot(jnp.asarray(PAIR_OF_ROTATION, matrix.dtype), matrix, 2)
    row, column = jnp.unravel_index(jnp.argmax(jnp.abs(outer)), (4, 4))
    q = outer[row] / jnp.linalg.norm(outer[row])
    p = outer[:, column] * jnp.sign(q[column])
    return p / jnp.linalg.norm(p), q


def _pair_of_rotation() -> np.ndarray:
    """Return the tensor C with p_i q_j = Σ_kl C_ijkl M_kl."""

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        scalar = a[0] * b[0] - a[1:] @ b[1:]
        return np.append(scalar, a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))

    unit, conjugate = np.eye(4), np.diag([1.0, -1.0, -1.0, -1.0])
    # The matrices of v ↦ e_i v ē_j are orthogonal to each other, of squared norm 4.
    matrices = [
        [np.stack([product(product(p, v), q @ conjugate) for v in unit], axis=1) for q in unit]
        for p in unit
    ]
    return np.array(matrices) / 4


PAIR_OF_ROTATION = _pair_of_rotation()


@storable("rivals.RotationTangent")
class RotationTangent(AbstractTangent):
    """v = the rotation vector of MᵀR, of angle ω; dy = 2^{3/2} (sin(ω/2)/(ω/2))² dv."""

    @property
    def scales(self) -> tuple[int, ...]:
        return (0, 0, 0)

    @property
    def max_chord_ratio(self) -> float:
        """Chords are 2^{3/2} sin(ω/2), by the Frobenius norm."""
        return math.sqrt(2)

    @property
    def max_log_shrinkage(self) -> float:
        """The bound is reached at half a turn, and the constant 2^{3/2} makes it safe."""
        return 2 * math.log(math.pi / 2)

    def frame(self, y: Point) -> Frame:
        return quaternion_of_rotation(y.reshape(3, 3))

    def query(self, y: Point) -> Query:
        return quaternion_of_rotation(y.reshape(3, 3))

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        a, b = frame, query
        scalar = (a * b).sum()
        vector = a[0] * b[1:] - b[0] * a[1:] - jnp.cross(a[1:], b[1:])
        vector = jnp.where(scalar < 0, -vector, vector)
        sine = jnp.minimum(jnp.sqrt((vector**2).sum()), 1.0)
        half = acute_angle(sine, jnp.abs(scalar))
        ratio = jnp.where(half > 1e-3, sine / jnp.maximum(half, 1e-3), 1 - half**2 / 6)
        return 2 * vector / ratio, 2 * jnp.log(ratio) + 1.5 * math.log(2)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        half = jnp.sqrt((v**2).sum()) / 2
        turn = jnp.concatenate([jnp.cos(half)[None], jnp.sinc(half / math.pi) * v / 2])
        return (rotation_of_quaternion(frame) @ rotation_of_quaternion(turn)).reshape(-1)
