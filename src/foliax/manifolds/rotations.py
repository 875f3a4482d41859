"""The rotation groups SO(n): by folding O(n); SO(3) by quaternions and the exponential map."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import (
    AbstractDequantization,
    AbstractManifold,
    Ambient,
    Aux,
    Point,
    Scalar,
    TangentError,
    safe_norm,
)
from .cover import AbstractCover
from .euclidean import Euclidean
from .frame_covers import cover_rotations
from .local import NARROW_RADIANS, Rodrigues, location_and_scale
from .quaternions import RotationTangent, quaternion_of_rotation, rotation_of_quaternion
from .stiefel import QR, Polar, Stiefel, describe_orthonormality_violation, orthonormality_gap


@storable("manifolds.SpecialOrthogonal")
class SpecialOrthogonal(AbstractManifold):
    """SO(n): n × n rotation matrices, row-major; measure: induced by the Frobenius norm.

    Volume: half that of O(n); SO(3): 2^{3/2}·8π². Distance: Frobenius.
    """

    n: int = eqx.field(static=True)

    def __check_init__(self):
        if self.n < 2:
            raise ValueError(f"SpecialOrthogonal(n) needs n >= 2, got {self.n}.")

    @property
    def dim(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    def violation(self, y: Point) -> Scalar:
        matrix = y.reshape(self.shape)
        return orthonormality_gap(matrix) + jnp.where(jnp.linalg.det(matrix) < 0, 2.0, 0.0)

    def describe_violation(self, y: np.ndarray) -> str:
        matrix = y.reshape(self.shape)
        if np.linalg.det(matrix) < 0:
            return "the matrix has determinant −1: a reflection, not a rotation."
        return describe_orthonormality_violation(matrix)

    def project(self, y: Point) -> Point:
        """Return the nearest rotation in the Frobenius norm."""
        u, _, vh = jnp.linalg.svd(y.reshape(self.shape))
        flip = jnp.ones(self.n, y.dtype).at[-1].set(jnp.sign(jnp.linalg.det(u @ vh)))
        return (u * flip @ vh).reshape(-1)

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return y

    def log_total_volume(self) -> float:
        return Stiefel(self.n, self.n).log_total_volume() - math.log(2)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return into_rotations(jax.random.orthogonal(key, self.n)).reshape(-1)

    def dequantization(self) -> AbstractDequantization:
        return Quaternions(self) if self.n == 3 else Fold(QR(Stiefel(self.n, self.n)))

    def cover(self) -> AbstractCover:
        return cover_rotations(self)

    def tangent(self) -> RotationTangent:
        if self.n != 3:
            raise TangentError(f"Tangent maps are known for SO(3), not for SO({self.n}).")
        return RotationTangent()

    def local_coordinates(self, rows: np.ndarray) -> Rodrigues | None:
        if self.n != 3:
            return None
        u, _, vh = np.linalg.svd(rows.mean(axis=0).reshape(3, 3))
        centre = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vh)]) @ vh
        # The Frobenius distance of rotations is √2 times the angle between them.
        apart = np.linalg.norm(rows - centre.reshape(-1), axis=1) / math.sqrt(2)
        if apart.max() > NARROW_RADIANS or (rows == rows[0]).all():
            return None
        plain = Rodrigues(Euclidean(3), centre, np.ones(3))
        scale = location_and_scale(plain.encode(rows)[0])[1]
        return eqx.tree_at(lambda c: c.scale, plain, scale)


def reflection(n: int) -> np.ndarray:
    """Return diag(1, …, 1, −1), whose determinant is −1 for every n, unlike that of −I."""
    return np.diag(np.append(np.ones(n - 1), -1.0))


def into_rotations(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return O if det O = 1, RO if it is −1."""
    return matrix.at[-1].multiply(jnp.sign(jnp.linalg.det(matrix)))


@storable("manifolds.Fold")
class Fold(AbstractDequantization):
    """SO(n) from a dequantization of O(n): two branches, O and RO, R = diag(1, …, 1, −1).

    z = L and log_volume are those of O(n). Brofos et al. 2021, appendix on SO(n).
    """

    base: Polar | QR
    manifold: SpecialOrthogonal

    def __init__(self, base: Polar | QR):
        n, p = base.manifold.shape
        if n != p:
            raise ValueError(f"Only O(n) folds onto SO(n), not Stiefel({n}, {p}).")
        self.base = base
        self.manifold = SpecialOrthogonal(n)

    @property
    def auxiliary(self) -> Auxiliary:
        return self.base.auxiliary

    @property
    def ambient_dim(self) -> int:
        return self.base.ambient_dim

    @property
    def branches(self) -> int:
        return 2 * self.base.branches

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        y, z = self.base.quantize(x)
        return into_rotations(y.reshape(self.manifold.shape)).reshape(-1), z

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        reflected = y.reshape(self.manifold.shape).at[-1].multiply(-1).reshape(-1)
        return orbit_preimages(self.base, jnp.stack([y, reflected]), z)


def orbit_preimages(
    base: AbstractDequantization, orbit: Float[Array, "g size"], z: Aux
) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
    """Return the preimages of every point of an orbit, with the same z."""
    x, log_volume = jax.vmap(base.preimages, (0, None))(orbit, z)
    return x.reshape(-1, base.ambient_dim), log_volume.reshape(-1)


@storable("manifolds.Quaternions")
class Quaternions(AbstractDequantization):
    """SO(3) by unit quaternions: R⁴ ∖ {0} = S³ × R₊; z = r; two branches ±r q; q = (w, x, y, z).

    log_volume = 3 log r − log(8·2^{3/2}).
    """

    manifold: SpecialOrthogonal = SpecialOrthogonal(3)

    def __check_init__(self):
        _check_three(self.manifold)

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.positive(1)

    @property
    def ambient_dim(self) -> int:
        return 4

    @property
    def branches(self) -> int:
        return 2

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        r = safe_norm(x)
        return rotation_of_quaternion(x / r).reshape(-1), r[None]

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x = z * quaternion_of_rotation(y.reshape(3, 3))
        log_volume = 3 * jnp.log(z) - math.log(8 * 2**1.5)
        return jnp.stack([x, -x]), jnp.tile(log_volume, 2)


@storable("manifolds.SignedQuaternions")
class SignedQuaternions(AbstractDequantization):
    """O(3) = ±SO(3) by a quaternion and a sign: R⁵ ⊃ (R⁴ ∖ {0}) × (R ∖ {0}); two branches.

    x = (±r q, s t) with the rotation of q times s = ±1; z = (r, t⁴). log_volume = 3 log r −
    log(8·2^{3/2}) − log 4 − 3 log t. There are fewer auxiliaries than in the polar or QR
    decomposition of R⁹. The fourth power keeps t away from 0, where a flow would mix up rotations
    and reflections.
    """

    manifold: Stiefel = Stiefel(3, 3)

    def __check_init__(self):
        if (self.manifold.n, self.manifold.p) != (3, 3):
            raise ValueError(f"SignedQuaternions are for O(3) only, not for {self.manifold}.")

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.positive(2)

    @property
    def ambient_dim(self) -> int:
        return 5

    @property
    def branches(self) -> int:
        return 2

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        rotation, r = Quaternions().quantize(x[:4])
        return jnp.where(x[4] < 0, -rotation, rotation), jnp.append(r, x[4] ** 4)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        sign = jnp.sign(jnp.linalg.det(y.reshape(3, 3)))
        x, log_volume = Quaternions().preimages(sign * y, z[:1])
        height = jnp.full(2, sign * z[1] ** 0.25)
        return jnp.column_stack([x, height]), log_volume - math.log(4) - 0.75 * jnp.log(z[1])


@storable("manifolds.ExponentialMap")
class ExponentialMap(AbstractDequantization):
    """SO(3) by rotation vectors ω ∈ R³; no z; branches (θ + 2πk)·axis, k ∈ {−K..K} (K = `window`).

    log_volume = log[θ_k² / (4 sin²(θ/2))] − (3/2) log 2, infinite at θ_k = 2πk, k ≠ 0, where a
    whole sphere of ω maps to one rotation. Falorsi et al. 2019. Mass at ‖ω‖ > (2K+1)π is lost.
    """

    manifold: SpecialOrthogonal = SpecialOrthogonal(3)
    window: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        _check_three(self.manifold)
        if self.window < 0:
            raise ValueError(f"ExponentialMap needs a window K >= 0, got {self.window}.")

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.empty()

    @property
    def ambient_dim(self) -> int:
        return 3

    @property
    def branches(self) -> int:
        return 2 * self.window + 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        half = safe_norm(x) / 2
        vector = x * jnp.sinc(half / jnp.pi) / 2
        quaternion = jnp.concatenate([jnp.cos(half)[None], vector])
        return rotation_of_quaternion(quaternion).reshape(-1), jnp.zeros(0, x.dtype)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        quaternion = quaternion_of_rotation(y.reshape(3, 3))
        w, v = quaternion[0], quaternion[1:]
        sine = safe_norm(v)  # sin(θ/2), θ ∈ [0, π]
        tiny = jnp.finfo(y.dtype).eps ** 2
        is_identity = sine <= tiny
        sine = jnp.where(is_identity, tiny, sine)
        axis = jnp.where(is_identity, jnp.zeros(3, y.dtype).at[-1].set(1), v / sine)
        theta = 2 * jnp.arctan2(sine, w)
        turns = 2 * jnp.pi * np.arange(-self.window, self.window + 1).astype(y.dtype)
        log_volume = 2 * jnp.log(jnp.abs(theta + turns) / (2 * sine)) - 1.5 * math.log(2)
        # The ratio θ/sin(θ/2) gives θ·axis a correct gradient also at the identity.
        return v * (theta / sine) + turns[:, None] * axis, log_volume


def _check_three(manifold: SpecialOrthogonal) -> None:
    if manifold.n != 3:
        raise ValueError(f"Quaternions and rotation vectors are for SO(3), not SO({manifold.n}).")
