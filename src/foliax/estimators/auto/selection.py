"""Choose the members by held-out likelihood and weight them."""

from __future__ import annotations

import time

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...density import AbstractDensity, Stacked
from ...manifolds import AbstractManifold
from ...training import Record
from ..weights import mixture_weights
from .members import WORTH, Held, Member, Weighted

FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError, np.linalg.LinAlgError)
"""What a candidate may fail with; the others go on."""


def shared(members: list[Member], held: Held, record: Record) -> Float[np.ndarray, " k"]:
    """The members' shares in the mixture; the best one's is all where the whole is no better."""
    if held.rows is None:
        record.best_validation = members[0].fitted.record.best_validation
        return np.eye(len(members))[0]
    weights = np.ones(len(held.rows)) if held.weights is None else np.asarray(held.weights, float)
    scores = np.stack([m.scores for m in members], axis=1).astype(float)
    work = [m.fitted.density.work for m in members]
    pi, score = worthwhile(scores, weights, work, [m.worth for m in members])
    for number, member in enumerate(members):
        alone = float(np.average(member.scores, weights=weights))
        record.events.append(f"held-out log density of the {member.name}: {alone:.4f}")
        slow = member.worth if pi[number] == 0 and member.worth > WORTH else 0.0
        if alone >= score + slow:
            pi, score = np.eye(len(members))[number], alone
    record.events += [
        f"{m.name}: left out, it gains less than {m.worth:.4f} nats, and evaluating as many rows "
        f"as were given would take {m.seconds:.0f} s."
        for p, m in zip(pi, members, strict=True)
        if p == 0 and m.worth > WORTH
    ]
    named = [f"{p:.3f} {m.name}" for p, m in zip(pi, members, strict=True) if p > 0]
    record.events.append(f"held-out log density of the whole ({', '.join(named)}): {score:.4f}")
    record.best_validation = -score
    return pi


def worthwhile(
    scores: Float[np.ndarray, "h k"],
    weights: Float[np.ndarray, " h"],
    work: list[int],
    worth: list[float],
) -> tuple[Float[np.ndarray, " k"], float]:
    """Shares by EM and their score, without those that gain less than their `worth`.

    The dear ones first, by worth and then by work.
    """
    use = np.ones(len(work), bool)

    def weighed(use: np.ndarray) -> tuple[np.ndarray, float]:
        pi = np.zeros(len(use))
        pi[use], score = mixture_weights(scores[:, use], weights, prior=1.0)
        return pi, score

    for number in np.lexsort((work, worth))[::-1]:
        fewer = use & (np.arange(len(use)) != number)
        served = fewer.any() and np.isfinite(scores[:, fewer].max(1)).all()
        if served and weighed(fewer)[1] > weighed(use)[1] - worth[number]:
            use = fewer
    return weighed(use)


def renewed(
    members: list[Member],
    where: AbstractManifold,
    everything: Weighted,
    held: Held,
    seconds: float,
    key: PRNGKeyArray,
    record: Record,
) -> list[Member]:
    """The members, of which the kernels are fitted anew to all rows where time is left for it."""
    found = []
    for member in members:
        rows, weights = everything
        if 0 < member.again(len(rows), held) < seconds:
            began = time.monotonic()
            try:
                member = member._replace(
                    fitted=member.spec.fit(where, rows, key=key, weights=weights)
                )
                event = f"made anew of all {len(rows)} rows"
            except FAILURES as error:
                event = f"not made anew of all rows. {error}"
            taken = time.monotonic() - began
            seconds -= taken
            record.events.append(f"{member.name}: {event}, {taken:.1f} s")
        found.append(member)
    return found


def together(members: list[Member], shares: Float[np.ndarray, " k"]) -> AbstractDensity:
    """The mixture of the members; one alone is itself."""
    if len(members) == 1:
        return members[0].fitted.density
    logs = jnp.asarray(np.log(shares), jnp.float32)
    return Stacked(tuple(m.fitted.density for m in members), logs)
