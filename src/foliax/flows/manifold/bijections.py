"""The interface of bijections of a manifold, and the networks that condition their parts."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ...registry import storable

Point = Float[Array, " size"]
Scalar = Float[Array, ""]


class AbstractBijection(eqx.Module):
    """A bijection x ↦ y of a manifold with itself, with the log of its change of volume."""

    @abc.abstractmethod
    def forward(self, x: Point) -> tuple[Point, Scalar]:
        """Compute y, and log |dy/dx| in the manifold's measure."""

    @abc.abstractmethod
    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        """Compute x, and log |dx/dy|, with exact gradients in y and in the parameters."""

    @abc.abstractmethod
    def accurate(self) -> AbstractBijection:
        """The map to use after training; itself unless training uses an approximation."""


@storable("rivals.Chain")
class Chain(AbstractBijection):
    """Bijections applied one after the other.

    Args:
        layers: The bijections; `forward` applies the first one first.
    """

    layers: tuple[AbstractBijection, ...]

    def forward(self, x: Point) -> tuple[Point, Scalar]:
        x, log_stretch = self.layers[0].forward(x)
        for layer in self.layers[1:]:
            x, more = layer.forward(x)
            log_stretch = log_stretch + more
        return x, log_stretch

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        y, log_stretch = self.layers[-1].inverse(y)
        for layer in reversed(self.layers[:-1]):
            y, more = layer.inverse(y)
            log_stretch = log_stretch + more
        return y, log_stretch

    def accurate(self) -> Chain:
        return Chain(tuple(layer.accurate() for layer in self.layers))


@storable("rivals.Constant")
class Constant(eqx.Module):
    """A trainable vector in place of a network, where there are no features."""

    value: Float[Array, " p"]

    def __call__(self, features: Float[Array, " 0"]) -> Float[Array, " p"]:
        """Return the vector."""
        return self.value


Conditioner = Constant | eqx.nn.MLP


def conditioner(
    features: int, start: Float[Array, " p"], width: int, depth: int, *, key: PRNGKeyArray
) -> Conditioner:
    """Build a SiLU network whose output starts near given parameters.

    Args:
        features: The number of inputs; 0 gives a `Constant`.
        start: The parameters.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        key: Initialises the weights.

    Returns:
        The network.
    """
    if features == 0:
        return Constant(start)
    net = eqx.nn.MLP(features, len(start), width, depth, jax.nn.silu, key=key)
    return eqx.tree_at(
        lambda n: (n.layers[-1].weight, n.layers[-1].bias),
        net,
        (net.layers[-1].weight * 0.1, start),
    )
