"""Tables with a known density, for every kind of column, at every ratio of offset to spread."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy import stats
from scipy.spatial.transform import Rotation
from scipy.special import logsumexp

RATIOS = tuple(10.0**k for k in range(10))
"""Offset / spread: 1 to 1e9."""
FEW_RATIOS = (1.0, 1e3, 1e6, 1e9)
HAAR_VOLUME = 8 * np.pi**2
"""Volume of SO(3) where a small rotation vector has the Euclidean volume."""

Sample = Callable[[np.random.Generator, int], pd.DataFrame]
LogProb = Callable[[pd.DataFrame], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Case:
    """A table with a known density in the user's units.

    Args:
        name: Kind and situation.
        schema: Text of the schema.
        sample: Draws a table.
        log_prob: The true log density of rows of a table.
        weight: Weights of a table's rows; None for equal ones.
    """

    name: str
    schema: str
    sample: Sample
    log_prob: LogProb
    weight: Callable[[pd.DataFrame], np.ndarray] | None = None


def cases() -> Iterator[Case]:
    """Yield every case."""
    for ratio in RATIOS:
        yield normal_column(f"real, offset/spread {ratio:.0e}", "real(x)", ratio)
        yield cells(f"rounded, offset/spread {ratio:.0e}", "rounded(x, step=0.5)", ratio, 0.5)
        yield cells(f"integer, offset/spread {ratio:.0e}", "integer(x)", ratio, 1.0, spread=30.0)
        if ratio >= 10:
            yield normal_column(f"positive, offset/spread {ratio:.0e}", "positive(x)", ratio)
            bounds = f"interval(x, low=0, high={2 * ratio!r})"
            yield normal_column(f"interval, offset/spread {ratio:.0e}", bounds, ratio)
            middle = 0.5 / ratio
            yield normal_column(
                f"fraction, offset/spread {ratio:.0e}", "fraction(x)", ratio, middle / 6
            )
            yield circle(ratio)
            yield rotations(ratio, Rotation.from_rotvec([0.3, -0.2, 0.5]), "")
        yield sphere(ratio, 35.0, 140.0, "")
    yield log_normal()
    for ratio in FEW_RATIOS[1:]:
        yield torsions(ratio)
        yield directions(ratio, "direction")
        yield directions(ratio, "axis")
        yield sphere(ratio, 90.0, 0.0, " at the pole")
        yield sphere(ratio, 10.0, 180.0, " at the date line")
        half_turn = Rotation.from_rotvec(np.pi * np.array([0.6, 0.0, 0.8]))
        yield rotations(ratio, half_turn, " at θ = π")
    for mean in (1.0, 1e2, 1e4, 1e6, 1e9, 1e12):
        yield poisson(mean)
    yield wide_counts()
    yield clusters()
    for far in (1e2, 1e6, 1e9):
        yield far_group(f"real, a quarter of the rows {far:.0e} spreads away", 0.25, far)
    for far in (1e4, 1e8, 1e12):
        yield far_group(f"real, one row in a thousand {far:.0e} spreads away", 0.001, far)
    yield extreme_weights()


def normal_column(name: str, schema: str, ratio: float, spread: float = 1.0) -> Case:
    """One column, normal around `ratio` spreads."""
    centre = ratio * spread if "fraction" not in schema else 0.5

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"x": centre + spread * rng.normal(size=n)})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        return stats.norm.logpdf((table["x"].to_numpy() - centre) / spread) - np.log(spread)

    return Case(name, schema, sample, log_prob)


def far_group(name: str, share: float, far: float) -> Case:
    """One column: two normal groups of spread 1, a large one at 0 and a small one far away."""

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"x": rng.normal(size=n) + far * (rng.uniform(size=n) < share)})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        x = table["x"].to_numpy()
        near = np.log1p(-share) + stats.norm.logpdf(x)
        return np.logaddexp(near, np.log(share) + stats.norm.logpdf(x - far))

    return Case(name, "real(x)", sample, log_prob)


def cells(name: str, schema: str, ratio: float, step: float, spread: float = 1.0) -> Case:
    """One column, normal and then rounded to cells of a step; a probability for integers."""
    centre = step * np.round(ratio * spread / step)
    unit = 1.0 if "integer" in schema else step

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"x": centre + step * np.round(spread * rng.normal(size=n) / step)})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        # From the side of the tail, where the difference keeps its digits.
        off = -np.abs(table["x"].to_numpy() - centre)
        upper, lower = (stats.norm.logcdf((off + side * step / 2) / spread) for side in (1, -1))
        return upper + np.log1p(-np.exp(lower - upper)) - np.log(unit)

    return Case(name, schema, sample, log_prob)


def log_normal() -> Case:
    """A positive column over several orders of magnitude."""

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"x": np.exp(2 * rng.normal(size=n))})

    return Case(
        "positive, log-normal",
        "positive(x)",
        sample,
        lambda table: stats.lognorm.logpdf(table["x"].to_numpy(), 2.0),
    )


def circle(ratio: float) -> Case:
    """An angle in degrees whose spread is 1/ratio radians."""
    centre, spread = 170.0, np.rad2deg(1 / ratio)

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"a": (centre + spread * rng.normal(size=n)) % 360})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        off = (table["a"].to_numpy() - centre + 180) % 360 - 180
        return stats.norm.logpdf(off / spread) - np.log(spread)

    return Case(f"circle, 1/spread {ratio:.0e}", "circle(a, unit=degrees)", sample, log_prob)


def torsions(ratio: float) -> Case:
    """Two angles in degrees whose spreads are 1/ratio radians."""
    one = circle(ratio)

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({name: one.sample(rng, n)["a"] for name in ("phi", "psi")})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        return one.log_prob(pd.DataFrame({"a": table["phi"]})) + one.log_prob(
            pd.DataFrame({"a": table["psi"]})
        )

    schema = "t: torsions(phi, psi, unit=degrees)"
    return Case(f"torsions, 1/spread {ratio:.0e}", schema, sample, log_prob)


def log_fisher(drop: np.ndarray, ratio: float) -> np.ndarray:
    """Von Mises–Fisher log density per steradian, κ = ratio², where 1 − cos θ = drop."""
    kappa = ratio**2
    return np.log(kappa / (2 * np.pi)) - np.log1p(-np.exp(-2 * kappa)) - kappa * drop


def fisher_angles(rng: np.random.Generator, n: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles from the centre and azimuths of von Mises–Fisher draws, exact at every κ."""
    kappa = ratio**2
    drop = -np.log1p(rng.uniform(size=n) * np.expm1(-2 * kappa)) / kappa
    return 2 * np.arcsin(np.sqrt(drop / 2)), rng.uniform(0, 2 * np.pi, n)


def sphere(ratio: float, lat: float, lon: float, place: str) -> Case:
    """Latitudes and longitudes around a place, of spread 1/ratio radians."""
    top = np.deg2rad(lat)

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        angle, azimuth = fisher_angles(rng, n, ratio)
        # Differences from the centre, which keep their digits however small they are.
        north, east = np.sin(angle) * np.cos(azimuth), np.sin(angle) * np.sin(azimuth)
        along = np.cos(angle) * np.cos(top) - north * np.sin(top)
        z = np.cos(angle) * np.sin(top) + north * np.cos(top)
        found_lat = np.rad2deg(np.arctan2(z, np.hypot(along, east)))
        found_lon = (lon + np.rad2deg(np.arctan2(east, along)) + 180) % 360 - 180
        return pd.DataFrame({"lat": found_lat, "lon": found_lon})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        up = np.deg2rad(table["lat"].to_numpy() - lat)
        turn = np.deg2rad(table["lon"].to_numpy() - lon)
        both = np.cos(top) * np.cos(np.deg2rad(table["lat"].to_numpy()))
        drop = 2 * (np.sin(up / 2) ** 2 + both * np.sin(turn / 2) ** 2)
        return log_fisher(drop, ratio)

    name = f"sphere, 1/spread {ratio:.0e}{place}"
    return Case(name, "sphere(lat=lat, lon=lon)", sample, log_prob)


def directions(ratio: float, kind: str) -> Case:
    """Unit vectors, or axes of either sign, of spread 1/ratio."""
    centre = np.array([0.48, -0.6, 0.64])
    basis = np.linalg.svd(centre[None])[2][1:]

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        angle, azimuth = fisher_angles(rng, n, ratio)
        flat = np.sin(angle)[:, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
        found = np.cos(angle)[:, None] * centre + flat @ basis
        sign = rng.choice([-1.0, 1.0], (n, 1)) if kind == "axis" else 1.0
        return pd.DataFrame(sign * found, columns=list("xyz"))

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        rows = table.to_numpy()
        rows = rows * np.sign(rows @ centre)[:, None] if kind == "axis" else rows
        drop = ((rows - centre) ** 2).sum(1) / 2
        return log_fisher(drop, ratio)

    return Case(f"{kind}, 1/spread {ratio:.0e}", f"{kind}(x, y, z)", sample, log_prob)


def rotations(ratio: float, centre: Rotation, place: str) -> Case:
    """Quaternions whose rotation vectors from the centre are normal, of spread 1/ratio."""
    spread = 1 / max(ratio, 3.0)

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        turns = Rotation.from_rotvec(spread * rng.normal(size=(n, 3))) * centre
        return pd.DataFrame(turns.as_quat(scalar_first=True), columns=list("wxyz"))

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        turns = Rotation.from_quat(table.to_numpy(), scalar_first=True)
        vectors = (turns * centre.inv()).as_rotvec()
        angle = np.linalg.norm(vectors, axis=1)
        volume = np.sinc(angle / (2 * np.pi)) ** 2
        normal = stats.norm.logpdf(vectors / spread).sum(1) - 3 * np.log(spread)
        return normal - np.log(volume) + np.log(HAAR_VOLUME)

    schema = "quaternion(w=w, x=x, y=y, z=z)"
    return Case(f"quaternion, 1/spread {1 / spread:.0e}{place}", schema, sample, log_prob)


def poisson(mean: float) -> Case:
    """Counts of a mean; those of 1e12 have a spread of 1e6."""

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"n": rng.poisson(mean, n)})

    return Case(
        f"count, Poisson({mean:.0e})",
        "count(n)",
        sample,
        lambda table: stats.poisson.logpmf(table["n"].to_numpy(), mean),
    )


def wide_counts() -> Case:
    """Log-normal counts between 1 and about 1e12."""
    centre, spread = np.log(1e6), 4.0

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"n": np.floor(np.exp(centre + spread * rng.normal(size=n)))})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        n = table["n"].to_numpy().astype(float)
        with np.errstate(divide="ignore"):
            low, high = ((np.log(edge) - centre) / spread for edge in (n, n + 1))
            wide = np.log(stats.norm.cdf(high) - stats.norm.cdf(low))
        narrow = stats.norm.logpdf((np.log(n + 0.5) - centre) / spread) - np.log(spread * (n + 0.5))
        return np.where(n > 1e4, narrow, wide)

    return Case("count, log-normal to 1e12", "count(n)", sample, log_prob)


def clusters() -> Case:
    """Two clusters of deviation 1e-7 that are 1e-6 apart, far from zero."""
    centres, spread = 5.0 + np.array([0.0, 1e-6]), 1e-7

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"x": centres[rng.integers(0, 2, n)] + spread * rng.normal(size=n)})

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        off = (table["x"].to_numpy()[:, None] - centres) / spread
        return np.asarray(logsumexp(stats.norm.logpdf(off) - np.log(2 * spread), axis=1))

    return Case("real, clusters 1e-6 apart", "real(x)", sample, log_prob)


def extreme_weights() -> Case:
    """Half of the rows are far away, with weights of 1e-12."""
    plain = normal_column("", "real(x)", 1.0)

    def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
        table = plain.sample(rng, n)
        table.loc[::2, "x"] += 50.0
        return table

    def log_prob(table: pd.DataFrame) -> np.ndarray:
        return plain.log_prob(table)

    def weight(table: pd.DataFrame) -> np.ndarray:
        return np.where(table["x"].to_numpy() > 25, 1e-12, 1.0)

    return Case("real, weights of 1 and 1e-12", "real(x)", sample, log_prob, weight)
