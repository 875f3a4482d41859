"""Small densities of every class that a model file can hold."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foliax import dequantizers, manifolds
from foliax.density import AbstractDensity, Dataset, DequantizedDensity, Stacked, integrate
from foliax.estimators import (
    CircularSplineFlow,
    ExponentialFlow,
    KernelDensity,
    ManifoldODE,
    MobiusFlow,
)
from foliax.estimators.kernel.background import Background
from foliax.estimators.kernel.components import ScaleKernels
from foliax.estimators.kernel.data import DistinctRows
from foliax.estimators.kernel.neighbours import local_kernels
from foliax.estimators.kernel.shapes import Tangents
from foliax.estimators.kernel.space import Space
from foliax.estimators.mixture import DirectionalMixture
from foliax.flows.manifold import Chain
from foliax.io.codec import Decoder, Encoder
from foliax.manifolds.ball import Ball

from ..flows import cases as ambient_cases

KEY = jax.random.key(0)

DEQUANTIZATIONS = {
    "sphere": manifolds.Sphere(2).dequantization(),
    "torus": manifolds.Wrapping(manifolds.Torus(2), 1),
    "rotations": manifolds.SpecialOrthogonal(3).dequantization(),
    "exponential map": manifolds.ExponentialMap(),
    "fold": manifolds.Fold(manifolds.Polar(manifolds.Stiefel(2, 2))),
    "axes": manifolds.ProjectiveSpace(2).dequantization(),
    "crystals": manifolds.Orientations("222").dequantization(),
    "row": manifolds.Product(
        manifolds.Circle(),
        manifolds.Naturals(),
        manifolds.Rounded(0.1, floor=True),
        manifolds.Interval(-1.0, 2.5),
        manifolds.PositiveReals(),
        manifolds.Euclidean(1),
    ).dequantization(),
    "ball": Ball(2, 3.0).dequantization(),
}
DEQUANTIZERS = {
    "safe": dequantizers.HeavyTailed(4, full=True),
    "normal": dequantizers.Normal(4),
    "gamma": dequantizers.Gamma(4),
    "flow": dequantizers.ConditionalFlow(1, 4),
}


def dequantized(name: str) -> DequantizedDensity:
    """Build a density on R^3 with the ambient flow of that name."""
    g = manifolds.Euclidean(3).dequantization()
    nothing = dequantizers.build(dequantizers.HeavyTailed(), g, key=KEY)
    return DequantizedDensity(g, ambient_cases.shaken(ambient_cases.SPECS[name]), nothing)


def kernels(manifold: manifolds.AbstractManifold, rows: Any) -> KernelDensity:
    """Build kernels of both kinds with the uniform density as background."""
    space, rows = Space(manifold), np.asarray(rows, np.float32)
    ones, relative = np.ones(len(rows)), np.ones(space.n_bandwidths)
    data = DistinctRows(rows, ones, np.arange(len(rows)), True)
    parts = (
        ScaleKernels(space, rows, ones, data.groups, np.array([1.0, 8.0]), relative),
        *local_kernels(Tangents(space), data, relative, (3,), (0.5, 1.0)),
        Background(manifold),
    )
    return KernelDensity(manifold, parts, tuple(jnp.full(p.n_components, -1.6) for p in parts))


def mixture(manifold: manifolds.AbstractManifold) -> AbstractDensity:
    keys = jax.random.split(KEY, 12)
    rows = jax.vmap(lambda k: manifold.sample_uniform(key=k))(keys)
    spec = DirectionalMixture(components=2, restarts=1, steps=3)
    return spec.fit(Dataset(rows, manifold), key=KEY).density


ANGLES = np.linspace(-3, 3, 12).reshape(6, 2)

DENSITIES: dict[str, Callable[[], AbstractDensity]] = {
    "kernels": lambda: kernels(manifolds.Torus(2), ANGLES),
    "mixture T2": lambda: mixture(manifolds.Torus(2)),
    "mixture S2": lambda: mixture(manifolds.Sphere(2)),
    "mixture SO3": lambda: mixture(manifolds.SpecialOrthogonal(3)),
    "mobius": lambda: MobiusFlow(2, 4, 4).build(manifolds.Sphere(2), key=KEY),
    "circular": lambda: CircularSplineFlow(4, 2, True, 4).build(manifolds.Torus(2), key=KEY),
    "ode": lambda: ManifoldODE(4, steps=2).build(manifolds.Sphere(2), key=KEY),
    "ode, accurate": lambda: ManifoldODE(4).build(manifolds.Sphere(2), key=KEY).accurate(),
    "exponential": lambda: ExponentialFlow(ambient_cases.SPECS["realnvp"]).build(
        manifolds.SpecialOrthogonal(3), key=KEY
    ),
    "stacked": lambda: Stacked(
        (dequantized("spline"), dequantized("mixture")), jnp.log(jnp.array([0.25, 0.75]))
    ),
    **{name: functools.partial(dequantized, name) for name in ambient_cases.SPECS},
}
PARTS = {
    "integrators": (integrate.Exact(), integrate.Quadrature(8), integrate.RQMC(4), Chain(())),
    **DEQUANTIZATIONS,
}


def described(value: Any) -> tuple[Any, dict[str, bytes]]:
    """Describe a value for comparison: its classes, its fields and the bits of its arrays."""
    encoder = Encoder()
    node = encoder.encode(value, "value")
    return node, {k: (v.shape, str(v.dtype), v.tobytes()) for k, v in encoder.tensors.items()}


def restored(value: Any, custom: Any = None) -> Any:
    """Encode and decode a value."""
    encoder = Encoder()
    node = encoder.encode(value, "value")
    return Decoder(encoder.tensors, custom).decode(node)
