"""The report's own figures: training curves, models side by side, coverage."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..evaluation.comparison import Entry, paired_difference
from ..plots.style import DATA, DATA_EDGE, LABEL_PT, MODEL, RULE, tidy
from ..training import Block
from .assess import Coverage


def draw_training(history: list[Block]) -> Figure:
    """Plot training loss and held-out loss against steps."""
    figure, ax = _make_figure(6.4, 3.0)
    steps = [block.step for block in history]
    ax.plot(steps, [block.loss for block in history], color=DATA_EDGE, lw=1.2, label="training")
    ax.plot(steps, [block.validation for block in history], color=MODEL, lw=1.6, label="held out")
    best = history[-1].best_validation
    if np.isfinite(best):
        ax.axhline(best, color=RULE, lw=0.8, ls=":", label=f"best held out, {best:.3f}")
    # Leave out the first steps, which are far above the rest, and NaN where no rows are held out.
    tail = np.array([v for b in history[len(history) // 10 :] for v in (b.validation, b.loss)])
    tail = tail[np.isfinite(tail)]
    if len(tail):
        margin = 0.1 * max(np.ptp(tail), 0.05)
        ax.set_ylim(tail.min() - margin, np.quantile(tail, 0.98) + margin)
    ax.set_xlabel("step", fontsize=LABEL_PT)
    ax.set_ylabel("loss (nats per row)", fontsize=LABEL_PT)
    ax.legend(fontsize=LABEL_PT, frameon=False)
    tidy(ax)
    return figure


def draw_comparison(entries: list[Entry]) -> Figure:
    """Plot the difference of each model to the first in nats per row, with 95 % intervals."""
    first, *others = [entry for entry in entries if entry.scores is not None]
    figure, ax = _make_figure(6.4, 0.9 + 0.42 * len(others))
    leads = [paired_difference(first, other) for other in others]
    positions = np.arange(len(others))[::-1]
    ax.axvline(0, color=MODEL, lw=1.6)
    ax.errorbar(
        [-one.value for one in leads],
        positions,
        xerr=[1.96 * one.error for one in leads],
        fmt="o",
        color=DATA_EDGE,
        capsize=3,
    )
    ax.set_yticks(positions, [other.name for other in others])
    ax.set_ylim(-0.6, len(others) - 0.4)
    ax.set_xlabel(f"nats per held-out row relative to {first.name} (line)", fontsize=LABEL_PT)
    tidy(ax)
    return figure


def draw_coverage(found: Coverage) -> Figure:
    """Plot the share of held-out rows inside each highest-density region, with a 95 % band."""
    figure, ax = _make_figure(4.6, 4.2)
    level = np.linspace(0.005, 0.995, 199)
    low, high = found.band(level)
    ax.fill_between(level, low, high, color=DATA, alpha=0.6, lw=0, label="expected (95 %)")
    ax.plot([0, 1], [0, 1], color=RULE, lw=0.8, ls=":")
    ax.plot(level, found.inside(level), color=MODEL, lw=1.6, label="held-out rows")
    ax.set_xlabel("mass of the model's highest-density region", fontsize=LABEL_PT)
    ax.set_ylabel("share of held-out rows inside", fontsize=LABEL_PT)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ax.legend(fontsize=LABEL_PT, frameon=False, loc="upper left")
    tidy(ax)
    return figure


def _make_figure(width: float, height: float):
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()
