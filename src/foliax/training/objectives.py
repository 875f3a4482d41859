"""What training minimises: bounds on −log p(y), with low-variance gradients."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, Key, PRNGKeyArray, PyTree

from ..density import AbstractDensity, DequantizedDensity
from ..density.integrate import open_uniform
from ..registry import storable
from .rows import Batch

Condition = Float[Array, " c"] | None
Point = Float[Array, " size"]
Scalar = Float[Array, ""]


class AbstractObjective(abc.ABC):
    """A loss of a density on weighted rows: a frozen dataclass of numbers."""

    @property
    def samples_per_row(self) -> int:
        """How many z the loss of one row takes."""
        return 1

    @abc.abstractmethod
    def value_and_grad(
        self, params: PyTree, static: PyTree, batch: Batch, *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], PyTree]:
        """The weighted mean loss of `eqx.combine(params, static)` and its gradient in params."""

    @abc.abstractmethod
    def log_scores(
        self, model: Any, batch: Batch, *, samples: int, keys: Key[Array, " n"]
    ) -> Float[Array, " n"]:
        """Score held-out rows for validation: log p(y), or a bound on it from `samples` z."""


@storable("fit.ELBO")
@dataclasses.dataclass(frozen=True)
class ELBO(AbstractObjective):
    """The evidence lower bound −E_q log w; Brofos et al. 2021.

    Args:
        samples: How many z for each row.
        cost: Weight of the ambient path's cost.
        over_branches: Use the paper's bound for SO(n), which also averages the logarithm over the
            branches and drops log(branches).
    """

    samples: int = 1
    cost: float = 1e-3
    over_branches: bool = False

    @property
    def samples_per_row(self) -> int:
        return self.samples

    def value_and_grad(self, params, static, batch, *, key):
        def loss(params):
            model = paramax.unwrap(eqx.combine(params, static))
            z = draw(model, batch, self.samples, key)
            log_w, cost = log_weights(model, batch, z, over_branches=self.over_branches)
            return -(batch.weights * log_w.mean(1)).mean() + self.cost * cost

        return jax.value_and_grad(loss)(params)

    def log_scores(self, model, batch, *, samples, keys):
        return log_bounds(model, batch, samples, keys)


@storable("fit.ImportanceWeighted")
@dataclasses.dataclass(frozen=True)
class ImportanceWeighted(AbstractObjective):
    """The importance-weighted bound −log (1/K) Σ_k w_k; Brofos et al. 2021.

    Its gradient in the parameters of q is doubly reparameterised (Tucker et al. 2019): it goes
    through z only, and each path has the square of its normalised weight. The signal-to-noise ratio
    of the plain gradient falls with K. The gradient of the cost through z gets the same weights,
    which saves a second pass.

    Args:
        samples: K, the number of z for each row.
        cost: Weight of the ambient path's cost.
    """

    samples: int = 8
    cost: float = 1e-3

    @property
    def samples_per_row(self) -> int:
        return self.samples

    def value_and_grad(self, params, static, batch, *, key):
        def sample_z(params):
            return draw(paramax.unwrap(eqx.combine(params, static)), batch, self.samples, key)

        def weigh(params, z):
            model = paramax.unwrap(eqx.combine(params, static))
            return log_weights(
                eqx.tree_at(lambda m: m.dequantizer, model, replace_fn=frozen), batch, z
            )

        z, pull_z = jax.vjp(sample_z, params)
        (log_w, cost), pull_w = jax.vjp(weigh, params, z)
        share = jax.nn.softmax(log_w, axis=1)
        mean_share = -(batch.weights[:, None] * share) / len(batch.rows)
        by_params, by_z = pull_w((mean_share, jnp.full_like(cost, self.cost)))
        (by_noise,) = pull_z(by_z * share[:, :, None])
        bound = jax.nn.logsumexp(log_w, axis=1) - jnp.log(self.samples)
        value = -(batch.weights * bound).mean() + self.cost * cost
        return value, jax.tree.map(jnp.add, by_params, by_noise)

    def log_scores(self, model, batch, *, samples, keys):
        return log_bounds(model, batch, samples, keys)


@storable("fit.Likelihood")
@dataclasses.dataclass(frozen=True)
class Likelihood(AbstractObjective):
    """−log p(y), for densities whose `log_prob` is exact."""

    def value_and_grad(self, params, static, batch, *, key):
        def loss(params):
            model = paramax.unwrap(eqx.combine(params, static))
            return -(batch.weights * log_probs(model, batch)).mean()

        return jax.value_and_grad(loss)(params)

    def log_scores(self, model, batch, *, samples=1, keys=None):
        return log_probs(model, batch)


@storable("fit.MemberLikelihood")
@dataclasses.dataclass(frozen=True)
class MemberLikelihood(AbstractObjective):
    """−mean_k log p_k(y): trains the members of `Members` side by side, each as if it were alone.

    Held-out rows score the mean of the densities, which is what is used in the end.
    """

    def value_and_grad(self, params, static, batch, *, key):
        def loss(params):
            model = paramax.unwrap(eqx.combine(params, static))
            return -(batch.weights * model.log_prob_each(batch.rows, batch.condition)).mean()

        return jax.value_and_grad(loss)(params)

    def log_scores(self, model, batch, *, samples=1, keys=None):
        return log_probs(model, batch)


@dataclasses.dataclass(frozen=True)
class OwnSamples(AbstractObjective):
    """−log q(z | y) of (y, z) = G(x), which trains q(z | y) only; the rows are ambient points x.

    If the flow draws x, q(z | y) approaches p(z | y) wherever the flow has mass, and covers it
    instead of its middle: the sleep phase of Hinton et al. 1995.
    """

    def value_and_grad(self, params, static, batch, *, key):
        def loss(dequantizer):
            model = eqx.combine(eqx.tree_at(lambda m: m.dequantizer, params, dequantizer), static)
            return -(batch.weights * self.log_scores(paramax.unwrap(model), batch)).mean()

        value, gradient = jax.value_and_grad(loss)(params.dequantizer)
        zeros = jax.tree.map(jnp.zeros_like, params)
        return value, eqx.tree_at(lambda m: m.dequantizer, zeros, gradient)

    def log_scores(self, model, batch, *, samples=1, keys=None):
        def log_score(x, condition):
            y, z = model.dequantization.quantize(x)
            return model.dequantizer.log_prob(model.features(y, condition), z)

        return jax.vmap(log_score)(batch.rows, batch.condition)


class ReverseKL(eqx.Module, AbstractObjective):
    """E_q[log q − log p] for a target p known up to a constant; q pushes a base forward.

    The rows are samples of the base. `model.push(x)` returns (y, log q(y)) and is differentiable.
    """

    target: AbstractDensity

    def value_and_grad(self, params, static, batch, *, key):
        def loss(params):
            model = paramax.unwrap(eqx.combine(params, static))
            y, log_q = jax.vmap(model.push)(batch.rows)
            log_p = jax.vmap(lambda y: self.target.log_prob(y).value)(y)
            return (batch.weights * (log_q - log_p)).mean()

        return jax.value_and_grad(loss)(params)

    def log_scores(self, model, batch, *, samples=1, keys=None):
        return log_probs(model, batch)


def frozen(tree: PyTree) -> PyTree:
    """The same values, constant to autodiff."""
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.lax.stop_gradient(arrays), rest)


def log_probs(model: AbstractDensity, batch: Batch) -> Float[Array, " n"]:
    """Log densities of a batch under an exact density."""
    return model.log_prob(batch.rows, condition=batch.condition).value


def draw(
    model: DequantizedDensity, batch: Batch, samples: int, key: PRNGKeyArray
) -> Float[Array, "n s k"]:
    """Draw `samples` auxiliaries z ~ q(· | y) for every row."""
    rows = batch.rows
    shape = (len(rows), samples, model.dequantization.auxiliary.size)
    v = open_uniform(key, shape, rows.dtype)

    def draw_row(y, condition, v):
        features = model.features(y, condition)
        return jax.vmap(lambda v: model.dequantizer.transform(features, v))(v)

    return jax.vmap(draw_row)(rows, batch.condition, v)


def log_bounds(
    model: DequantizedDensity, batch: Batch, samples: int, keys: Key[Array, " n"]
) -> Float[Array, " n"]:
    """log (1/K) Σ_k w_k of every row, K = `samples`, with its own noise."""

    def log_bound(y: Point, condition: Condition, key: PRNGKeyArray) -> Scalar:
        row = Batch(y[None], jnp.ones(1, y.dtype), None if condition is None else condition[None])
        z = draw(model, row, samples, key)
        return jax.nn.logsumexp(log_weights(model, row, z)[0]) - jnp.log(samples)

    return jax.vmap(log_bound)(batch.rows, batch.condition, keys)


def log_weights(
    model: DequantizedDensity,
    batch: Batch,
    z: Float[Array, "n s k"],
    *,
    over_branches: bool = False,
) -> tuple[Float[Array, "n s"], Float[Array, ""]]:
    """log w of every row and z, and the mean cost of the ambient paths."""
    # Without auxiliaries all samples of a row are one.
    distinct = z if z.shape[2] else z[:, :1]

    def for_pairs(function):
        per_row = jax.vmap(function, (None, None, 0))
        return jax.vmap(per_row)(batch.rows, batch.condition, distinct)

    x, log_volume = for_pairs(lambda y, c, z: model.dequantization.preimages(y, z))
    # In one flat batch: matrix products with several batch axes take up to three times as long.
    flat = x.reshape(-1, x.shape[-1])
    if batch.condition is None:
        log_prob, cost = jax.vmap(model.ambient.log_prob_and_cost)(flat)
    else:
        repeated = jnp.repeat(batch.condition, len(flat) // len(batch.rows), axis=0)
        log_prob, cost = jax.vmap(model.ambient.log_prob_and_cost)(flat, repeated)
    branches = log_prob.reshape(log_volume.shape) + log_volume
    log_q = for_pairs(lambda y, c, z: model.dequantizer.log_prob(model.features(y, c), z))
    joint = branches.mean(2) if over_branches else jax.nn.logsumexp(branches, axis=2)
    return jnp.broadcast_to(joint - log_q, z.shape[:2]), cost.mean()
