"""Every class of density is encoded as JSON and tensors and decoded again."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import paramax
import pytest
from jaxtyping import Float, jaxtyped

from foliax import manifolds
from foliax.density import AbstractDensity, AbstractIntegrator
from foliax.dequantizers import AbstractDequantizer, AbstractDequantizerSpec
from foliax.estimators import DequantizedFlow, LocalKernel, MobiusFlow, Stacking, base
from foliax.estimators.kernel import base as kernels
from foliax.estimators.kernel import families
from foliax.estimators.kernel.components import ScaleKernels
from foliax.estimators.mixture import AbstractComponents
from foliax.flows import AbstractAmbient, AbstractAmbientSpec, Flowjax
from foliax.flows.manifold import bijections, circle
from foliax.io import ModelFileError
from foliax.io.annotations import check_field, fits
from foliax.io.codec import Decoder, Encoder
from foliax.manifolds import AbstractDequantization, AbstractManifold, tangent
from foliax.registry import entry_of
from foliax.report import views
from foliax.training import objectives

from ..flows.cases import SPECS
from .cases import DENSITIES, DEQUANTIZATIONS, DEQUANTIZERS, KEY, PARTS, described, restored


def same(value, found) -> bool:
    return type(value) is type(found) and described(value) == described(found)


@pytest.mark.parametrize("name", DENSITIES)
def test_a_density_comes_back_with_the_same_bits(name):
    density = DENSITIES[name]()
    assert same(density, restored(density))


@pytest.mark.parametrize("name", PARTS)
def test_parts_come_back(name):
    assert same(PARTS[name], restored(PARTS[name]))


@pytest.mark.parametrize("name", DEQUANTIZERS)
def test_dequantizers_come_back(name):
    g = DEQUANTIZATIONS["sphere"]
    dequantizer = DEQUANTIZERS[name].build(g, key=KEY)
    assert same(dequantizer, restored(dequantizer))


@pytest.mark.parametrize(
    "spec",
    [
        DequantizedFlow(SPECS["realnvp"], DEQUANTIZERS["gamma"], objectives.ELBO(3)),
        Stacking((MobiusFlow(), LocalKernel(widths=(0.5,)), DequantizedFlow(precision=64))),
    ],
)
def test_specs_come_back_equal(spec):
    assert restored(spec) == spec


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("realnvp", "ambient.AffineTransformer"),
        ("spline", "ambient.SplineTransformer"),
        ("autoregressive", "ambient.SplineTransformer"),
    ],
)
def test_flows_name_their_transformers(name, identifier):
    flow = SPECS[name].build(3, shift=jnp.zeros(3), scale=jnp.ones(3), key=KEY)
    assert f"'class': '{identifier}'" in str(described(flow)[0])


def test_special_values_come_back():
    values = (None, True, 2, 0.1, float("inf"), "é", (), [1, ("a",)], {"k": (1.5,)}, np.arange(3))
    found = restored(values)
    assert repr(found) == repr(values)
    assert np.isnan(restored(float("nan")))
    assert type(restored(np.float64(0.1))) is float


def test_equal_arrays_are_stored_once():
    a = jnp.arange(3.0)
    assert len(described((a, a + 0, a + 1))[1]) == 2


LEFT_OUT = {
    Flowjax,
    manifolds.ByAutodiff,
    manifolds.LevelSet,
    tangent.ChartTangent,
    objectives.ReverseKL,
    objectives.OwnSamples,
    views.SampledDensity,
}
INTERFACES = (
    AbstractManifold,
    AbstractDequantization,
    AbstractAmbient,
    AbstractAmbientSpec,
    AbstractDequantizer,
    AbstractDequantizerSpec,
    AbstractDensity,
    AbstractIntegrator,
    AbstractComponents,
    objectives.AbstractObjective,
    base.AbstractEstimator,
    kernels.AbstractKernels,
    families.AbstractKernelFamily,
    tangent.AbstractTangent,
    bijections.AbstractBijection,
    circle.AbstractCircleMap,
)


def leaves_of(cls: type):
    for sub in cls.__subclasses__():
        yield from leaves_of(sub)
    if not inspect.isabstract(cls) and not cls.__name__.startswith("Abstract"):
        yield cls


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_class_of_foliax_is_registered(interface):
    for cls in leaves_of(interface):
        if cls.__module__.startswith("foliax.") and cls not in LEFT_OUT:
            assert entry_of(cls), f"Put @storable on {cls}."


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({"class": "os.system", "fields": {}}, "does not know"),
        ({"class": "manifolds.Torus", "fields": {"d": "2"}}, "Torus.d cannot be 2"),
        ({"class": "manifolds.Torus", "fields": {"d": True}}, "Torus.d cannot be True"),
        ({"class": "manifolds.Torus", "fields": {}}, "Torus lacks its d"),
        ({"class": "manifolds.Torus", "fields": {"d": 2, "e": 1}}, "no field 'e'"),
        ({"class": "manifolds.Torus", "fields": {"d": 2}, "x": 1}, "does not know"),
        ({"class": "manifolds.Torus", "fields": {"__class__": 2}}, "no field '__class__'"),
        ({"function": "eval"}, "does not know"),
        ({"array": "7"}, "tensor '7' is missing"),
        ({}, "does not know"),
    ],
)
def test_what_is_not_foliax_is_refused(node, reason):
    with pytest.raises(ModelFileError, match=reason):
        Decoder({}, None).decode(node)


def test_invariants_are_checked_again():
    node = {"class": "manifolds.Torus", "fields": {"d": 0}}
    with pytest.raises(ValueError, match="needs d >= 1"):
        Decoder({}, None).decode(node)


def test_a_field_that_an_older_file_lacks_has_its_default():
    node = {"class": "marginal.RQMC", "fields": {"points": 8}}
    assert Decoder({}, None).decode(node).replicates == 16


def test_annotations():
    assert fits((1, 2), tuple[int, ...])
    assert not fits((1, 2.0), tuple[int, ...])
    assert fits((1, "a"), tuple[int, str])
    assert not fits((1,), tuple[int, str])
    assert fits(3, float)
    assert not fits(True, float)
    assert fits(jnp.zeros(3), jax.Array)
    assert fits(paramax.NonTrainable(jnp.zeros(3)), jax.Array)
    assert not fits("a", jax.Array | None)


def test_nan_is_refused_in_both_directions():
    with pytest.raises(ModelFileError, match=r"a\.b holds NaN"):
        Encoder().encode(jnp.array([0.0, jnp.nan]), "a.b")
    with pytest.raises(ModelFileError, match="tensor '0' holds NaN"):
        Decoder({"0": np.array([np.nan], np.float32)}, None).decode({"array": "0"})


def test_sizes_that_a_caller_has_bound_do_not_matter():
    @jaxtyped(typechecker=None)
    def read_beside(rows):
        assert isinstance(rows, Float[np.ndarray, " n"])  # which binds n
        check_field(ScaleKernels, "log_rows", jnp.zeros(len(rows) + 1))

    read_beside(np.zeros(3))
