"""The default way of fitting: what it tries, what it survives."""

import dataclasses

import jax
import numpy as np
import pytest

from foliax.density import Dataset
from foliax.estimators import (
    AbstractEstimator,
    Auto,
    FitError,
    LocalKernel,
    ScaleMixtureKernel,
    SplineFlow,
    get_estimator,
)
from foliax.estimators.auto import Policy
from foliax.estimators.auto import members as auto_members
from foliax.estimators.auto.budget import Budget
from foliax.estimators.auto.members import Member
from foliax.estimators.auto.policy import Candidate
from foliax.estimators.auto.search import Search
from foliax.estimators.auto.selection import prune_members, refit_on_all_rows, stacking_weights
from foliax.estimators.auto.validation import HeldOutSet
from foliax.manifolds import Circle, Euclidean, Naturals, Orthogonal, Product, Sphere, Stiefel
from foliax.training import Record

from ..small import SPEC

KEY = jax.random.key(0)
SPHERE, CYLINDER = Sphere(2), Product(Circle(), Euclidean(1))
RANDOM = np.random.default_rng(0)
FLOW = dataclasses.replace(SPEC, training=dataclasses.replace(SPEC.training, steps=4, eval_every=2))
SPLINE_FLOW = SplineFlow(layers=1, width=4, members=1, training=FLOW.training)
ANGLES = RANDOM.vonmises(0.0, 4.0, (240, 1)).astype(np.float32)


def quick(monkeypatch, **replaced):
    """Auto with these candidates."""
    candidates = [Candidate(name, spec, "kernel" in name) for name, spec in replaced.items()]
    monkeypatch.setattr(Policy, "candidates", lambda *_: candidates)
    return Auto(flow=FLOW)


def names_of_candidates(n, manifold=SPHERE):
    return [candidate.name for candidate in Policy().candidates(n, manifold, FLOW, SplineFlow())]


def held_out(n):
    return Dataset(np.zeros((n, 1)), Circle())


@dataclasses.dataclass(frozen=True)
class Failing(AbstractEstimator):
    """A candidate that fails."""

    error: Exception

    def _fit(self, data, *, key, validation=None, callbacks=()):
        raise self.error


def test_few_rows_are_served_by_the_local_kernel():
    fitted = Auto(flow=FLOW).fit(Dataset(ANGLES[:50], Circle()), key=KEY)
    assert fitted.record.events[0].startswith("local kernel: ")
    assert len(fitted.record.events) == 1


def test_a_column_of_counts():
    counts = RANDOM.poisson(6.0, (50, 1)).astype(float)
    density = Auto(flow=FLOW).fit(Dataset(counts, Naturals(1)), key=KEY).density
    values = density.evaluate(np.arange(60.0)[:, None].astype(np.float32)).value
    assert np.exp(values).sum() == pytest.approx(1, abs=0.02)


def test_where_no_kernel_serves_the_flow_does():
    frames = np.linalg.qr(RANDOM.normal(size=(50, 3, 2)))[0].reshape(50, 6)
    data = Dataset(frames.astype(np.float32), Stiefel(3, 2))
    fitted = Auto(spline_flow=SPLINE_FLOW).fit(data, key=KEY)
    names = [type(member).__name__ for member in fitted.density.members]
    assert names == ["CoveredDensity", "KernelDensity"], "and the uniform density"


@pytest.mark.parametrize("error", [FloatingPointError("NaN"), FitError("x"), MemoryError("y")])
def test_one_failure_does_not_lose_the_others(error, monkeypatch):
    spec = quick(monkeypatch, broken=Failing(error), kernel=ScaleMixtureKernel())
    fitted = spec.fit(Dataset(ANGLES, Circle()), key=KEY)
    assert any(event.startswith("broken: failed") for event in fitted.record.events)
    assert np.isfinite(fitted.record.best_validation)


def test_nothing_left_says_why(monkeypatch):
    with pytest.raises(ValueError, match="broken: failed"):
        quick(monkeypatch, broken=Failing(FitError("because"))).fit(
            Dataset(ANGLES, Circle()), key=KEY
        )


@pytest.mark.parametrize("error", [TypeError("a bug"), ValueError("a bug"), KeyError("a bug")])
def test_a_bug_is_not_swallowed(error, monkeypatch):
    spec = quick(monkeypatch, broken=Failing(error), kernel=ScaleMixtureKernel())
    with pytest.raises(type(error), match="a bug"):
        spec.fit(Dataset(ANGLES, Circle()), key=KEY)


def test_a_row_of_weight_two_is_a_row_twice(monkeypatch):
    spec = quick(monkeypatch, kernel=ScaleMixtureKernel())
    rows, weights = ANGLES[:40], np.where(np.arange(40) < 10, 2.0, 1.0)
    weighted = spec.fit(Dataset(rows, Circle(), weights=weights), key=KEY).density
    repeated = spec.fit(Dataset(np.concatenate([rows, rows[:10]]), Circle()), key=KEY).density
    first, second = weighted.evaluate(rows).value, repeated.evaluate(rows).value
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_the_whole_is_no_worse_than_its_best_member():
    scores = [np.full(30, -1.0), np.full(30, -2.0)]
    spec = ScaleMixtureKernel()
    fitted = spec.fit(Dataset(ANGLES[:30], Circle()), key=KEY)
    members = [Member(Candidate(str(i), spec), fitted, s) for i, s in enumerate(scores)]
    record = Record(0)
    assert stacking_weights(members, held_out(30), record).tolist() == [1, 0]
    assert record.best_validation == pytest.approx(1)


def test_members_that_gain_nothing_are_left_out():
    """Of two that score alike the dear one goes; one that alone serves some rows stays."""
    good, other = np.full(100, -1.0), np.where(np.arange(100) < 20, 2.0, -9.0)
    weights = np.ones(100)
    worth = 2 * [auto_members.MIN_GAIN_NATS]
    shares, _ = prune_members(np.stack([good, good], 1), weights, [1, 50], worth)
    assert shares.tolist() == pytest.approx([1, 0])
    shares, score = prune_members(np.stack([good, other], 1), weights, [1, 50], worth)
    assert shares.min() > 0.05
    assert score > -1


def test_a_slow_member_must_gain_the_more():
    """0.05 nats are worth a wait of so long to score all rows, not of twice as long."""
    scores = [np.full(50, -1.0), np.full(50, -0.95)]
    spec = ScaleMixtureKernel()
    fitted = spec.fit(Dataset(ANGLES[:30], Circle()), key=KEY)
    for whiles, expected in ((0, [0, 1]), (45, [0, 1]), (100, [1, 0])):
        work = (0, whiles * auto_members.GAIN_WORK_UNITS)
        pair = zip(("quick", "slow"), scores, work, strict=True)
        members = [Member(Candidate(name, spec), fitted, *rest) for name, *rest in pair]
        record = Record(0)
        found = stacking_weights(members, held_out(50), record)
        assert np.round(found).tolist() == expected
        told = any(event.startswith("slow: left out") for event in record.events)
        assert told == (whiles == 100), "never silently"
    work = 1e4 * auto_members.GAIN_WORK_UNITS
    endless = Member(Candidate("slow", spec), fitted, scores[0], work)
    assert endless.required_gain == auto_members.MAX_GAIN_NATS


def served():
    spec = ScaleMixtureKernel()
    fitted = spec.fit(Dataset(ANGLES[:30], Circle()), key=KEY)
    return Member(Candidate("any", spec), fitted, np.zeros(0))


def test_kernels_are_refitted_on_all_rows(monkeypatch):
    spec = quick(monkeypatch, kernel=ScaleMixtureKernel())
    fitted = spec.fit(Dataset(ANGLES, Circle()), key=KEY)
    assert any(
        event.startswith("kernel: refitted on all 240 rows") for event in fitted.record.events
    )
    alone = ScaleMixtureKernel().fit(Dataset(ANGLES, Circle()), key=KEY).density
    found, wanted = (d.evaluate(ANGLES).value for d in (fitted.density, alone))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_rows_given_for_validation_are_not_fitted(monkeypatch):
    spec = quick(monkeypatch, kernel=ScaleMixtureKernel())
    fitted = spec.fit(
        Dataset(ANGLES[:200], Circle()), key=KEY, validation=Dataset(ANGLES[200:], Circle())
    )
    assert not any("refitted on" in event for event in fitted.record.events)
    alone = ScaleMixtureKernel().fit(Dataset(ANGLES[:200], Circle()), key=KEY).density
    found, wanted = (d.evaluate(ANGLES).value for d in (fitted.density, alone))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_kernel_that_cannot_be_refitted_stays(monkeypatch):
    record = Record(0)
    spec = ScaleMixtureKernel()
    fitted = spec.fit(Dataset(ANGLES[:100], Circle()), key=KEY)
    member = Member(Candidate("kernel", spec), fitted, np.zeros(1))
    monkeypatch.setattr(ScaleMixtureKernel, "fit", Failing(MemoryError("too much")).fit)
    everything = Dataset(ANGLES, Circle())
    split = HeldOutSet(everything, everything, everything, True, KEY)
    how = {"validation": split, "key": KEY, "record": record}
    assert refit_on_all_rows([member], everything, Budget(1e9), **how) == [member]
    assert "not refitted on all rows" in record.events[-1]


def test_nothing_is_refitted_when_the_budget_is_spent(monkeypatch):
    spec = dataclasses.replace(quick(monkeypatch, kernel=ScaleMixtureKernel()), time_limit=6e-5)
    fitted = spec.fit(Dataset(ANGLES, Circle()), key=KEY)
    assert not any("refitted on" in event for event in fitted.record.events)


@dataclasses.dataclass(frozen=True)
class Costly(AbstractEstimator):
    """An estimator that needs 10 work units and 500 rows."""

    min_rows = 500

    def _fit(self, data, *, key, validation=None, callbacks=()):
        raise NotImplementedError

    def fit_work(self, n, manifold):
        return 10.0


def test_a_candidate_is_tried_where_its_rows_and_its_work_suffice():
    record, rows = Record(0), Dataset(np.zeros((500, 1)), Circle())
    split = HeldOutSet(rows, rows, rows, True, KEY)
    search = Search(rows, split, Policy(), Budget(60.0), record, [served()])
    candidate = Candidate("costly", Costly())
    assert search.is_wanted(candidate, 10.0)
    assert not search.is_wanted(candidate, 9.0)
    assert record.events == [
        "costly: not tried, it needs 10 work units, and 9 of 60 were left for it."
    ]
    fewer = dataclasses.replace(split, kept=rows.take(np.arange(499)))
    few = dataclasses.replace(search, validation=fewer)
    assert not few.is_wanted(candidate, 1e3)
    none = dataclasses.replace(few, members=[])
    assert none.is_wanted(candidate, 0.0, is_last=True), "where nothing else serves"
    assert none.is_wanted(Candidate("kernel", Costly(), is_kernel=True), 0.0)
    assert not none.is_wanted(candidate, 0.0)


def test_the_cheap_come_first_where_rows_can_be_held_out():
    assert names_of_candidates(150)[:2] == ["local kernel", "kernel"]
    assert names_of_candidates(1000) == ["kernel", "spline flow", "mixture", "local kernel"]
    assert names_of_candidates(20_001) == ["mixture", "spline flow", "kernel", "local kernel"]


def test_only_those_that_serve_the_manifold_are_tried():
    assert names_of_candidates(1000, CYLINDER) == ["kernel", "spline flow", "local kernel"]
    assert names_of_candidates(20_001, CYLINDER) == ["spline flow", "local kernel", "kernel"]
    assert names_of_candidates(1000, Stiefel(3, 2)) == ["spline flow"]
    assert names_of_candidates(1000, Orthogonal(1))[-1] == "flow", "where no spline flow serves"


def test_many_rows_get_more_steps_unless_steps_are_given():
    def steps(n, flow):
        found = Policy().candidates(n, CYLINDER, FLOW, flow)
        return next(c.estimator.training.steps for c in found if c.name == "spline flow")

    few = SplineFlow().training.steps
    assert (steps(29_999, SplineFlow()), steps(30_000, SplineFlow())) == (few, 2 * few)
    assert steps(30_000, SPLINE_FLOW) == 4


def test_one_kernel_is_tried_however_little_is_left(monkeypatch):
    names = "mixture", "local kernel", "kernel"
    spec = quick(monkeypatch, **{name: ScaleMixtureKernel() for name in names})
    late = dataclasses.replace(spec, time_limit=6e-5)
    events = late.fit(Dataset(ANGLES, Circle()), key=KEY).record.events
    assert any(event.startswith("held-out log density of the local kernel") for event in events)
    assert any(event.startswith("kernel: not tried") for event in events)


def test_names():
    assert get_estimator("local-kernel") == get_estimator("local kernel") == LocalKernel()
    assert get_estimator("flow", steps=7).training.steps == 7
    assert get_estimator("auto", steps=7, time_limit=9.0).flow.training.steps == 7
    assert get_estimator("auto", time_limit=9.0).time_limit == 9.0
    with pytest.raises(ValueError, match="model is one of"):
        get_estimator("best")
