"""Storable transformers compute what FlowJAX's closures compute."""

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
import pytest
from flowjax.bijections import Coupling, MaskedAutoregressive

from foliax.flows.transformers import AffineTransformer, SplineTransformer, use_transformer

from .cases import SPECS

KEY = jax.random.key(0)
TRANSFORMERS = {
    "spline": SplineTransformer.build(5, 3.0),
    "affine": AffineTransformer.build(0.125),
}


def coupling(transformer):
    return Coupling(
        KEY, transformer=transformer.initial(), untransformed_dim=1, dim=3, nn_width=4, nn_depth=1
    )


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_transformer_is_the_same_function(name):
    transformer = TRANSFORMERS[name]
    closure = coupling(transformer).transformer_constructor
    params = jax.random.normal(KEY, (len(transformer.start),))
    found, expected = (paramax.unwrap(f(params)) for f in (transformer, closure))
    assert eqx.tree_equal(found, expected)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_layer_gives_the_same_bits(name):
    transformer = TRANSFORMERS[name]
    layer = coupling(transformer)
    x = jax.random.normal(KEY, (20, 3))

    @eqx.filter_jit
    def transform(layer):
        return jax.vmap(paramax.unwrap(layer).transform_and_log_det)(x)

    assert eqx.tree_equal(transform(use_transformer(layer, transformer)), transform(layer))


@pytest.mark.parametrize("name", ["realnvp", "spline", "autoregressive"])
def test_flows_are_built_with_storable_transformers(name):
    flow = SPECS[name].build(3, shift=jnp.zeros(3), scale=jnp.ones(3), key=KEY)
    kinds = (Coupling, MaskedAutoregressive)
    layers = jax.tree.leaves(flow, is_leaf=lambda node: isinstance(node, kinds))
    found = [layer.transformer_constructor for layer in layers if isinstance(layer, kinds)]
    assert len(found) == 2
    assert all(isinstance(one, SplineTransformer | AffineTransformer) for one in found)
    assert found[0] == found[1]
