"""What training minimises: bounds on −log p(y), with low-variance gradients."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..density import AbstractDensity, DequantizedDensity
from ..density.integrate import open_uniform
from ..registry import storable

Rows = Float[Array, "n size"]
Weights = Float[Array, " n"]
Point = Float[Array, " size"]
Scalar = Float[Array, ""]


class AbstractObjective(abc.ABC):
    """A loss of a density on weighted rows: a frozen dataclass of numbers."""

    @abc.abstractmethod
    def value_and_grad(
        self, params: PyTree, static: PyTree, rows: Rows, weights: Weights, *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], PyTree]:
        """The weighted mean loss of `eqx.combine(params, static)` and its gradient in params."""

    @abc.abstractmethod
    def log_score(self, model: Any, y: Point, *, samples: int, key: PRNGKeyArray) -> Scalar:
        """What validation sees of a held-out y: log p(y), or a bound on it by `samples` z."""


@storable("fit.ELBO")
@dataclasses.dataclass(frozen=True)
class ELBO(AbstractObjective):
    """−E_q log w, with `samples` z for each row: the paper's eq. (evidence lower bound).

    `cost`: weight of the ambient path's cost. `over_branches`: the paper's own bound for SO(n),
    which averages log over the branches too and drops log(branches).
    """

    samples: int = 1
    cost: float = 1e-3
    over_branches: bool = False

    def value_and_grad(self, params, static, rows, weights, *, key):
        def loss(params):
            model = paramax.unwrap(eqx.combine(params, static))
            z = draw(model, rows, self.samples, key)
            log_w, cost = log_weights(model, rows, z, over_branches=self.over_branches)
            return -(weights * log_w.mean(1)).mean() + self.cost * cost

        return jax.value_and_grad(loss)(params)

    def log_score(self, model, y, *, samples, key):
        return log_bound(model, y, samples, key)


@storable("fit.ImportanceWeighted")
@dataclasses.dataclass(frozen=True)
class ImportanceWeighted(AbstractObjective):
    """−log (1/K) Σ_k w_k: the paper's eq. (log-likelihood), K = `samples`.

    Its gradient in q's parameters is doubly reparameterised (Tucker et al. 2019): through z only,
    each path weighted by the square of its normalised weight. That of the plain estimate has a
    signal-to-noise ratio that falls with K. The small part of it that is the cost's way through z
    is weighted along, which spares a second pass.
    """

    samples: int = 8
    cost: float = 1e-3

    def value_and_grad(self, params, static, rows, weights, *, key):
        def drawn(params):
            return draw(paramax.unwrap(eqx.combine(params, static)), rows, self.samples, key)

        def weighed(params, z):
            model = paramax.unwrap(eqx.combine(params, static))
            return log_weights(
                eqx.tree_at(lambda m: m.dequantizer, model, replace_fn=frozen), rows, z
            )

        z, pull_z = jax.vjp(drawn, params)
        (log_w, cost), pull_w = jax.vjp(weighed, params, z)
        share = jax.nn.softmax(log_w, axis=1)
        mean_share = -(weights[:, None] * share) / len(rows)
        by_params, by_z = pull_w((mean_share, jnp.full_like(cost, self.cost)))
        (by_noise,) = pull_z(by_z * share[:, :, None])
        bound = jax.nn.logsumexp(log_w, axis=1) - jnp.log(self.samples)
        value = -(weights * bound).mean() + self.cost * cost
        return value, jax.tree.map(jnp.add, by_params, by_noise)

    def log_score(self, model, y, *, samples, key):
        return log_bound(model, y, samples, key)


@storable("fit.Likelihood")
@dataclasses.dataclass(frozen=True)
class Likelihood(AbstractObjective):
    """−log p(y), for densities whose `log_prob` is exact."""

    def value_and_grad(self, params, static, rows, weights, *, key):
        def loss(params):
            model = paramax.unwrap(eqx.combine(params, static))
            return -(weights * jax.vmap(lambda y: model.log_prob(y).value)(rows)).mean()

        return jax.value_and_grad(loss)(params)

    def log_score(self, model, y, *, samples, key):
        return model.log_prob(y).value


@dataclasses.dataclass(frozen=True)
class OwnSamples(AbstractObjective):
    """−log q(z | y) of (y, z) = G(x): what q(z | y) learns from ambient points x, and nothing else.

    With x of the flow itself, q(z | y) comes near p(z | y) wherever the flow has mass, and covers
    it rather than keeping to its middle: the sleep phase of Hinton et al. 1995.
    """

    def value_and_grad(self, params, static, rows, weights, *, key):
        def loss(dequantizer):
            model = eqx.combine(eqx.tree_at(lambda m: m.dequantizer, params, dequantizer), static)
            logs = jax.vmap(lambda x: self.log_score(paramax.unwrap(model), x))(rows)
            return -(weights * logs).mean()

        value, gradient = jax.value_and_grad(loss)(params.dequantizer)
        still = jax.tree.map(jnp.zeros_like, params)
        return value, eqx.tree_at(lambda m: m.dequantizer, still, gradient)

    def log_score(self, model, y, *, samples=1, key=None):
        y, z = model.dequantization.quantize(y)
        return model.dequantizer.log_prob(model.manifold.features(y), z)


class ReverseKL(eqx.Module, AbstractObjective):
    """E_q[log q − log p], for a target p known up to a constant and a q that pushes a base forward.

    The rows are draws of the base; `model.push(x)` gives (y, log q(y)), differentiable.
    """

    target: AbstractDensity

    def value_and_grad(self, params, static, rows, weights, *, key):
        def loss(params):
            model = paramax.unwrap(eqx.combine(params, static))
            y, log_q = jax.vmap(model.push)(rows)
            log_p = jax.vmap(lambda y: self.target.log_prob(y).value)(y)
            return (weights * (log_q - log_p)).mean()

        return jax.value_and_grad(loss)(params)

    def log_score(self, model, y, *, samples, key):
        return model.log_prob(y).value


def frozen(tree: PyTree) -> PyTree:
    """The same values, constant to autodiff."""
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.lax.stop_gradient(arrays), rest)


def draw(
    model: DequantizedDensity, rows: Rows, samples: int, key: PRNGKeyArray
) -> Float[Array, "n s k"]:
    """`samples` auxiliaries z ~ q(· | y) for every row."""
    shape = (len(rows), samples, model.dequantization.auxiliary.size)
    v = open_uniform(key, shape, rows.dtype)

    def one(y, v):
        features = model.manifold.features(y)
        return jax.vmap(lambda v: model.dequantizer.transform(features, v))(v)

    return jax.vmap(one)(rows, v)


def log_bound(model: DequantizedDensity, y: Point, samples: int, key: PRNGKeyArray) -> Scalar:
    """log (1/K) Σ_k w_k of one row, K = `samples`."""
    z = draw(model, y[None], samples, key)
    return jax.nn.logsumexp(log_weights(model, y[None], z)[0]) - jnp.log(samples)


def log_weights(
    model: DequantizedDensity, rows: Rows, z: Float[Array, "n s k"], *, over_branches: bool = False
) -> tuple[Float[Array, "n s"], Float[Array, ""]]:
    """log w of every row and z, and the mean cost of the ambient paths."""

    # Without auxiliaries all samples of a row are one.
    distinct = z if z.shape[2] else z[:, :1]

    def pairs(function):
        return jax.vmap(jax.vmap(function, (None, 0)))(rows, distinct)

    x, log_volume = pairs(model.dequantization.preimages)
    # In one flat batch: matrix products with several batch axes take up to three times as long.
    log_prob, cost = jax.vmap(model.ambient.log_prob_and_cost)(x.reshape(-1, x.shape[-1]))
    branches = log_prob.reshape(log_volume.shape) + log_volume
    log_q = pairs(lambda y, z: model.dequantizer.log_prob(model.manifold.features(y), z))
    joint = branches.mean(2) if over_branches else jax.nn.logsumexp(branches, axis=2)
    return jnp.broadcast_to(joint - log_q, z.shape[:2]), cost.mean()
