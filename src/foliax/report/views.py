"""The report's figures: interactive and static ones of every factor, and the pair plot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from .. import plots
from ..density import AbstractDensity, Dataset
from ..estimators import ScaleMixtureKernel, UnsupportedManifoldError
from ..manifolds import AbstractManifold
from ..tables import Schema
from . import markup as m

KERNEL_SAMPLES = 3000
"""Samples for the kernel estimate of a factor's density; it takes a second."""


class SampledDensity(AbstractDensity):
    """Samples in place of a density without a formula, such as the marginal of a product."""

    manifold: AbstractManifold
    rows: Float[Array, "n size"]

    def _sample(self, *, condition: Any = None, key: PRNGKeyArray) -> Array:
        return self.rows[jax.random.randint(key, (), 0, len(self.rows))]

    def sample_rows(self, keys: Key[Array, " n"], *, condition: Any = None) -> np.ndarray:
        # NumPy draws them, since JAX would compile a program for every manifold.
        seeds = np.asarray(jax.random.key_data(keys)).ravel()
        rows = np.asarray(self.rows)
        return rows[np.random.default_rng(seeds).integers(len(rows), size=len(keys))]

    def _log_prob(self, y: Array, *, condition: Any = None, key: PRNGKeyArray | None = None):
        raise NotImplementedError("A SampledDensity has samples only, no log density.")

    @property
    def work(self) -> int:
        return 1

    def refine(self) -> SampledDensity:
        return self


class Part(NamedTuple):
    """A factor of the schema with its density and its data.

    Attributes:
        name: the factor's name.
        schema: the schema of this factor only.
        density: density of the factor.
        rows: data of the factor; None for no data.
        view: the view to draw; None for the default.
        source: what the density is made from; "" for the model itself.
    """

    name: str
    schema: Schema
    density: AbstractDensity
    rows: np.ndarray | None
    view: str | None = None
    source: str = ""

    @property
    def title(self) -> str:
        """Caption of the factor's figures."""
        return f"{self.name}: {self.source}" if self.source else self.name


def parts(
    density: AbstractDensity,
    schema: Schema,
    samples: np.ndarray,
    rows: np.ndarray | None,
    key: PRNGKeyArray,
) -> Iterator[Part]:
    """All factors of the schema; samples of the model give the marginals of a product."""
    if len(schema.factors) == 1:
        yield Part(schema.factors[0].name, schema, density, rows)
        return
    ends = np.cumsum([factor.kind.manifold().size for factor in schema.factors])[:-1]
    data = [None] * len(schema.factors) if rows is None else np.split(rows, ends, axis=1)
    marginals = np.split(samples, ends, axis=1)
    for factor, own, own_rows in zip(schema.factors, marginals, data, strict=True):
        own_schema = Schema((factor,))
        manifold = own_schema.manifold()
        found = None if manifold.dim == 1 else _fit_kernel(manifold, own, key)
        if found is None:
            sampled = SampledDensity(manifold, jnp.asarray(own))
            source = "samples of the model and the data"
            yield Part(factor.name, own_schema, sampled, own_rows, "pair", source)
        else:
            source = f"kernel estimate from {KERNEL_SAMPLES:,} samples of the model"
            yield Part(factor.name, own_schema, found, own_rows, None, source)


def _fit_kernel(manifold: AbstractManifold, samples: np.ndarray, key) -> AbstractDensity | None:
    """A kernel estimate; None if kernels do not support the manifold."""
    try:
        return (
            ScaleMixtureKernel().fit(Dataset(samples[:KERNEL_SAMPLES], manifold), key=key).density
        )
    except UnsupportedManifoldError:
        return None


def interactive_figure(part: Part, key: PRNGKeyArray) -> str:
    """The interactive view of a factor as HTML; "" if it has none."""
    if part.view is not None:
        return ""
    try:
        view = plots.interactive(
            part.density, part.rows, **part.schema.axes(), key=key, title=part.title
        )
    except plots.NoInteractiveViewError:
        return ""
    return plots.interactive_html(view)


def static_figure(part: Part, key: PRNGKeyArray) -> str:
    """The density of a factor with its data as HTML."""
    figure = plots.draw(part.density, part.rows, **part.schema.axes(), view=part.view, key=key)
    return m.picture(figure, part.title, vector=False)


def pair_figure(
    schema: Schema, samples: np.ndarray, rows: np.ndarray | None, key: PRNGKeyArray
) -> str:
    """The pair plot of all columns as HTML; "" if `static_figure` already shows it."""
    if len(schema.factors) == 1 and next(iter(plots.views(schema.manifold()))) == "pair":
        return ""
    sampled = SampledDensity(schema.manifold(), jnp.asarray(samples))
    figure = plots.draw(sampled, rows, **schema.axes(), view="pair", key=key)
    caption = "Samples of the model and the data, for every column and every pair of columns."
    return m.picture(figure, caption, vector=False)
