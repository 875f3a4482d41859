"""The only classes and functions that a model file can name."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import equinox as eqx
import flowjax.bijections
import flowjax.distributions
import jax
import jax.numpy as jnp
import paramax

from .. import (
    ambient,
    auto,
    dequantizers,
    fit,
    manifolds,
    marginal,
    objectives,
    stacking,
    training,
)
from ..ambient import coupling, discrete_ode, field, mixture, neural_ode, residual
from ..auxiliary import Auxiliary
from ..density import DequantizedDensity
from ..dequantizers import families, flow, location_scale
from ..localized import LocalizedDensity
from ..manifolds import ball
from ..manifolds import local as local_coordinates
from ..record import Block, Record
from ..rivals import (
    bijections,
    circle,
    circular_spline,
    exponential,
    heights,
    kernel,
    kernel_density,
    kernels,
    leaves,
    local,
    manifold_ode,
    mixtures,
    mobius,
    shapes,
    tangents,
)
from ..rivals.flow import PushForward
from . import transformers

MODULES: dict[str, tuple[type, ...]] = {
    "manifolds": (
        Auxiliary,
        ball.Ball,
        ball.Radial,
        manifolds.ByRadii,
        manifolds.Cells,
        manifolds.Chart,
        manifolds.Euclidean,
        manifolds.ExponentialMap,
        manifolds.Fold,
        manifolds.Hyperspherical,
        manifolds.Interval,
        manifolds.Joint,
        manifolds.LogCells,
        manifolds.Naturals,
        manifolds.Orbits,
        manifolds.Polar,
        manifolds.PositiveReals,
        manifolds.Product,
        manifolds.QR,
        manifolds.Quaternions,
        manifolds.Quotient,
        manifolds.Rounded,
        manifolds.SignedQuaternions,
        manifolds.SpecialOrthogonal,
        manifolds.Sphere,
        manifolds.Stiefel,
        manifolds.Torus,
        manifolds.Wrapping,
        local_coordinates.CellsFromMedian,
        local_coordinates.NarrowAngles,
        local_coordinates.Rodrigues,
        manifolds.ScaledChart,
        local_coordinates.SideBySide,
        local_coordinates.Stereographic,
        local_coordinates.Unchanged,
    ),
    "ambient": (
        ambient.AutoregressiveSpline,
        ambient.DiscreteODE,
        ambient.FromFlowjax,
        ambient.GaussianMixture,
        ambient.NeuralODE,
        ambient.RealNVP,
        ambient.Residual,
        ambient.Scaled,
        ambient.SplineCoupling,
        coupling.Roll,
        discrete_ode.DiscreteFlow,
        field.TanhField,
        mixture.MixtureOfGaussians,
        neural_ode.ContinuousFlow,
        residual.GradientLayer,
        residual.ResidualFlow,
        transformers.AffineTransformer,
        transformers.SplineTransformer,
    ),
    "dequantizers": (
        dequantizers.Beta,
        dequantizers.ConditionalFlow,
        dequantizers.Gamma,
        dequantizers.Normal,
        dequantizers.Safe,
        dequantizers.Uniform,
        families.AmortisedBeta,
        families.AmortisedGamma,
        families.UniformCells,
        flow.FlowDequantizer,
        location_scale.LocationScale,
    ),
    "marginal": (marginal.Exact, marginal.MonteCarlo, marginal.Quadrature, marginal.RQMC),
    "density": (DequantizedDensity, LocalizedDensity),
    "fit": (
        auto.Auto,
        fit.DequantizedFlow,
        objectives.ELBO,
        objectives.ImportanceWeighted,
        objectives.Likelihood,
        training.Training,
    ),
    "record": (Block, Record),
    "stacking": (stacking.Stacked, stacking.Stacking),
    "rivals": (
        PushForward,
        bijections.Chain,
        bijections.Constant,
        circle.Autoregressive,
        circle.Coupling,
        circular_spline.CircularSpline,
        circular_spline.CircularSplineFlow,
        exponential.ExponentialFlow,
        exponential.InBall,
        heights.Recursive,
        kernel.ScaleMixtureKernel,
        kernels.Background,
        kernel_density.KernelDensity,
        kernels.ScaleKernels,
        kernels.Space,
        leaves.CellLeaf,
        leaves.FlatLeaf,
        leaves.RotationLeaf,
        leaves.SphereLeaf,
        leaves.TorusLeaf,
        local.LocalKernel,
        shapes.LocalKernels,
        shapes.Tangents,
        manifold_ode.GridFlow,
        manifold_ode.ManifoldODE,
        manifold_ode.TangentFlow,
        mixtures.DirectionalMixture,
        mixtures.MatrixFisherComponents,
        mixtures.MixtureDensity,
        mixtures.VonMisesFisherComponents,
        mixtures.WrappedNormalComponents,
        mobius.Mobius,
        mobius.MobiusFlow,
        tangents.FlatTangent,
        tangents.RotationTangent,
        tangents.SphereTangent,
        tangents.TorusTangent,
    ),
    "equinox": (eqx.nn.Linear, eqx.nn.MLP),
    "paramax": (paramax.NonTrainable, paramax.Parameterize),
    "flowjax": (
        flowjax.bijections.Chain,
        flowjax.bijections.Coupling,
        flowjax.bijections.Flip,
        flowjax.bijections.Invert,
        flowjax.bijections.MaskedAutoregressive,
        flowjax.bijections.Scan,
        flowjax.distributions.StandardNormal,
        flowjax.distributions.Transformed,
    ),
}

CLASSES: dict[str, type] = {
    f"{group}.{cls.__name__}": cls for group, classes in MODULES.items() for cls in classes
}
CLASS_NAMES: dict[type, str] = {cls: name for name, cls in CLASSES.items()}

FUNCTIONS: dict[str, Callable] = {
    "identity": inspect.signature(eqx.nn.MLP.__init__).parameters["final_activation"].default,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
    "where": jnp.where,
}


def function_name(value: object) -> str | None:
    """The name of a function that a file can name; None for any other."""
    return next((name for name, function in FUNCTIONS.items() if function is value), None)
