"""The cost model: what estimators declare, and that the clock decides nothing."""

import dataclasses
import time

import jax
import numpy as np
import pytest

from foliax.density import Dataset
from foliax.estimators import (
    AbstractEstimator,
    Auto,
    DirectionalMixture,
    FitResult,
    LocalKernel,
    MobiusFlow,
    ScaleMixtureKernel,
    get_estimator,
)
from foliax.estimators.auto import Policy
from foliax.estimators.auto.policy import Candidate
from foliax.manifolds import (
    Circle,
    Euclidean,
    Orientations,
    Product,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from foliax.training import Block, Callback, train
from foliax.training.history import CUT_SHORT

from ..small import SPEC

KEY = jax.random.key(0)
MANIFOLDS = {
    "S²": Sphere(2),
    "T³": Torus(3),
    "SO(3)": SpecialOrthogonal(3),
    "crystals": Orientations("222"),
    "mixed": Product(Sphere(2), Circle(), Euclidean(1)),
}
ESTIMATORS = {name: get_estimator(name) for name in ("kernel", "local kernel", "mixture", "flow")}
SHORT = dataclasses.replace(SPEC.training, steps=4, eval_every=2)
FLOW = dataclasses.replace(SPEC, training=SHORT)
ANGLES = np.random.default_rng(0).vonmises(0.0, 4.0, (240, 1)).astype(np.float32)
TINY_KERNEL = ScaleMixtureKernel(smallest=1.0, largest=64.0, ratio=4.0)


class Undeclared(AbstractEstimator):
    """An estimator that declares nothing."""

    def _fit(self, data, *, key, validation=None, callbacks=()):
        return TINY_KERNEL.fit(data, key=key)


SERVED = [
    pytest.param(estimator, manifold, id=f"{name}, {where}")
    for name, estimator in {**ESTIMATORS, "undeclared": Undeclared()}.items()
    for where, manifold in MANIFOLDS.items()
    if estimator.serves(manifold)
]


@pytest.mark.parametrize(("estimator", "manifold"), SERVED)
def test_more_rows_never_cost_less(estimator, manifold):
    rows = (1, 10, 199, 200, 1999, 2000, 20_000, 20_001, 10**6)
    work = [estimator.fit_work(n, manifold) for n in rows]
    assert work[0] > 0
    assert all(np.diff(work) >= 0)
    least = [estimator.min_work(n, manifold) for n in rows]
    assert all(a <= b for a, b in zip(least, work, strict=True))


@pytest.mark.parametrize(("estimator", "manifold"), SERVED)
@pytest.mark.parametrize("n", [500, 15_000, 200_000])
def test_an_estimator_stays_within_its_work(estimator, manifold, n):
    least, whole = estimator.min_work(n, manifold), estimator.fit_work(n, manifold)
    for work in np.linspace(least, whole, 3):
        assert estimator.within(work, n, manifold).fit_work(n, manifold) <= work * (1 + 1e-6) + 1e-9
    assert estimator.within(1e9, n, manifold).fit_work(n, manifold) == whole


def test_what_is_served():
    assert [name for name, e in ESTIMATORS.items() if e.serves(Stiefel(3, 2))] == ["flow"]
    assert not ESTIMATORS["mixture"].serves(MANIFOLDS["mixed"])
    assert MobiusFlow().serves(Sphere(2))
    assert not MobiusFlow().serves(SpecialOrthogonal(3))


def test_less_work_means_fewer_rows_steps_and_components():
    flow = ESTIMATORS["flow"].within(45.0, 5000, Sphere(2))
    assert 250 <= flow.training.steps < 6000
    assert flow.training.steps % flow.training.eval_every == 0
    assert flow.training.time_limit == 0, "steps end it, not the clock"
    local = ESTIMATORS["local kernel"].within(20.0, 15_000, Sphere(2))
    assert isinstance(local, LocalKernel)
    assert 2000 <= local.scales.max_rows < 15_000
    mixture = ESTIMATORS["mixture"].within(20.0, 10**6, Sphere(2))
    assert isinstance(mixture, DirectionalMixture)
    assert 10_000 <= mixture.max_rows < 50_000
    assert mixture.max_work == 20.0


@pytest.mark.parametrize(
    ("n", "manifold", "expected"),
    [
        (900, "S²", ["kernel", "spline flow", "mixture", "local kernel"]),
        (9000, "S²", ["kernel", "spline flow", "mixture", "local kernel"]),
        (9000, "mixed", ["kernel", "spline flow", "local kernel"]),
        (98_000, "S²", ["mixture", "spline flow", "kernel"]),
        (98_000, "mixed", ["spline flow", "local kernel"]),
    ],
)
def test_the_default_limit_suffices_for_these_candidates(n, manifold, expected):
    where, left, tried = MANIFOLDS[manifold], Auto().time_limit, []
    policy = Policy()
    candidates = policy.candidates(n, where, Auto().flow, Auto().spline_flow)
    for candidate in candidates:
        work = policy.work_for(candidate.name, left, 0.0, leads=not tried)
        estimator = candidate.estimator
        if not tried or (n >= estimator.min_rows and work >= estimator.min_work(n, where)):
            tried.append(candidate.name)
            left -= estimator.within(work, n, where).fit_work(n, where)
    assert tried[: len(expected)] == expected


def run_auto(monkeypatch, **candidates):
    named = [Candidate(name, spec, "kernel" in name) for name, spec in candidates.items()]
    monkeypatch.setattr(Policy, "candidates", lambda *_: named)
    return Auto(time_limit=60.0, flow=FLOW).fit(Dataset(ANGLES, Circle()), key=KEY)


@pytest.mark.parametrize("speed", [20.0, 0.05])
def test_the_same_key_gives_the_same_bits_however_fast_the_clock_is(speed, monkeypatch):
    mixture = DirectionalMixture(choose="held-out", max_components=4, restarts=1, steps=20)
    candidates = {"kernel": TINY_KERNEL, "mixture": mixture, "undeclared": Undeclared()}
    first = run_auto(monkeypatch, **candidates)
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: speed * real())
    second = run_auto(monkeypatch, **candidates)
    assert first.record.work == second.record.work > 0
    assert first.record.stopped == second.record.stopped == "done"
    values = [found.density.evaluate(ANGLES).value for found in (first, second)]
    np.testing.assert_array_equal(*values)


@dataclasses.dataclass(frozen=True)
class Sleeping(AbstractEstimator):
    """A kernel that takes 10 minutes by a clock that it moves."""

    clock: list

    def _fit(self, data, *, key, validation=None, callbacks=()) -> FitResult:
        self.clock[0] += 600.0
        return TINY_KERNEL.fit(data, key=key)


def test_a_run_far_over_its_limit_is_cut_and_says_so(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    fitted = run_auto(monkeypatch, slow=Sleeping(clock), kernel=TINY_KERNEL)
    assert fitted.record.stopped == CUT_SHORT
    assert "kernel: not tried, cut short." in fitted.record.events
    assert "cut short after 240 s, far over its time limit of 60 s" in fitted.record.events[-1]
    assert np.isfinite(fitted.density.evaluate(ANGLES).value).all()


def test_refits_are_cut_too(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    @dataclasses.dataclass(frozen=True)
    class Refitting(Sleeping):
        def uses_all_rows(self, n):
            return True

    fitted = run_auto(monkeypatch, slow=Refitting(clock))
    assert fitted.record.stopped == CUT_SHORT
    assert "slow: not refitted on all rows, cut short." in fitted.record.events


class StopAtOnce(Callback):
    def reason_to_stop(self):
        return CUT_SHORT


def test_a_training_and_a_search_end_where_a_callback_says_so():
    data = Dataset(ANGLES, Circle())
    model = FLOW.build(data, key=KEY)
    _, record = train(model, data, key=KEY, training=SHORT, callbacks=[StopAtOnce()])
    assert record.stopped == CUT_SHORT
    assert [block.step for block in record.history if isinstance(block, Block)] == [2]
    assert "Stopped after step 2" in record.events[-1]
    spec = DirectionalMixture(max_components=8, restarts=1, steps=5)
    found = spec.fit(data, key=KEY, callbacks=[StopAtOnce()]).record
    assert found.stopped == CUT_SHORT
    assert found.best_step == 1
