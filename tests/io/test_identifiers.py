"""Every identifier stays registered, and renaming keeps old files readable."""

import dataclasses
import re
import subprocess
import sys
from typing import NamedTuple

import equinox as eqx
import pytest

from foliax import registry
from foliax.io import ModelFileError
from foliax.io.classes import import_storable_modules
from foliax.io.codec import Decoder
from foliax.registry import entry_of, field_names, find, storable, storable_function

from .cases import described, restored

# Identifiers and fields that model files may contain. Add to this list, and remove nothing. A
# renamed field stays here under its old name.
PROMISED = """
manifolds.Auxiliary kinds
manifolds.CellsFromMedian working origin step offset
manifolds.Block kind size
manifolds.SphereCover manifold
manifolds.AxisCover manifold
manifolds.AnglesCover manifold
manifolds.ChartCover manifold chart
manifolds.CellsCover manifold chart
manifolds.ProductCover manifold parts
manifolds.OrbitCover manifold base
manifolds.QuaternionCover manifold
manifolds.QuaternionPairCover manifold
manifolds.QuaternionFrameCover manifold
manifolds.ColumnsCover manifold
manifolds.SignedCover manifold rotations
flows.BlockSplines networks frames linear orders blocks bins
flows.CellSplines networks location scale bins
density.Standardizer location scale
density.Members manifold stacked count
density.CoveredDensity manifold cover flow cell_flow coordinates features condition
estimators.SplineFlow layers width depth bins members training validation_fraction
manifolds.NarrowAngles working centre scale narrow wide
manifolds.Rodrigues working centre scale
manifolds.ScaledChart working manifold location scale
manifolds.SideBySide working parts sizes
manifolds.Stereographic working centre basis scale
manifolds.NearestImage working inner centre reference actions
manifolds.Unchanged working
density.LocalizedDensity manifold coordinates density uniform_weight
manifolds.Ball d radius
manifolds.Radial manifold
manifolds.ByRadii manifold
manifolds.Cells manifold
manifolds.Chart manifold
manifolds.ChartCoordinates working
manifolds.ChartSpace manifold origin
manifolds.Euclidean d
manifolds.ExponentialMap manifold window
manifolds.Fold manifold base
manifolds.Hyperspherical manifold
manifolds.Interval low high d
manifolds.Joint manifold parts
manifolds.LogCells manifold
manifolds.Naturals d
manifolds.Orbits manifold base
manifolds.Polar manifold
manifolds.PositiveReals d
manifolds.Product factors
manifolds.QR manifold
manifolds.Quaternions manifold
manifolds.Quotient base group side
manifolds.Rounded step d offset floor
manifolds.SignedQuaternions manifold
manifolds.SpecialOrthogonal n
manifolds.Sphere d
manifolds.Stiefel n p
manifolds.Torus d
manifolds.Wrapping manifold window
ambient.AutoregressiveSpline layers width depth knots interval activation
ambient.DiscreteODE width depth steps
ambient.FromFlowjax distribution dim
ambient.GaussianMixture components
ambient.NeuralODE width depth rtol atol max_steps
ambient.RealNVP layers width depth split activation min_scale
ambient.Residual layers width components
ambient.Scaled inner dim shift scale
ambient.SplineCoupling layers width depth knots interval split activation
ambient.Roll shape places cond_shape
ambient.DiscreteFlow field steps dim
ambient.TanhField layers
ambient.MixtureOfGaussians logits means log_diagonals lowers dim
ambient.ContinuousFlow field rtol atol max_steps dim
ambient.GradientLayer directions offsets weights log_scale shift
ambient.ResidualFlow layers base dim
ambient.AffineTransformer min_scale start dtype
ambient.SplineTransformer knots interval min_derivative min_width start dtype
dequantizers.Beta width depth
dequantizers.ConditionalFlow layers width depth knots interval
dequantizers.Gamma width depth
dequantizers.Normal width depth full
dequantizers.Safe width depth full
dequantizers.Uniform
dequantizers.AmortisedBeta net
dequantizers.AmortisedGamma net
dequantizers.UniformCells
dequantizers.FlowDequantizer bijection auxiliary
dequantizers.LocationScale net auxiliary safe full
marginal.Exact
marginal.MonteCarlo samples
marginal.Quadrature nodes reach
marginal.RQMC points replicates
density.DequantizedDensity manifold dequantization ambient dequantizer integrator
fit.Auto minutes validation most_held_out flow
fit.DequantizedFlow ambient dequantizer objective training validation seeds precision
fit.ELBO samples cost over_branches
fit.ImportanceWeighted samples cost
fit.Likelihood
fit.MemberLikelihood
fit.Training steps batch rate schedule warmup clip ema block patience validation_samples retries
    cut seconds
record.Block step steps loss validation best_validation seconds
record.Record parameters history events stopped seconds best_step best_validation
stacking.Stacked manifold members log_weights
stacking.Stacking specs validation prior
rivals.PushForward manifold bijection
rivals.Chain layers
rivals.Constant value
rivals.Autoregressive circle_map conditioners
rivals.Coupling circle_map condition split moved
rivals.CircularSpline bins
rivals.CircularSplineFlow bins layers coupling width depth training validation
rivals.ExponentialFlow ambient radius training validation
rivals.InBall inner radius dim
rivals.Recursive circle_map heights circle bins
rivals.ScaleMixtureKernel smallest largest max_rows chance ratio
rivals.Background manifold
rivals.KernelDensity manifold parts log_weights
rivals.ScaleKernels space rows embedded log_rows groups kappas relative log_masses levels level
    cells finest
rivals.Space manifold leaves
rivals.CellLeaf dequantization
rivals.FlatLeaf dequantization
rivals.RotationLeaf manifold
rivals.SphereLeaf manifold
rivals.TorusLeaf manifold
rivals.LocalKernel neighbours widths scales folds most_weighed crowds
rivals.LocalKernels tangents frames rows whiten log_scale level levels widths relative cells
rivals.Tangents space parts
rivals.GridFlow flow steps cost
rivals.ManifoldODE width depth steps cost rtol atol max_steps training validation
rivals.TangentFlow field rtol atol max_steps
rivals.DirectionalMixture components max_components choose held_out restarts steps tolerance
    sharpest max_rows seconds
rivals.MatrixFisherComponents frame rates log_constant envelope
rivals.MixtureDensity manifold components log_weights
rivals.VonMisesFisherComponents mean kappa log_constant
rivals.WrappedNormalComponents mean factor whitener images log_present log_constant
rivals.Mobius centres
rivals.MobiusFlow centres bins width depth training validation
rivals.FlatTangent leaf
rivals.RotationTangent
rivals.SphereTangent size
rivals.TorusTangent d
equinox.Linear weight bias in_features out_features use_bias
equinox.MLP layers activation final_activation use_bias use_final_bias in_size out_size width_size
    depth scan
paramax.NonTrainable tree
paramax.Parameterize fn args kwargs
flowjax.Chain shape cond_shape bijections
flowjax.Coupling shape cond_shape untransformed_dim dim transformer_constructor conditioner
flowjax.Flip shape
flowjax.Invert bijection shape cond_shape
flowjax.MaskedAutoregressive shape cond_shape transformer_constructor masked_autoregressive_mlp
flowjax.Scan bijection shape cond_shape
flowjax.StandardNormal shape
flowjax.Transformed base_dist bijection
"""
KNOWN = {line.split()[0]: line.split()[1:] for line in re.split(r"\n(?! )", PROMISED.strip())}
FUNCTIONS = ("identity", "relu", "silu", "tanh", "where")


@pytest.mark.parametrize("identifier", KNOWN)
def test_every_identifier_and_field_is_known(identifier):
    import_storable_modules()
    entry = find(identifier)
    assert entry is not None
    renamed = {entry.renamed_fields.get(name, name): 0 for name in KNOWN[identifier]}
    assert {*entry.upgrade(renamed)} <= {*field_names(entry.cls)}


@pytest.mark.parametrize("identifier", FUNCTIONS)
def test_every_function_is_known(identifier):
    assert registry.find_function(identifier) is not None


def test_loading_imports_all_that_a_file_can_name():
    """Use a new process, because tests import other modules."""
    code = (
        "import foliax.io.classes as c, foliax.registry as r; c.import_storable_modules(); "
        "print(*(entry.identifier for entry in r.entries()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*KNOWN} <= {*done.stdout.split()}


@pytest.fixture
def _restore_registry(monkeypatch):
    """Remove new entries of the registry after the test."""
    for name in ("_by_identifier", "_by_class", "_functions"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


def decoded(identifier: str, **fields):
    return Decoder({}, None).decode({"class": identifier, "fields": fields})


@dataclasses.dataclass(frozen=True)
class Plain:
    rate: float
    steps: int = 3


class Module(eqx.Module):
    rate: float
    steps: int = 3


class Named(NamedTuple):
    rate: float
    steps: int = 3


@pytest.mark.usefixtures("_restore_registry")
@pytest.mark.parametrize("cls", [Plain, Module, Named])
def test_old_names_load_and_new_ones_are_written(cls):
    storable("new.Name", aliases=("old.Name",), renamed_fields={"speed": "rate"})(cls)
    value = cls(0.5, 2)
    assert decoded("old.Name", speed=0.5, steps=2) == value
    assert decoded("new.Name", rate=0.5, steps=2) == value
    assert decoded("new.Name", speed=0.5).steps == 3
    node, _ = described(decoded("old.Name", speed=0.5, steps=2))
    assert node == {"class": "new.Name", "fields": {"rate": 0.5, "steps": 2}}
    assert restored(value) == value
    with pytest.raises(ModelFileError, match=r"the field 'rate' of a \w+ twice"):
        decoded("new.Name", speed=0.5, rate=0.5)
    with pytest.raises(ModelFileError, match="rate cannot be fast"):
        decoded("new.Name", speed="fast")
    with pytest.raises(ModelFileError, match="no field 'pace'"):
        decoded("new.Name", pace=0.5)


@pytest.mark.usefixtures("_restore_registry")
@pytest.mark.parametrize("aliases", [(), ("marginal.RQMC",)])
def test_an_identifier_is_of_one_class_only(aliases):
    identifier = "tests.Plain" if aliases else "marginal.RQMC"
    with pytest.raises(ValueError, match=r"'marginal.RQMC' is the identifier of .*RQMC.*Plain"):
        storable(identifier, aliases=aliases)(Plain)
    assert entry_of(Plain) is None
    assert find("tests.Plain") is None


@pytest.mark.usefixtures("_restore_registry")
def test_a_class_has_one_identifier_only():
    storable("tests.Plain")(Plain)
    with pytest.raises(ValueError, match=r"Plain is already registered as 'tests.Plain'"):
        storable("tests.Other")(Plain)


@pytest.mark.usefixtures("_restore_registry")
@pytest.mark.parametrize("renamed", [{"speed": "pace"}, {"rate": "steps"}])
def test_renamed_fields_must_be_fields(renamed):
    with pytest.raises(ValueError, match="renamed_fields of Plain"):
        storable("tests.Plain", renamed_fields=renamed)(Plain)


@pytest.mark.usefixtures("_restore_registry")
def test_a_function_has_an_identifier_of_its_own():
    with pytest.raises(ValueError, match="'relu' is the identifier"):
        storable_function("relu", abs)


@pytest.mark.parametrize("identifier", ["os.system", "manifolds.Klein", "antigravity.fly", ""])
def test_an_unknown_identifier_is_refused_and_nothing_imported(identifier):
    import_storable_modules()
    before = set(sys.modules)
    with pytest.raises(ModelFileError, match="which this foliax does not know"):
        decoded(identifier)
    assert set(sys.modules) == before
