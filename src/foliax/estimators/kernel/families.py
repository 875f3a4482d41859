"""How each manifold enters a kernel: an embedding, its kernels' exact masses, and exact draws.

A kernel around μ is exp(−½κ‖e(y) − e(μ)‖²)/C(κ) in an embedding e in which the manifold is
homogeneous, so that C does not depend on μ. Charted manifolds (reals, half-lines, intervals) are
flat in their chart; counted and rounded values are Gaussians of the chart integrated over the cell
of each value, which is their dequantization with z integrated out in closed form.
"""

from __future__ import annotations

import abc
import functools
import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...distributions import (
    log_rotation_mass,
    log_vmf_normaliser,
    sample_rotation,
    sample_turn,
    sample_von_mises_fisher,
)
from ...manifolds import (
    AbstractDequantization,
    AbstractManifold,
    Product,
    Quotient,
    SpecialOrthogonal,
    Sphere,
    Torus,
)
from ...registry import storable
from ..base import UnsupportedManifoldError

Point = Float[Array, " size"]
Scalar = Float[Array, ""]
Kappas = Float[Array, " s"]


class AbstractLeaf(eqx.Module):
    """A factor that cannot be split further."""

    @property
    @abc.abstractmethod
    def scales(self) -> tuple[int, ...]:
        """For each embedded coordinate, the number of its bandwidth within the leaf."""

    @abc.abstractmethod
    def embed(self, y: Point) -> Float[Array, " e"]:
        """e(y)."""

    def edges(self, y: Point) -> Float[Array, "e 2"] | None:
        """The ends of y's cell in each coordinate; None where values are not rounded."""
        return None

    def log_jacobian(self, y: Point) -> Scalar:
        """log |de/dy|, where e is a chart of another volume."""
        return jnp.zeros((), y.dtype)

    @abc.abstractmethod
    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        """log C, for one κ of each bandwidth."""

    @abc.abstractmethod
    def draw(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        """One draw of the kernel around y."""


@storable("rivals.SphereLeaf")
class SphereLeaf(AbstractLeaf):
    """von Mises–Fisher: ½κ‖y − μ‖² = κ(1 − yᵀμ)."""

    manifold: Sphere

    @property
    def scales(self) -> tuple[int, ...]:
        return (0,) * self.manifold.size

    def embed(self, y: Point) -> Float[Array, " e"]:
        return y

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        return float(log_vmf_normaliser(kappa[0], self.manifold.dim))

    def draw(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        return sample_von_mises_fisher(y, kappa[0], key=key)


@storable("rivals.TorusLeaf")
class TorusLeaf(AbstractLeaf):
    """Products of von Mises, each angle with its own bandwidth."""

    manifold: Torus

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.manifold.dim)) * 2

    def embed(self, y: Point) -> Float[Array, " e"]:
        return jnp.concatenate([jnp.cos(y), jnp.sin(y)])

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        return float(log_vmf_normaliser(kappa, 1).sum())

    def draw(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        turns = jax.vmap(lambda k, key: sample_turn(k, key=key))(
            kappa, jax.random.split(key, len(y))
        )
        return self.manifold.project(y + turns)


@storable("rivals.RotationLeaf")
class RotationLeaf(AbstractLeaf):
    """Matrix Fisher of one concentration: ½κ‖R − M‖² = κ(n − tr RᵀM)."""

    manifold: SpecialOrthogonal

    @property
    def scales(self) -> tuple[int, ...]:
        return (0,) * self.manifold.size

    def embed(self, y: Point) -> Float[Array, " e"]:
        return y

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        n = self.manifold.shape[0]
        return self.manifold.log_total_volume() + log_rotation_mass(float(kappa[0]), n)

    def draw(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        n = self.manifold.shape[0]
        return (y.reshape(n, n) @ sample_rotation(kappa[0], n, key=key)).reshape(-1)


@storable("rivals.FlatLeaf")
class FlatLeaf(AbstractLeaf):
    """Normal in the chart of a dequantization without z, each coordinate with its own bandwidth."""

    dequantization: AbstractDequantization

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.dequantization.ambient_dim))

    def embed(self, y: Point) -> Float[Array, " e"]:
        return self.dequantization.preimages(y, jnp.zeros(0, y.dtype))[0][0]

    def log_jacobian(self, y: Point) -> Scalar:
        return self.dequantization.preimages(y, jnp.zeros(0, y.dtype))[1][0]

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        return float(0.5 * np.log(2 * math.pi / kappa).sum())

    def draw(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        return chart_draw(self, self.dequantization, y, kappa, key)


@storable("rivals.CellLeaf")
class CellLeaf(AbstractLeaf):
    """Normal in the chart of a dequantization by cells, integrated over the cell of each value."""

    dequantization: AbstractDequantization

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.dequantization.ambient_dim))

    def embed(self, y: Point) -> Float[Array, " e"]:
        return self._at(y, 0.5)

    def edges(self, y: Point) -> Float[Array, "e 2"]:
        return jnp.stack([self._at(y, 0.0), self._at(y, 1.0)], axis=1)

    def _at(self, y: Point, u: float) -> Float[Array, " e"]:
        return self.dequantization.preimages(y, jnp.full(y.shape, u, y.dtype))[0][0]

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        """The cells cover the line."""
        return 0.0

    def draw(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        return chart_draw(self, self.dequantization, y, kappa, key)


def chart_draw(
    leaf: AbstractLeaf, g: AbstractDequantization, y: Point, kappa: Kappas, key: PRNGKeyArray
) -> Point:
    """A normal step in the chart, and back."""
    x = leaf.embed(y)
    return g.quantize(x + jax.random.normal(key, x.shape, x.dtype) / jnp.sqrt(kappa))[0]


@functools.singledispatch
def leaf_of(manifold: AbstractManifold) -> AbstractLeaf:
    """The leaf of a manifold: by its type, or through a chart or cells of one branch."""
    g = manifold.dequantization()
    flat = g.ambient_dim == manifold.dim == manifold.size and g.branches == 1
    if flat and g.auxiliary.size == 0:
        return FlatLeaf(g)
    if flat and set(g.auxiliary.kinds) == {"unit"}:
        return CellLeaf(g)
    raise UnsupportedManifoldError(
        f"There is no kernel for {manifold}: kernels are for spheres, tori, rotations, reals, "
        "half-lines, intervals, counted and rounded values, their products and their quotients. "
        "DequantizedFlow serves every manifold."
    )


@leaf_of.register
def _(manifold: Sphere) -> AbstractLeaf:
    return SphereLeaf(manifold)


@leaf_of.register
def _(manifold: Torus) -> AbstractLeaf:
    return TorusLeaf(manifold)


@leaf_of.register
def _(manifold: SpecialOrthogonal) -> AbstractLeaf:
    return RotationLeaf(manifold)


@leaf_of.register
def _(manifold: Quotient) -> AbstractLeaf:
    """That of the base: the group acts by isometries, so its orbits are copies of a kernel."""
    return leaf_of(manifold.base)


@functools.singledispatch
def factors_of(manifold: AbstractManifold) -> tuple[AbstractManifold, ...]:
    """The factors of a product, products within it too; a manifold alone is its own factor."""
    return (manifold,)


@factors_of.register
def _(manifold: Product) -> tuple[AbstractManifold, ...]:
    return tuple(itertools.chain.from_iterable(factors_of(f) for f in manifold.factors))


@functools.singledispatch
def images(manifold: AbstractManifold, rows: Float[np.ndarray, "n size"]) -> np.ndarray:
    """(n, orbit, size): every row's images under the group of a quotient; elsewhere the row."""
    return rows[:, None]


@images.register
def _(manifold: Quotient, rows: Float[np.ndarray, "n size"]) -> np.ndarray:
    return np.asarray(jax.vmap(manifold.orbit)(jnp.asarray(rows)))


@functools.singledispatch
def canonical(manifold: AbstractManifold, y: Point) -> Point:
    """The representative of a point that a kernel of the base has drawn."""
    return y


@canonical.register
def _(manifold: Quotient, y: Point) -> Point:
    return manifold.project(y)


def copies(manifold: AbstractManifold, rows: Float[np.ndarray, "n size"]) -> np.ndarray:
    """(n, orbit, size): every row's images under the groups of all factors."""
    factors = factors_of(manifold)
    parts = np.split(rows, np.cumsum([f.size for f in factors])[:-1], axis=1)
    found = [images(f, part) for f, part in zip(factors, parts, strict=True)]
    orders = [range(image.shape[1]) for image in found]
    each = [
        np.concatenate([image[:, g] for image, g in zip(found, chosen, strict=True)], axis=1)
        for chosen in itertools.product(*orders)
    ]
    return np.stack(each, axis=1)
