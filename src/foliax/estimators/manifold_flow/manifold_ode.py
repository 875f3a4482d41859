"""Neural ODEs on spheres."""

from __future__ import annotations

import dataclasses
import functools

from jaxtyping import PRNGKeyArray

from ...density import PushForward
from ...flows.field import TanhField
from ...flows.manifold import AbstractBijection, GridFlow, TangentFlow
from ...manifolds import AbstractManifold, Sphere
from ...registry import storable
from ...training import Training
from ..base import unsupported
from .base import AbstractManifoldFlow


@storable("rivals.ManifoldODE", renamed_fields={"validation": "validation_fraction"})
@dataclasses.dataclass(frozen=True)
class ManifoldODE(AbstractManifoldFlow):
    """Neural ODE on a sphere: a tanh network of (x, t) with `depth` hidden layers of `width`.

    Trained on grids of `steps`, with a `cost` for long paths; the fitted density is the ODE's own,
    solved to `rtol` and `atol`.
    `validation_fraction`: the share of the rows that is held out, where none are given.
    """

    width: int = 70
    depth: int = 2
    steps: int = 8
    cost: float = 1e-2
    rtol: float = 1e-6
    atol: float = 1e-6
    max_steps: int = 512
    training: Training = dataclasses.field(default_factory=Training)
    validation_fraction: float = 0.1

    def build(self, manifold: AbstractManifold, *, key: PRNGKeyArray) -> PushForward:
        return PushForward(manifold, bijection(manifold, self, key))


@functools.singledispatch
def bijection(
    manifold: AbstractManifold, estimator: ManifoldODE, key: PRNGKeyArray
) -> AbstractBijection:
    """The untrained flow of a manifold."""
    raise unsupported(estimator, manifold, "spheres")


@bijection.register
def _(manifold: Sphere, estimator: ManifoldODE, key: PRNGKeyArray) -> AbstractBijection:
    field = TanhField(manifold.size, estimator.width, estimator.depth, key=key)
    flow = TangentFlow(field, estimator.rtol, estimator.atol, estimator.max_steps)
    return GridFlow(flow, estimator.steps, estimator.cost)
