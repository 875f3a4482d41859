"""The model in pictures: what turns, every factor, samples against data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .. import plots
from ..density import AbstractDensity, Dataset
from ..estimators import ScaleMixtureKernel, UnsupportedManifoldError
from ..manifolds import AbstractManifold
from ..tables import Schema
from . import markup as m

DRAWS = 3000
"""Samples that a kernel estimate is made of, where a factor is drawn by its density."""


class Drawn(AbstractDensity):
    """Samples that stand for a density without a formula, such as the marginal of a product."""

    manifold: AbstractManifold
    rows: Float[Array, "n size"]

    def _sample(self, *, condition: Any = None, key: PRNGKeyArray) -> Array:
        return self.rows[jax.random.randint(key, (), 0, len(self.rows))]

    def _log_prob(self, y: Array, *, condition: Any = None, key: PRNGKeyArray | None = None):
        raise NotImplementedError("These are samples: their density has no formula.")

    @property
    def work(self) -> int:
        return 1

    def refine(self) -> Drawn:
        return self


class Part(NamedTuple):
    """A factor of the schema: its density and its data.

    `view`: how to draw it, where that is not the usual. `how`: where the density comes from.
    """

    name: str
    schema: Schema
    density: AbstractDensity
    rows: np.ndarray | None
    view: str | None = None
    how: str = ""

    @property
    def title(self) -> str:
        """What a caption calls it."""
        return f"{self.name}, {self.how}" if self.how else self.name


def parts(
    density: AbstractDensity,
    schema: Schema,
    drawn: np.ndarray,
    rows: np.ndarray | None,
    key: PRNGKeyArray,
) -> Iterator[Part]:
    """Every factor; those of a product by the samples of the model."""
    if len(schema.factors) == 1:
        yield Part(schema.factors[0].name, schema, density, rows)
        return
    ends = np.cumsum([factor.kind.manifold().size for factor in schema.factors])[:-1]
    data = [None] * len(schema.factors) if rows is None else np.split(rows, ends, axis=1)
    for factor, own, seen in zip(schema.factors, np.split(drawn, ends, axis=1), data, strict=True):
        alone = Schema((factor,))
        found = None if alone.manifold().dim == 1 else _smoothed(alone.manifold(), own, key)
        if found is None:
            bare = Drawn(alone.manifold(), jnp.asarray(own))
            yield Part(factor.name, alone, bare, seen, "pair", "samples against data")
        else:
            how = f"a kernel estimate of {DRAWS:,} samples of the model"
            yield Part(factor.name, alone, found, seen, None, how)


def _smoothed(manifold: AbstractManifold, drawn: np.ndarray, key) -> AbstractDensity | None:
    """A kernel estimate, where kernels serve the manifold."""
    try:
        return ScaleMixtureKernel().fit(Dataset(drawn[:DRAWS], manifold), key=key).density
    except UnsupportedManifoldError:
        return None


def turning(part: Part, key: PRNGKeyArray) -> str:
    """The interactive view of a factor, where it has one."""
    if part.view is not None:
        return ""
    try:
        view = plots.interactive(
            part.density, part.rows, **part.schema.axes(), key=key, title=part.title
        )
    except plots.NoInteractiveViewError:
        return ""
    return plots.interactive_html(view)


def still(part: Part, key: PRNGKeyArray) -> str:
    """A factor's density with its data."""
    figure = plots.draw(part.density, part.rows, **part.schema.axes(), view=part.view, key=key)
    return m.picture(figure, part.title, vector=False)


def pairs(schema: Schema, drawn: np.ndarray, rows: np.ndarray | None, key: PRNGKeyArray) -> str:
    """Samples against data, every coordinate and every pair; nothing where `still` shows that."""
    if len(schema.factors) == 1 and next(iter(plots.views(schema.manifold()))) == "pair":
        return ""
    bare = Drawn(schema.manifold(), jnp.asarray(drawn))
    figure = plots.draw(bare, rows, **schema.axes(), view="pair", key=key)
    caption = "Samples of the model against the data, for every coordinate and every pair."
    return m.picture(figure, caption, vector=False)
