"""Auto on rows in blocks: folds of all blocks choose the members, which are fitted to all rows."""

import dataclasses

import jax
import numpy as np
import pytest

from foliax.density import Dataset
from foliax.estimators import AbstractEstimator, Auto, FitError, FitResult, ScaleMixtureKernel
from foliax.estimators.auto import Policy, validation
from foliax.estimators.auto.members import Member, credit_refits
from foliax.estimators.auto.policy import Candidate
from foliax.estimators.auto.selection import score_by_other_blocks
from foliax.estimators.auto.validation import BlockFolds, HeldOutSet, choose_validation
from foliax.evaluation.estimate import mean_and_error
from foliax.manifolds import Circle
from foliax.training import Callback, Record
from foliax.training.history import CUT_SHORT

KEY = jax.random.key(0)
CIRCLE = Circle()
BLOCKS, BLOCK_ROWS = 40, 12
KERNEL = ScaleMixtureKernel(largest=1e4, ratio=4.0)


def clusters(seed, blocks=BLOCKS):
    """Blocks of nearly equal angles around centres that are drawn from one von Mises density."""
    random = np.random.default_rng(seed)
    centres = np.repeat(random.vonmises(0.0, 2.0, blocks), BLOCK_ROWS)
    angles = centres + 0.02 * random.normal(size=len(centres))
    rows = (np.angle(np.exp(1j * angles))[:, None]).astype(np.float32)
    return Dataset(rows, CIRCLE, blocks=blocks)


DATA = clusters(0)


@dataclasses.dataclass(frozen=True)
class Noted(AbstractEstimator):
    """A kernel that notes how many rows it is fitted to, and whether it is given any others."""

    largest: float
    fits: list = dataclasses.field(default_factory=list)

    def _fit(self, data, *, key, validation=None, callbacks=()) -> FitResult:
        self.fits.append((len(data), validation))
        return dataclasses.replace(KERNEL, largest=self.largest).fit(data, key=key)


def use(monkeypatch, **estimators):
    """Let Auto try these candidates."""
    named = [Candidate(name, spec, "kernel" in name) for name, spec in estimators.items()]
    monkeypatch.setattr(Policy, "candidates", lambda *_: named)
    return Auto(time_limit=1e4)


def choose(data, given=None, max_held_out=2000, key=KEY):
    how = {"fraction": 0.1, "max_held_out": max_held_out, "score_key": KEY}
    return choose_validation(data, given, key=key, **how)


def folds(data, rows=2000, key=KEY):
    found = choose(data, max_held_out=rows, key=key)
    assert isinstance(found, BlockFolds)
    return found


def same_bits(a, b):
    values = [found.density.evaluate(DATA.rows).value for found in (a, b)]
    np.testing.assert_array_equal(*values)
    assert a.record.best_validation == b.record.best_validation
    assert a.record.work == b.record.work


def test_folds_hold_whole_blocks_and_differ_by_key():
    found, other, few = folds(DATA), folds(DATA, key=jax.random.key(1)), folds(DATA, rows=100)
    assert found.n_scoring_fits == validation.FOLDS
    for block in range(BLOCKS):
        assert len(np.unique(found.fold[DATA.blocks == block])) == 1
    assert sorted(found.order) == list(range(len(DATA))), "all rows score"
    assert (np.diff(found.groups) >= 0).all()
    assert (found.fold != other.fold).any()
    np.testing.assert_array_equal(folds(DATA).fold, found.fold)
    assert len(few.scored) == len(np.unique(few.order)) == 100


@pytest.mark.parametrize(
    ("blocks", "given"), [(None, False), (0, False), (9, False), (BLOCKS, True)]
)
def test_one_held_out_set_scores_where_folds_do_not_serve(blocks, given):
    data = Dataset(DATA.rows, CIRCLE, blocks=blocks)
    found = choose(data, DATA if given else None)
    assert isinstance(found, HeldOutSet)
    assert found.split_here != given


def test_a_block_of_most_rows_is_never_left_out():
    labels = np.where(np.arange(len(DATA)) < 0.6 * len(DATA), 0, DATA.blocks)
    assert isinstance(choose(Dataset(DATA.rows, CIRCLE, blocks=labels)), HeldOutSet)


def test_the_claim_is_the_score_of_fresh_blocks(monkeypatch):
    """Over several datasets: one alone has few blocks, whose score differs by chance."""
    auto = use(monkeypatch, kernel=KERNEL, sharp=dataclasses.replace(KERNEL, smallest=64.0))
    fresh_data = clusters(99, 300)
    differences, errors = [], []
    for seed in range(6):
        fitted = auto.fit(clusters(seed), key=jax.random.key(seed))
        scores = fitted.density.evaluate(fresh_data.rows).value
        fresh = mean_and_error(scores, blocks=fresh_data.blocks)
        differences.append(-fitted.record.best_validation - fresh.value)
        errors.append(fresh.error)
    error = np.hypot(np.std(differences, ddof=1) / np.sqrt(6), np.mean(errors))
    assert error < 0.15
    assert abs(np.mean(differences)) < 3 * error


def test_chosen_members_are_fitted_to_all_rows(monkeypatch):
    first, second = Noted(1e4), Noted(30.0)
    fitted = use(monkeypatch, kernel=first, other=second).fit(DATA, key=KEY)
    n, folds = len(DATA), validation.FOLDS
    for spec in (first, second):
        sizes = [size for size, _ in spec.fits]
        assert all(given is None for _, given in spec.fits)
        assert sum(n - size for size in sizes[:folds]) == n, "each row is left out once"
    assert n in (size for spec in (first, second) for size, _ in spec.fits[folds:])
    refits = [event for event in fitted.record.events if "refitted on all" in event]
    total = sum(len(spec.fits) - folds for spec in (first, second))
    assert len(refits) == total >= 1
    assert any("members and weights from the other folds" in e for e in fitted.record.events)


def test_a_kernel_of_all_rows_claims_its_own_cross_validation(monkeypatch):
    """Folds leave out a fifth of the blocks at a time: on a random walk that is far too much."""
    fitted = use(monkeypatch, kernel=KERNEL).fit(DATA, key=KEY)
    alone = KERNEL.fit(DATA, key=jax.random.split(KEY, 6)[2])
    assert fitted.record.best_validation == pytest.approx(alone.record.best_validation, abs=1e-4)
    assert any("after the refits" in event for event in fitted.record.events)


def test_refits_are_credited_by_weight():
    density = KERNEL.fit(DATA, key=KEY).density

    def member(best, scores, is_kernel=True):
        record = Record(0)
        record.best_validation = -best
        return Member(Candidate("one", KERNEL, is_kernel), FitResult(density, record), scores)

    scores = np.array([1.0, 3.0, 3.0])
    rows = Dataset(DATA.rows[:3], CIRCLE, weights=np.array([2.0, 1.0, 1.0]))
    before = [member(0.0, scores), member(0.0, scores), member(0.0, scores, False)]
    after = [member(7.0, scores), before[1], member(9.0, scores, False)]
    record = Record(0)
    record.best_validation = -1.0
    credit_refits(before, after, np.array([0.25, 0.25, 0.5]), rows, record)
    # Only the first is a kernel that was refitted: 1 + 0.25 (7 − 2).
    assert record.best_validation == pytest.approx(-2.25)


def test_work_is_shared_by_all_fits(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Costly(Noted):
        def fit_work(self, n, manifold):
            return 10.0

    needed = 10 * (validation.FOLDS + 1)
    for limit, tried in ((2 * needed, True), (needed, False)):
        spec = Costly(30.0)
        auto = use(monkeypatch, kernel=Noted(1e4), costly=spec)
        events = dataclasses.replace(auto, time_limit=limit * 1.0).fit(DATA, key=KEY).record.events
        assert bool(spec.fits) == tried
        told = f"costly: not tried, it needs {needed} work units"
        assert any(event.startswith(told) for event in events) != tried


def test_the_same_key_gives_the_same_bits(monkeypatch):
    auto = use(monkeypatch, kernel=KERNEL, other=dataclasses.replace(KERNEL, largest=30.0))
    same_bits(auto.fit(DATA, key=KEY), auto.fit(DATA, key=KEY))


class Kept(Callback):
    """Keeps finished parts, and stops the run after some of them by an exception."""

    def __init__(self, most=1000):
        self.parts, self.most = {}, most

    def find_result(self, name):
        return self.parts.get(name)

    def keep_result(self, name, result, scores):
        self.parts[name] = result, scores
        if len(self.parts) == self.most:
            raise KeyboardInterrupt


@pytest.mark.parametrize("most", [2, 7, 11])
def test_a_resumed_run_fits_nothing_twice(most, monkeypatch):
    specs = {"kernel": Noted(1e4), "other": Noted(30.0)}
    auto = use(monkeypatch, **specs)
    whole, kept = auto.fit(DATA, key=KEY), Kept(most)
    count = sum(len(spec.fits) for spec in specs.values())
    for spec in specs.values():
        spec.fits.clear()
    with pytest.raises(KeyboardInterrupt):
        auto.fit(DATA, key=KEY, callbacks=[kept])
    assert "kernel, fold 2" in kept.parts
    kept.most = 1000
    same_bits(whole, auto.fit(DATA, key=KEY, callbacks=[kept]))
    assert sum(len(spec.fits) for spec in specs.values()) == count == len(kept.parts)


class StopAfter(Callback):
    """Stops the run after some parts."""

    def __init__(self, most):
        self.left = most

    def keep_result(self, name, result, scores):
        self.left -= 1

    def reason_to_stop(self):
        return CUT_SHORT if self.left <= 0 else ""


@pytest.mark.parametrize("most", [1, validation.FOLDS + 2])
def test_a_run_that_is_cut_between_folds_keeps_what_is_complete(most, monkeypatch):
    auto = use(monkeypatch, kernel=KERNEL, other=dataclasses.replace(KERNEL, largest=30.0))
    fitted = auto.fit(DATA, key=KEY, callbacks=[StopAfter(most)])
    assert fitted.record.stopped == CUT_SHORT
    events = " ".join(fitted.record.events)
    assert "kernel: not refitted on all rows, cut short." in events
    assert ("other: left out, not all folds were fitted." in events) == (most > 1)
    assert np.isfinite(fitted.record.best_validation)
    assert np.isfinite(fitted.density.evaluate(DATA.rows).value).all()


def test_a_failure_in_one_fold_leaves_the_candidate_out(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class FailsThird(Noted):
        def _fit(self, data, *, key, validation=None, callbacks=()):
            if len(self.fits) == 2:
                raise FitError("too few")
            return Noted._fit(self, data, key=key)

    fitted = use(monkeypatch, kernel=KERNEL, broken=FailsThird(30.0)).fit(DATA, key=KEY)
    assert "broken: failed. too few" in fitted.record.events


def test_pruning_is_part_of_the_cross_fit():
    """Each fold prefers its own member; the others choose the wrong one for it."""
    folds = np.repeat([0, 1], 50)
    scores = np.where(np.equal.outer(folds, [0, 1]), 0.0, -3.0)

    def pick(some, weights):
        best = np.eye(2)[np.argmax(some.mean(0))]
        return best, 0.0

    assert score_by_other_blocks(scores, np.ones(100), folds, pick) == -3.0
