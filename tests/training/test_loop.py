import dataclasses
import signal
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.density import Dataset
from foliax.paper import targets
from foliax.training import (
    Checkpoint,
    CheckpointError,
    ImportanceWeighted,
    OnBlock,
    Training,
    TrainingDivergedError,
    count_parameters,
    train,
)

from ..small import SPEC, rows_of

TARGET = targets.sphere_s2()
ROWS = rows_of(TARGET, 400)
DATA = Dataset(ROWS, TARGET.manifold)
TRAIN, HELD_OUT = DATA.take(np.arange(50, 400)), DATA.take(np.arange(50))


def built(seed=0):
    return SPEC.build(DATA, key=jax.random.key(seed))


def leaves(d):
    return [np.asarray(a) for a in jax.tree.leaves(d) if hasattr(a, "shape")]


def same_bits(a, b):
    return all((x == y).all() for x, y in zip(leaves(a), leaves(b), strict=True))


def run(**changes):
    options = {"key": jax.random.key(1), "training": SPEC.training, "validation": HELD_OUT}
    return train(built(), TRAIN, **{**options, **changes})


def test_the_same_seed_gives_the_same_bits():
    assert same_bits(run()[0], run()[0])
    assert not same_bits(run()[0], run(key=jax.random.key(2))[0])


def test_training_lowers_the_held_out_loss():
    _, record = run(training=dataclasses.replace(SPEC.training, steps=200))
    assert record.best_validation < record.history[0].validation
    assert record.history[-1].step == 200
    assert record.stopped == "all steps done"
    assert record.parameters == count_parameters(built())


class Stop(Exception):
    pass


def test_resuming_gives_the_same_bits(tmp_path):
    whole, record = run()

    def killed(block):
        if block.step == 40:
            raise Stop

    checkpoint = Checkpoint(tmp_path / "run")
    with pytest.raises(Stop):
        run(callbacks=[checkpoint, OnBlock(killed)])
    resumed, second = run(callbacks=[checkpoint])
    assert same_bits(whole, resumed)
    assert [b.loss for b in second.history] == [b.loss for b in record.history]
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]


KILLED = """
import jax, sys, pathlib
from foliax.training import Checkpoint, OnBlock
from tests.training import test_loop as t
checkpoint = Checkpoint(pathlib.Path(sys.argv[1]))
t.run(callbacks=[checkpoint, OnBlock(lambda block: print(block.step, flush=True))])
"""


def test_a_killed_process_resumes_to_the_same_bits(tmp_path):
    """SIGKILL after the first block that is reported, whenever that is."""
    path = tmp_path / "run"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE) as p:
        assert p.stdout is not None
        p.stdout.readline()
        time.sleep(0.01)
        p.send_signal(signal.SIGKILL)
    assert same_bits(run()[0], run(callbacks=[Checkpoint(path)])[0])


def test_foreign_and_damaged_checkpoints_are_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run")
    run(callbacks=[checkpoint])
    with pytest.raises(CheckpointError, match="another training"):
        run(callbacks=[checkpoint], key=jax.random.key(9))
    other = eqx.tree_at(lambda d: d.dequantizer.net.activation, built(), jnp.tanh)
    with pytest.raises(CheckpointError, match="another training"):
        train(
            other,
            TRAIN,
            key=jax.random.key(1),
            training=SPEC.training,
            validation=HELD_OUT,
            callbacks=[checkpoint],
        )
    whole = checkpoint.path.read_bytes()
    for damaged in (whole[:-100], b"not a checkpoint\n" + whole):
        checkpoint.path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            run(callbacks=[checkpoint])


@dataclasses.dataclass(frozen=True)
class Explosive(ImportanceWeighted):
    """Turns NaN whenever the rate has not been cut: a stand-in for a divergence."""

    forever: bool = False

    def value_and_grad(self, params, static, batch, *, key):
        value, gradient = ImportanceWeighted(self.samples).value_and_grad(
            params, static, batch, key=key
        )
        size = sum(jnp.abs(p).max() for p in jax.tree.leaves(params))
        return jnp.where((size > 1e3) | self.forever, jnp.nan, value), gradient


def test_a_divergence_is_taken_back_and_reported():
    # Adam's steps are as large as the rate: at this one the parameters pass 1e3 in a block.
    wild = dataclasses.replace(
        SPEC.training, learning_rate=300.0, warmup=0, clip=1e9, lr_backoff=1e-5
    )
    trained, record = run(objective=Explosive(2), training=wild)
    assert any("went back, learning rate × 1e-05" in event for event in record.events)
    assert all(np.isfinite(a).all() for a in leaves(trained) if a.dtype.kind == "f")
    assert record.history[-1].step == wild.steps


def test_a_divergence_that_stays_fails_loudly():
    with pytest.raises(TrainingDivergedError, match="4 smaller rates did not help"):
        run(objective=Explosive(2, forever=True))


@dataclasses.dataclass(frozen=True)
class NanGradient(ImportanceWeighted):
    """A finite loss with a gradient that is not."""

    def value_and_grad(self, params, static, batch, *, key):
        value, gradient = ImportanceWeighted(2).value_and_grad(params, static, batch, key=key)
        return value, jax.tree.map(lambda g: g * jnp.nan, gradient)


def test_parameters_that_are_not_finite_are_noticed_at_once():
    one = dataclasses.replace(SPEC.training, steps=1, eval_every=1)
    with pytest.raises(TrainingDivergedError, match="parameters that are not finite"):
        run(objective=NanGradient(2), training=one, validation=None)


def test_patience():
    lazy = dataclasses.replace(SPEC.training, steps=400, patience=2, learning_rate=1e-12)
    _, record = run(training=lazy)
    assert record.stopped == "no improvement for 2 blocks"
    assert record.history[-1].step < 400


def test_no_block_is_begun_after_the_time_limit():
    trained, record = run(training=dataclasses.replace(SPEC.training, time_limit=1e-9))
    assert len(record.history) == 1
    assert record.stopped == "reached the time limit of 0 s"
    assert not same_bits(trained, built())


def test_an_interrupt_keeps_the_best_so_far():
    def interrupt(block):
        if block.step == 40:
            raise KeyboardInterrupt

    trained, record = run(callbacks=[OnBlock(interrupt)])
    shorter, _ = run(training=dataclasses.replace(SPEC.training, schedule="constant", steps=40))
    assert record.stopped == "interrupted"
    assert "Interrupted after step 40" in record.events[0]
    assert len(leaves(trained)) == len(leaves(shorter))
    assert not same_bits(trained, built())


def test_an_interrupt_before_the_first_block_is_the_callers(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("foliax.training.steps.Run.advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run()


def test_fresh_draws_and_weights():
    def sampler(key, n):
        return jax.vmap(lambda k: TARGET.sample(key=k))(jax.random.split(key, n))

    fresh = Dataset(sampler, TARGET.manifold)
    trained, record = train(built(), fresh, key=jax.random.key(0), training=SPEC.training)
    assert record.history[-1].step == SPEC.training.steps
    assert not same_bits(trained, built())


def test_zero_weights_leave_rows_out():
    far = -ROWS
    rows, weights = jnp.concatenate([ROWS, far]), jnp.repeat(jnp.array([1.0, 0.0]), len(ROWS))
    long = dataclasses.replace(SPEC.training, steps=300, batch_size=64)
    rows_and_weights = Dataset(rows, TARGET.manifold, weights)
    weighted, _ = train(built(), rows_and_weights, key=jax.random.key(0), training=long)
    both, _ = train(built(), Dataset(rows, TARGET.manifold), key=jax.random.key(0), training=long)
    score = jax.jit(jax.vmap(lambda y: weighted.log_prob(y).value - both.log_prob(y).value))
    assert float(score(ROWS).mean()) > 0.2
    assert float(score(far).mean()) < -0.2


def test_refusals():
    with pytest.raises(ValueError, match="no rows"):
        run(validation=DATA.take(np.arange(0)))
    lost = DATA.replace(rows=ROWS.at[3].set(jnp.nan))
    with pytest.raises(ValueError, match="Row 3 is not finite"):
        train(built(), lost, key=jax.random.key(0))
    for bad, message in (
        ({"steps": 0}, "steps >= 1"),
        ({"learning_rate": 0.0}, "learning_rate > 0"),
        ({"schedule": "cosin"}, "'cosine' or 'constant'"),
        ({"ema": 1.0}, "ema < 1"),
    ):
        with pytest.raises(ValueError, match=message):
            Training(**bad)


@pytest.mark.slow
def test_twenty_seeds_none_divergent():
    hot = dataclasses.replace(SPEC.training, steps=500, eval_every=100, learning_rate=5e-3)
    for seed in range(20):
        _, record = run(key=jax.random.key(seed), training=hot)
        assert not record.events
        assert record.best_validation < 2.3
