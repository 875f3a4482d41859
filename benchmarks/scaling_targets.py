"""The densities of benchmarks.scaling: known exactly, and in no model's family."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln
from scipy.stats import vonmises_fisher

from foliax.distributions import log_vmf_normaliser
from foliax.manifolds import (
    AbstractManifold,
    Circle,
    Naturals,
    PositiveReals,
    Product,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
    conversions,
)
from foliax.manifolds.quaternions import (
    multiply_quaternions,
    quaternions_of_rotation_of_space,
)

CHUNK_ROWS = 65_536
"""Rows drawn at once, to bound memory."""


class Part(Protocol):
    """A density that is known exactly, in float64 on the host."""

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray: ...

    def log_density(self, rows: np.ndarray) -> np.ndarray: ...


class Target(NamedTuple):
    """A mixture of parts on a manifold."""

    manifold: AbstractManifold
    parts: tuple[tuple[float, Part], ...]

    def draw(self, n: int, seed: int) -> np.ndarray:
        """Draw n independent rows in float32, a chunk at a time."""
        rng = np.random.default_rng(seed)
        rows = np.empty((n, self.manifold.size), np.float32)
        for start in range(0, n, CHUNK_ROWS):
            chunk = rows[start : start + CHUNK_ROWS]
            kinds = rng.choice(len(self.parts), len(chunk), p=[share for share, _ in self.parts])
            for kind, (_, part) in enumerate(self.parts):
                chosen = np.flatnonzero(kinds == kind)
                chunk[chosen] = part.draw(rng, len(chosen))
        return rows

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        rows = rows.astype(float)
        each = [math.log(share) + part.log_density(rows) for share, part in self.parts]
        return np.logaddexp.reduce(each)


@dataclasses.dataclass(frozen=True)
class Cluster:
    """von Mises–Fisher on S²."""

    mean: tuple[float, float, float]
    kappa: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        drop = -np.log1p(rng.random(n) * math.expm1(-2 * self.kappa)) / self.kappa
        around = rng.uniform(-np.pi, np.pi, n)
        radius = np.sqrt(drop * (2 - drop))
        local = np.stack([1 - drop, radius * np.cos(around), radius * np.sin(around)], axis=1)
        return local @ self._frame()

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        squared = ((rows - self._frame()[0]) ** 2).sum(1)
        return -self.kappa * squared / 2 - log_vmf_normaliser(self.kappa, 2)

    def _frame(self) -> np.ndarray:
        """Return the mean direction and two vectors orthogonal to it."""
        mean = np.array(self.mean) / np.linalg.norm(self.mean)
        return np.concatenate([mean[None], np.linalg.svd(mean[None])[2][1:]])


@dataclasses.dataclass(frozen=True)
class Ridge:
    """A winding line on S² that gets thinner away from its middle; area is longitude × height."""

    middle: float
    along: float
    waves: int
    width: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        lon = rng.vonmises(self.middle, self.along, n)
        mean, deviation = self._across(lon)
        height = mean + deviation * rng.standard_normal(n)
        side = np.sqrt(1 - height**2)
        return np.stack([side * np.cos(lon), side * np.sin(lon), height], axis=1)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        lon = conversions.latlon_from_vectors(rows, degrees=False)[1]
        return log_von_mises(lon - self.middle, self.along) + log_normal(
            rows[:, 2], *self._across(lon)
        )

    def _across(self, lon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and deviation of the height; the poles are over eight deviations away."""
        return 0.5 * np.sin(self.waves * lon), self.width * np.exp(np.cos(lon - self.middle) - 1)


@dataclasses.dataclass(frozen=True)
class Angles:
    """T³: a, b = bend·a + noise, c = a − b + shift + noise; c's noise depends on a."""

    middle: float
    bend: int
    shift: float
    kappas: tuple[float, float, float]

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        a = rng.vonmises(self.middle, self.kappas[0], n)
        b = self.bend * a + rng.vonmises(0, self.kappas[1], n)
        c = a - b + self.shift + rng.vonmises(0, self._third(a))
        return conversions.angles_from_period(np.stack([a, b, c], axis=1), 2 * np.pi)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        a, b, c = rows.T
        first = log_von_mises(a - self.middle, self.kappas[0])
        second = log_von_mises(b - self.bend * a, self.kappas[1])
        return first + second + log_von_mises(c - a + b - self.shift, self._third(a))

    def _third(self, a: np.ndarray) -> np.ndarray:
        return self.kappas[2] * np.exp(np.cos(a))


@dataclasses.dataclass(frozen=True)
class Rotations:
    """M·R on SO(3), where the quaternion of R is an angular central Gaussian (Tyler 1987).

    The quaternion is (1, widths) times a standard normal, normalised. Small widths give a peak
    with long tails; one width of 1 gives rotations about an axis; all 1 gives Haar measure.
    """

    mean: tuple[float, float, float]
    """The rotation vector of M."""
    widths: tuple[float, float, float]

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        q = rng.standard_normal((n, 4)) * np.array([1, *self.widths])
        local = conversions.rotations_from_quaternions(q, order="wxyz").reshape(-1, 3, 3)
        return (self._mean() @ local).reshape(-1, 9)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        local = (self._mean().T @ rows.reshape(-1, 3, 3)).reshape(-1, 9)
        q = conversions.quaternions_from_rotations(local, order="wxyz")
        squared = ((q / np.array([1, *self.widths])) ** 2).sum(1)
        log_volume = SpecialOrthogonal(3).log_total_volume()
        return -2 * np.log(squared) - np.log(self.widths).sum() - log_volume

    def _mean(self) -> np.ndarray:
        return conversions.rotations_from_vectors(np.array([self.mean])).reshape(3, 3)


@dataclasses.dataclass(frozen=True)
class Events:
    """S² × circle × half-line × counts: place, hour given place, size given both, count.

    hour is von Mises around phase + 2x; log size is normal around level + z + ½ cos hour; count
    is Poisson with mean 2·size^0.7·exp(½ sin hour).
    """

    place: Part
    phase: float
    regular: float
    level: float
    spread: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        place = self.place.draw(rng, n)
        hour = self._hour(place) + rng.vonmises(0, self.regular, n)
        size = np.exp(self._log_size(place, hour) + self.spread * rng.standard_normal(n))
        count = rng.poisson(self._mean_count(hour, size))
        hour = conversions.angles_from_period(hour, 2 * np.pi)
        return np.column_stack([place, hour, size, count])

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        place, (hour, size, count) = rows[:, :3], rows[:, 3:].T
        mean = self._mean_count(hour, size)
        return (
            self.place.log_density(place)
            + log_von_mises(hour - self._hour(place), self.regular)
            + log_normal(np.log(size), self._log_size(place, hour), self.spread)
            - np.log(size)
            + (count * np.log(mean) - mean - gammaln(count + 1))
        )

    def _hour(self, place: np.ndarray) -> np.ndarray:
        return self.phase + 2 * place[:, 0]

    def _log_size(self, place: np.ndarray, hour: np.ndarray) -> np.ndarray:
        return self.level + place[:, 2] + 0.5 * np.cos(hour)

    def _mean_count(self, hour: np.ndarray, size: np.ndarray) -> np.ndarray:
        return 2 * size**0.7 * np.exp(0.5 * np.sin(hour))


@dataclasses.dataclass(frozen=True)
class Directions:
    """von Mises–Fisher on the sphere in R^m."""

    mean: tuple[float, ...]
    kappa: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return self._distribution().rvs(n, random_state=rng).reshape(n, -1)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        return self._distribution().logpdf(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def _distribution(self) -> Any:
        return von_mises_fisher(np.array(self.mean), self.kappa)


@dataclasses.dataclass(frozen=True)
class Axes:
    """Angular central Gaussian on the sphere in R^m (Tyler 1987), between a few directions.

    y is Σ_k widths_k z_k a_k, normalised, where z is standard normal and the orthonormal a_k come
    from a seed.
    """

    widths: tuple[float, ...]
    seed: int

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        rows = rng.standard_normal((n, len(self.widths))) * self.widths @ self._basis()
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        m = len(self.widths)
        squared = ((rows @ self._basis().T / self.widths) ** 2).sum(1)
        log_volume = Sphere(m - 1).log_total_volume()
        return -m / 2 * np.log(squared) - np.log(self.widths).sum() - log_volume

    def _basis(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        return np.linalg.qr(rng.standard_normal((len(self.widths),) * 2))[0]


@dataclasses.dataclass(frozen=True)
class Frames:
    """St(4, 2): the first column, and the second one around a direction that turns with the first.

    The measure of the matrix is √2 times that of the two columns.
    """

    first: Part
    regular: float
    bend: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        one = self.first.draw(rng, n)
        around = von_mises_fisher(np.array([0.0, 0.0, 1.0]), self.regular)
        local = around.rvs(n, random_state=rng)
        two = np.einsum("nk,nkj->nj", local, self._frame(one))
        return np.stack([one, two], axis=2).reshape(n, 8)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        one, two = np.moveaxis(rows.reshape(-1, 4, 2), 2, 0)
        drop = 1 - np.einsum("nj,nj->n", two, self._frame(one)[:, 2])
        second = -self.regular * drop - log_vmf_normaliser(self.regular, 2)
        return self.first.log_density(one) + second - math.log(2) / 2

    def _frame(self, one: np.ndarray) -> np.ndarray:
        """Return three orthonormal vectors that are orthogonal to one: its products with i, j, k.

        The third one turns towards the second as the first coordinate grows.
        """
        w, x, y, z = one.T
        i, j, k = (-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w)
        frame = np.stack([np.stack(v, axis=1) for v in (i, j, k)], axis=1)
        cos, sin = np.cos(self.bend * w)[:, None], np.sin(self.bend * w)[:, None]
        turned = [frame[:, 0], cos * frame[:, 1] - sin * frame[:, 2]]
        return np.stack([*turned, sin * frame[:, 1] + cos * frame[:, 2]], axis=1)


@dataclasses.dataclass(frozen=True)
class SpaceRotations:
    """SO(4): x ↦ q x r̄ of two independent axes q and r in R⁴."""

    left: Axes
    right: Axes

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        q, r = self.left.draw(rng, n), self.right.draw(rng, n)
        return np.asarray(_rotate_space(q, r), float).reshape(n, 16)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        q, r = (np.asarray(v, float) for v in _find_pairs(rows.reshape(-1, 4, 4)))
        log_volume = SpecialOrthogonal(4).log_total_volume() - 2 * Sphere(3).log_total_volume()
        return self.left.log_density(q) + self.right.log_density(r) - log_volume


def von_mises_fisher(mean: np.ndarray, kappa: float) -> Any:
    """Return SciPy's distribution, whose stub takes whole numbers only."""
    make: Any = vonmises_fisher
    return make(mean / np.linalg.norm(mean), kappa)


@jax.jit
def _rotate_space(q, r):
    conjugate = r * jnp.array([1.0, -1.0, -1.0, -1.0])

    def rotate(q, r):
        image = jax.vmap(lambda e: multiply_quaternions(multiply_quaternions(q, e), r))(jnp.eye(4))
        return image.T

    return jax.vmap(rotate)(q, conjugate)


_find_pairs = jax.jit(jax.vmap(quaternions_of_rotation_of_space))


def log_von_mises(angle: np.ndarray, kappa: np.ndarray | float) -> np.ndarray:
    """Return the von Mises log density of an angle relative to its mean."""
    return -2 * kappa * np.sin(angle / 2) ** 2 - log_vmf_normaliser(kappa, 1)


def log_normal(x: np.ndarray, mean: np.ndarray, deviation: np.ndarray | float) -> np.ndarray:
    """Return the log density of a normal distribution."""
    return -0.5 * ((x - mean) / deviation) ** 2 - np.log(deviation) - 0.5 * math.log(2 * math.pi)


RIDGE = Ridge(middle=0.5, along=0.8, waves=3, width=0.06)
BROAD, SMALLER, SHARP = (
    Cluster((-0.5, -0.6, 0.6), 12.0),
    Cluster((-0.2, 0.3, -0.9), 300.0),
    Cluster((-0.9, 0.4, 0.2), 8000.0),
)
BACKGROUND = Cluster((0.0, 1.0, 1.0), 0.4)
TARGETS = {
    "S²": Target(
        Sphere(2),
        ((0.35, RIDGE), (0.2, BROAD), (0.15, SMALLER), (0.1, SHARP), (0.2, BACKGROUND)),
    ),
    "T³": Target(
        Torus(3),
        (
            (0.45, Angles(-1.0, 2, 0.0, (1.0, 10.0, 30.0))),
            (0.35, Angles(2.0, -1, 2.0, (4.0, 40.0, 8.0))),
            (0.1, Angles(0.5, 1, -1.0, (200.0, 200.0, 100.0))),
            (0.1, Angles(0.0, 1, 0.0, (0.3, 0.3, 0.3))),
        ),
    ),
    "SO(3)": Target(
        SpecialOrthogonal(3),
        (
            (0.25, Rotations((0.5, -0.3, 1.0), (0.03, 0.03, 0.03))),
            (0.3, Rotations((-1.0, 0.7, 0.2), (1.0, 0.08, 0.08))),
            (0.3, Rotations((1.5, 1.5, -0.5), (0.2, 0.3, 0.4))),
            (0.15, Rotations((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))),
        ),
    ),
    "S⁵": Target(
        Sphere(5),
        (
            (0.4, Axes((1.0, 0.7, 0.1, 0.1, 0.05, 0.05), 1)),
            (0.3, Directions((1.0, -1.0, 0.5, 0.0, 0.3, 0.2), 20.0)),
            (0.2, Directions((-1.0, 0.2, 0.1, 1.0, 0.0, -0.4), 200.0)),
            (0.1, Axes((1.0,) * 6, 2)),
        ),
    ),
    "St(4,2)": Target(
        Stiefel(4, 2),
        (
            (0.5, Frames(Axes((1.0, 0.6, 0.2, 0.1), 3), 20.0, 2.0)),
            (0.3, Frames(Directions((0.5, -0.5, 1.0, 0.2), 30.0), 5.0, 0.0)),
            (0.2, Frames(Axes((1.0,) * 4, 4), 0.5, 1.0)),
        ),
    ),
    "SO(4)": Target(
        SpecialOrthogonal(4),
        (
            (0.4, SpaceRotations(Axes((1.0, 0.1, 0.1, 0.1), 5), Axes((1.0, 0.3, 0.1, 0.1), 6))),
            (0.4, SpaceRotations(Axes((1.0, 0.8, 0.2, 0.2), 7), Axes((1.0, 0.2, 0.2, 0.05), 8))),
            (0.2, SpaceRotations(Axes((1.0,) * 4, 9), Axes((1.0,) * 4, 10))),
        ),
    ),
    "mixed": Target(
        Product(Sphere(2), Circle(), PositiveReals(), Naturals()),
        (
            (0.4, Events(RIDGE, 0.0, 6.0, 0.5, 0.4)),
            (0.25, Events(SMALLER, 2.5, 30.0, 2.0, 0.2)),
            (0.2, Events(BROAD, -1.5, 2.0, 1.0, 0.7)),
            (0.15, Events(BACKGROUND, 0.0, 0.5, 0.0, 1.0)),
        ),
    ),
}
