"""The default way of fitting: what it tries, what it survives."""

import dataclasses

import jax
import numpy as np
import pytest

from foliax.density import AbstractDensity, Dataset
from foliax.estimators import AbstractEstimator, Auto, LocalKernel, ScaleMixtureKernel
from foliax.estimators.auto import budget, get_estimator, policy
from foliax.estimators.auto import members as auto_members
from foliax.estimators.auto.budget import seconds_for
from foliax.estimators.auto.members import Held, Member, Weighted
from foliax.estimators.auto.selection import renewed, shared, worthwhile
from foliax.evaluation import metrics
from foliax.manifolds import AbstractManifold, Circle, Naturals, Stiefel
from foliax.training import Record

from ..small import SPEC

KEY = jax.random.key(0)
RANDOM = np.random.default_rng(0)
FLOW = dataclasses.replace(SPEC, training=dataclasses.replace(SPEC.training, steps=4, block=2))
ANGLES = RANDOM.vonmises(0.0, 4.0, (240, 1)).astype(np.float32)


def quick(monkeypatch, **replaced):
    """Auto with these candidates."""
    monkeypatch.setattr(Auto, "_candidates", lambda self, n, members: iter(replaced.items()))
    return Auto(flow=FLOW)


@dataclasses.dataclass(frozen=True)
class Failing(AbstractEstimator):
    """A candidate that fails."""

    error: Exception

    def _fit(self, where, rows, *, key, weights=None, validation=None):
        raise self.error


def test_few_rows_are_served_by_the_local_kernel():
    fitted = Auto(flow=FLOW).fit(Dataset(ANGLES[:50], Circle()), key=KEY)
    assert fitted.record.events[0].startswith("local kernel: ")
    assert len(fitted.record.events) == 1


def test_a_column_of_counts():
    counts = RANDOM.poisson(6.0, (50, 1)).astype(float)
    density = Auto(flow=FLOW).fit(Dataset(counts, Naturals(1)), key=KEY).density
    values, _ = metrics.log_densities(density, np.arange(60.0)[:, None].astype(np.float32), key=KEY)
    assert np.exp(values).sum() == pytest.approx(1, abs=0.02)


def test_where_no_kernel_serves_the_flow_does():
    frames = np.linalg.qr(RANDOM.normal(size=(50, 3, 2)))[0].reshape(50, 6)
    fitted = Auto(flow=FLOW).fit(Dataset(frames.astype(np.float32), Stiefel(3, 2)), key=KEY)
    assert type(fitted.density).__name__ == "DequantizedDensity"


@pytest.mark.parametrize("error", [FloatingPointError("NaN"), ValueError("x"), RuntimeError("y")])
def test_one_failure_does_not_lose_the_others(error, monkeypatch):
    spec = quick(monkeypatch, broken=Failing(error), kernel=ScaleMixtureKernel())
    fitted = spec.fit(Dataset(ANGLES, Circle()), key=KEY)
    assert any(event.startswith("broken: failed") for event in fitted.record.events)
    assert np.isfinite(fitted.record.best_validation)


def test_nothing_left_says_why(monkeypatch):
    with pytest.raises(ValueError, match="broken: failed"):
        quick(monkeypatch, broken=Failing(ValueError("because"))).fit(
            Dataset(ANGLES, Circle()), key=KEY
        )


def test_a_row_of_weight_two_is_a_row_twice(monkeypatch):
    spec = quick(monkeypatch, kernel=ScaleMixtureKernel())
    rows, weights = ANGLES[:40], np.where(np.arange(40) < 10, 2.0, 1.0)
    weighted = spec.fit(Dataset(rows, Circle(), weights=weights), key=KEY).density
    repeated = spec.fit(Dataset(np.concatenate([rows, rows[:10]]), Circle()), key=KEY).density
    first, _ = metrics.log_densities(weighted, rows, key=KEY)
    second, _ = metrics.log_densities(repeated, rows, key=KEY)
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_the_whole_is_no_worse_than_its_best_member():
    scores = [np.full(30, -1.0), np.full(30, -2.0)]
    spec = ScaleMixtureKernel()
    fitted = spec.fit(Dataset(ANGLES[:30], Circle()), key=KEY)
    members = [Member(str(i), spec, fitted, s) for i, s in enumerate(scores)]
    record = Record(0)
    assert shared(members, Held(np.zeros((30, 1)), None), record).tolist() == [1, 0]
    assert record.best_validation == pytest.approx(1)


def test_members_that_gain_nothing_are_left_out():
    """Of two that score alike the dear one goes; one that alone serves some rows stays."""
    good, other = np.full(100, -1.0), np.where(np.arange(100) < 20, 2.0, -9.0)
    weights = np.ones(100)
    worth = 2 * [auto_members.WORTH]
    shares, _ = worthwhile(np.stack([good, good], 1), weights, [1, 50], worth)
    assert shares.tolist() == pytest.approx([1, 0])
    shares, score = worthwhile(np.stack([good, other], 1), weights, [1, 50], worth)
    assert shares.min() > 0.05
    assert score > -1


def test_a_slow_member_must_gain_the_more():
    """0.05 nats are worth a wait of so long to score all rows, not of twice as long."""
    scores = [np.full(50, -1.0), np.full(50, -0.95)]
    spec = ScaleMixtureKernel()
    fitted = spec.fit(Dataset(ANGLES[:30], Circle()), key=KEY)
    for whiles, expected in ((0, [0, 1]), (45, [0, 1]), (100, [1, 0])):
        pair = zip(("quick", "slow"), scores, (0, whiles * auto_members.A_WHILE), strict=True)
        members = [Member(name, spec, fitted, score, seconds) for name, score, seconds in pair]
        record = Record(0)
        found = shared(members, Held(np.zeros((50, 1)), None), record)
        assert np.round(found).tolist() == expected
        told = any(event.startswith("slow: left out") for event in record.events)
        assert told == (whiles == 100), "never silently"
    endless = Member("slow", spec, fitted, scores[0], 1e4 * auto_members.A_WHILE)
    assert endless.worth == auto_members.WORTH_ANY_TIME


def served():
    spec = ScaleMixtureKernel()
    return Member("any", spec, spec.fit(Dataset(ANGLES[:30], Circle()), key=KEY), np.zeros(0))


class Clock:
    """A clock that only slow densities move."""

    now = 0.0

    def monotonic(self):
        return self.now


class Slow(AbstractDensity):
    """So many seconds once, and for each row."""

    manifold: AbstractManifold
    clock: Clock
    once: float
    each: float

    def log_prob(self, y, *, condition=None, key=None):
        raise NotImplementedError

    def sample(self, *, condition=None, key):
        raise NotImplementedError

    def log_probs(self, rows, numbers, key, chunk):
        self.clock.now += self.once + self.each * len(rows)
        return np.zeros(len(rows)), np.zeros(len(rows))

    @property
    def work(self):
        return 1

    def refine(self):
        return self


def test_what_is_done_once_is_not_charged_to_every_row(monkeypatch):
    rows, n, clock = ANGLES[:100], 100_000, Clock()
    monkeypatch.setattr(budget, "time", clock)
    once = seconds_for(n, Slow(Circle(), clock, 0.3, 1e-6), rows, first=3.0)
    assert once < auto_members.A_WHILE, "and not 3000"
    each = seconds_for(n, Slow(Circle(), clock, 0.0, 1e-2), rows, first=3.0)
    assert each == pytest.approx(1000)
    # Never called where it is quick anyway; once only where it is slow.
    assert seconds_for(n, Slow(Circle(), clock, 1e9, 0.0), rows, first=0.01) == pytest.approx(10)
    monkeypatch.setattr(budget, "PATIENCE", 1.0)
    found = seconds_for(n, Slow(Circle(), clock, 0.3, 0.0), rows, first=3.0)
    assert found == pytest.approx(300)
    # Not even once where no compiling can have taken so long.
    found = seconds_for(n, Slow(Circle(), clock, 1e9, 0.0), rows, first=5.0)
    assert found == pytest.approx(5000)


def test_kernels_are_made_anew_of_all_rows(monkeypatch):
    spec = quick(monkeypatch, kernel=ScaleMixtureKernel())
    fitted = spec.fit(Dataset(ANGLES, Circle()), key=KEY)
    assert any(
        event.startswith("kernel: made anew of all 240 rows") for event in fitted.record.events
    )
    alone = ScaleMixtureKernel().fit(Dataset(ANGLES, Circle()), key=KEY).density
    found, wanted = (metrics.log_densities(d, ANGLES, key=KEY)[0] for d in (fitted.density, alone))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_rows_given_for_validation_are_not_fitted(monkeypatch):
    spec = quick(monkeypatch, kernel=ScaleMixtureKernel())
    fitted = spec.fit(
        Dataset(ANGLES[:200], Circle()), key=KEY, validation=Dataset(ANGLES[200:], Circle())
    )
    assert not any("made anew" in event for event in fitted.record.events)
    alone = ScaleMixtureKernel().fit(Dataset(ANGLES[:200], Circle()), key=KEY).density
    found, wanted = (metrics.log_densities(d, ANGLES, key=KEY)[0] for d in (fitted.density, alone))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_kernel_that_cannot_be_made_anew_stays(monkeypatch):
    record = Record(0)
    spec = ScaleMixtureKernel()
    fitted = spec.fit(Dataset(ANGLES[:100], Circle()), key=KEY)
    member = Member("kernel", spec, fitted, np.zeros(1))
    monkeypatch.setattr(ScaleMixtureKernel, "fit", Failing(MemoryError("too much")).fit)
    everything, held = Weighted(ANGLES, None), Held(ANGLES[:1], None, own=True)
    assert renewed([member], Circle(), everything, held, 1e9, KEY, record) == [member]
    assert "not made anew" in record.events[-1]


def test_nothing_is_made_anew_when_time_is_up(monkeypatch):
    spec = dataclasses.replace(quick(monkeypatch, kernel=ScaleMixtureKernel()), minutes=1e-6)
    fitted = spec.fit(Dataset(ANGLES, Circle()), key=KEY)
    assert not any("made anew" in event for event in fitted.record.events)


def test_later_candidates_are_not_tried_when_time_is_up():
    record = Record(0)
    assert not Auto(1.0)._wanted("mixture", 5000, Held(ANGLES, None), 2.0, record)
    assert record.events == ["mixture: not tried, 2 s of 60 s were left for it."]
    assert Auto(1.0)._wanted("mixture", 5000, Held(ANGLES, None), 20.0, record)
    assert not Auto(1.0)._wanted("flow", 5000, Held(ANGLES, None), 20.0, record)
    assert Auto(1.0)._wanted("flow", 5000, Held(ANGLES, None), 30.0, record)


def test_the_cheap_come_first_where_rows_can_be_held_out():
    assert [name for name, _ in Auto()._candidates(150)][:2] == ["local kernel", "kernel"]
    assert [name for name, _ in Auto()._candidates(1000)][:2] == ["kernel", "local kernel"]
    assert [name for name, _ in Auto()._candidates(20_001)][:2] == ["mixture", "flow"]


def test_a_flow_comes_early_where_rows_are_many_and_no_mixture_serves():
    order, members = Auto()._candidates, []
    for any_served, rest in (
        (False, ["flow", "local kernel"]),
        (True, ["kernel", "local kernel", "flow"]),
    ):
        tried = order(20_001, members)
        assert next(tried)[0] == "mixture"
        members += [served()] * any_served
        assert [name for name, _ in tried][: len(rest)] == rest


def test_one_kernel_is_tried_however_late_it_is(monkeypatch):
    names = "mixture", "local kernel", "kernel"
    spec = quick(monkeypatch, **{name: ScaleMixtureKernel() for name in names})
    events = (
        dataclasses.replace(spec, minutes=1e-6)
        .fit(Dataset(ANGLES, Circle()), key=KEY)
        .record.events
    )
    assert any(event.startswith("held-out log density of the local kernel") for event in events)
    assert any(event.startswith("kernel: not tried") for event in events)


def test_a_flow_gets_the_time_that_is_left():
    assert policy.FLOW.with_time_limit(12.0).training.seconds == 12.0
    assert LocalKernel().with_time_limit(12.0) == LocalKernel()


def test_many_rows_are_thinned_before_the_slow_kernel():
    few = dict(Auto(minutes=0.001)._candidates(150))["local kernel"]
    assert few.scales.max_rows >= 150
    for members, each in (([served()], policy.SHAPED_A_MINUTE), ([], policy.SHAPED_A_MINUTE / 2)):
        shaped = dict(Auto(minutes=0.5)._candidates(1_000_000, members))["local kernel"]
        assert isinstance(shaped, LocalKernel)
        assert shaped.scales.max_rows == each / 2
    mixture = dict(Auto(minutes=0.5)._candidates(1_000_000))["mixture"]
    assert mixture.max_rows == policy.CLIMBED_A_MINUTE / 2
    longer = dict(Auto(minutes=60.0)._candidates(1_000_000, [served()]))
    assert longer["local kernel"] == LocalKernel()
    assert longer["mixture"] == policy.MIXTURE


def test_names():
    assert get_estimator("local-kernel") == get_estimator("local kernel") == LocalKernel()
    assert get_estimator("flow", steps=7).training.steps == 7
    with pytest.raises(ValueError, match="model is one of"):
        get_estimator("best")
