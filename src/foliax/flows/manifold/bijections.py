"""What a bijection of a manifold with itself offers, and what conditions its parts."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ...registry import storable

Point = Float[Array, " size"]
Scalar = Float[Array, ""]


class AbstractBijection(eqx.Module):
    """A bijection x ↦ y of a manifold with itself, and the log of how it stretches volume."""

    @abc.abstractmethod
    def forward(self, x: Point) -> tuple[Point, Scalar]:
        """y, and log |dy/dx| in the manifold's measure."""

    @abc.abstractmethod
    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        """x, and log |dx/dy|; its gradients, in y and in the parameters, are exact."""

    @abc.abstractmethod
    def accurate(self) -> AbstractBijection:
        """The same map as it is used after training; itself where training needs no short cut."""


@storable("rivals.Chain")
class Chain(AbstractBijection):
    """One bijection after the other."""

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
    """A free vector, where there is nothing to condition on."""

    value: Float[Array, " p"]

    def __call__(self, features: Float[Array, " 0"]) -> Float[Array, " p"]:
        """The vector."""
        return self.value


Conditioner = Constant | eqx.nn.MLP


def conditioner(
    features: int, start: Float[Array, " p"], width: int, depth: int, *, key: PRNGKeyArray
) -> Conditioner:
    """A SiLU network of `depth` hidden layers, from features to parameters near `start`."""
    if features == 0:
        return Constant(start)
    net = eqx.nn.MLP(features, len(start), width, depth, jax.nn.silu, key=key)
    return eqx.tree_at(
        lambda n: (n.layers[-1].weight, n.layers[-1].bias),
        net,
        (net.layers[-1].weight * 0.1, start),
    )
