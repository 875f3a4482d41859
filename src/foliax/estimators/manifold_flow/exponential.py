"""Flows on R³ pushed to SO(3) by the exponential map."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ... import dequantizers
from ...density import Dataset, DequantizedDensity
from ...flows import AbstractAmbientSpec, InBall, SplineCoupling
from ...manifolds import AbstractManifold, ExponentialMap, SpecialOrthogonal
from ...registry import storable
from ...training import Callback, Training
from ..base import AbstractEstimator, FitResult, unsupported
from .base import fit_by_likelihood


@storable("rivals.ExponentialFlow", renamed_fields={"validation": "validation_fraction"})
@dataclasses.dataclass(frozen=True)
class ExponentialFlow(AbstractEstimator):
    """SO(3) by a flow on rotation vectors in the ball of `radius`, the branches summed exactly.

    Rotations by more than π are those by less about the opposite axis; a radius between π and 2π
    lets the two meet without a seam, has no mass outside the branches, and stays off 2π, where the
    exponential map is singular. `validation_fraction`: the share of the rows that is held out,
    where none are given. Falorsi et al. 2019.
    """

    ambient: AbstractAmbientSpec = dataclasses.field(default_factory=SplineCoupling)
    radius: float = 1.6 * math.pi
    training: Training = dataclasses.field(default_factory=Training)
    validation_fraction: float = 0.1

    def __post_init__(self):
        if not math.pi < self.radius < 2 * math.pi:
            raise ValueError(f"ExponentialFlow needs π < radius < 2π, got {self.radius:.4g}.")

    def build(self, manifold: AbstractManifold, *, key: PRNGKeyArray) -> DequantizedDensity:
        """The untrained density."""
        g = rotation_vectors(manifold, self)
        k1, k2 = jax.random.split(key)
        flow = self.ambient.build(3, shift=jnp.zeros(3), scale=jnp.full(3, 2.0), key=k1)
        nothing = dequantizers.build(dequantizers.HeavyTailed(), g, key=k2)
        return DequantizedDensity(g, InBall(flow, self.radius), nothing)

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[DequantizedDensity]:
        build_key, train_key = jax.random.split(key)
        return fit_by_likelihood(
            self.build(data.manifold, key=build_key),
            data,
            key=train_key,
            training=self.training,
            validation_fraction=self.validation_fraction,
            validation=validation,
            callbacks=callbacks,
        )


@functools.singledispatch
def rotation_vectors(manifold: AbstractManifold, estimator: ExponentialFlow) -> ExponentialMap:
    """The exponential map onto a manifold."""
    raise unsupported(estimator, manifold, "SO(3)")


@rotation_vectors.register
def _(manifold: SpecialOrthogonal, estimator: ExponentialFlow) -> ExponentialMap:
    if manifold.n != 3:
        raise unsupported(estimator, manifold, "SO(3)")
    return ExponentialMap(manifold, window=1)
