"""Autoregressive monotone splines, the universal family of the paper's last appendix."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax.random as jr
from flowjax.bijections import AbstractBijection, Chain, Flip, MaskedAutoregressive
from jaxtyping import PRNGKeyArray

from foliax.flows.adapter import flow_to_normal, near_identity
from foliax.flows.base import AbstractAmbient
from foliax.flows.coupling import find_activation
from foliax.flows.spec import AbstractAmbientSpec
from foliax.flows.transformers import SplineTransformer, use_transformer
from foliax.registry import storable


@storable("ambient.AutoregressiveSpline")
@dataclasses.dataclass(frozen=True)
class AutoregressiveSpline(AbstractAmbientSpec):
    """x_i ↦ spline(x_i; x_1, …, x_{i−1}) by a masked network; layers alternate with reversals.

    `log_prob` is one pass, `sample` takes m. Papamakarios et al. 2017, with the splines of Durkan
    et al. 2019.

    Args:
        layers: The number of layers.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        knots: The number of knots of each spline.
        interval: Splines act on [−interval, interval] in scaled coordinates, which holds almost all
            data at the default.
        activation: The activation, one of "relu", "silu" and "tanh".
    """

    takes_condition: ClassVar[bool] = True

    layers: int = 3
    width: int = 40
    depth: int = 2
    knots: int = 8
    interval: float = 5.0
    activation: str = "relu"

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        if dim < 2:
            raise ValueError(
                "AutoregressiveSpline needs at least two coordinates. "
                "In one dimension use GaussianMixture or an ODE."
            )
        activation = find_activation(self.activation)
        transformer = SplineTransformer.build(self.knots, self.interval)
        bijections: list[AbstractBijection] = []
        for layer_key in jr.split(key, self.layers):
            layer = MaskedAutoregressive(
                layer_key,
                transformer=transformer.initial(),
                dim=dim,
                cond_dim=condition_size or None,
                nn_width=self.width,
                nn_depth=self.depth,
                nn_activation=activation,
            )
            where = lambda m: m.masked_autoregressive_mlp  # noqa: E731
            bijections.append(eqx.tree_at(where, layer, replace_fn=near_identity))
            bijections.append(Flip((dim,)))
        chain = use_transformer(Chain(bijections), transformer)
        return flow_to_normal(chain)
