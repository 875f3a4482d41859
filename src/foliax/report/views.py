"""The model in pictures: what turns, every factor, samples against data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .. import plots
from ..density import AbstractDensity
from ..manifolds import AbstractManifold
from ..metrics import samples
from ..rivals import ScaleMixtureKernel
from ..specs import UnsupportedManifoldError
from ..tables import Schema
from . import markup as m

DRAWS = 3000


class Marginal(AbstractDensity):
    """A factor of a product, the others integrated out: its samples are those of the whole, cut."""

    manifold: AbstractManifold
    whole: AbstractDensity
    start: int = eqx.field(static=True)

    def sample(self, *, context: Any = None, key: PRNGKeyArray) -> Array:
        drawn = self.whole.sample(context=context, key=key)
        return drawn[self.start : self.start + self.manifold.size]

    def log_prob(self, y: Array, *, context: Any = None, key: PRNGKeyArray | None = None):
        raise NotImplementedError("A marginal of a product has samples, but no formula.")

    @property
    def work(self) -> int:
        return self.whole.work

    def refined(self) -> Marginal:
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
    density: AbstractDensity, schema: Schema, rows: np.ndarray | None, key: PRNGKeyArray
) -> Iterator[Part]:
    """Every factor; those of a product by the model's own samples."""
    if len(schema.factors) == 1:
        yield Part(schema.factors[0].name, schema, density, rows)
        return
    ends = np.cumsum([factor.kind.manifold().size for factor in schema.factors])
    data = [None] * len(ends) if rows is None else np.split(rows, ends[:-1], axis=1)
    for factor, end, own in zip(schema.factors, ends, data, strict=True):
        alone = Schema((factor,))
        manifold = alone.manifold()
        marginal = Marginal(manifold, density, int(end) - manifold.size)
        if manifold.dim == 1:
            yield Part(factor.name, alone, marginal, own, "pair", "samples against data")
            continue
        k1, k2 = jax.random.split(key)
        try:
            fitted = ScaleMixtureKernel().fit(manifold, samples(marginal, DRAWS, key=k1), key=k2)
        except UnsupportedManifoldError:
            yield Part(factor.name, alone, marginal, own, "pair", "samples against data")
            continue
        how = f"the other columns integrated out by {DRAWS:,} samples"
        yield Part(factor.name, alone, fitted.density, own, None, how)


def turning(part: Part, key: PRNGKeyArray) -> str:
    """The interactive view of a factor, where it has one."""
    if part.view is not None:
        return ""
    try:
        view = plots.interactive(
            part.density, part.rows, **part.schema.axes(), key=key, title=part.title
        )
    except ValueError:
        return ""
    return plots.interactive_html(view)


def still(part: Part, key: PRNGKeyArray) -> str:
    """A factor's density with its data."""
    figure = plots.draw(part.density, part.rows, **part.schema.axes(), view=part.view, key=key)
    return m.picture(figure, part.title, vector=False)


def pairs(
    density: AbstractDensity, schema: Schema, rows: np.ndarray | None, key: PRNGKeyArray
) -> str:
    """Samples against data, every coordinate and every pair."""
    figure = plots.draw(density, rows, **schema.axes(), view="pair", key=key)
    caption = "Samples of the model against the data, for every coordinate and every pair."
    return m.picture(figure, caption, vector=False)
