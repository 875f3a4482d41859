"""One look for all pictures: colours that colour-blind people can tell apart, scales, dots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

MAP = "cividis"
DATA = "#8FB8DE"
"""Bars of data: light blue."""
DATA_EDGE = "#4A7FB0"
MODEL = "#B34700"
"""Curves of the density: dark vermilion, also dark where the bars are light."""
RULE = "#666666"
SMALL, TINY = 9, 8


class Scale(NamedTuple):
    """A colour scale, and at which ends values go past it."""

    norm: Normalize
    extend: str

    @property
    def low(self) -> float:
        """The least value that has a colour of its own."""
        return float(self.norm.vmin or 0.0)

    @property
    def high(self) -> float:
        """The largest value that has a colour of its own."""
        return float(self.norm.vmax or 1.0)

    @property
    def logarithmic(self) -> bool:
        """Whether colours are spaced by ratios."""
        return isinstance(self.norm, LogNorm)


def colour_scale(log_values: np.ndarray, weights: np.ndarray) -> Scale:
    """Colours where the mass is, so that neither a sharp cluster nor empty space takes them all.

    The end is the density that 1 % of the mass exceeds. By differences, from 0, where half of the
    mass is at a sixth of that or more; else by ratios, from half the density that 99 % of the mass
    exceeds, at most four decades. `weights`: the cells' measures.
    """
    finite = np.isfinite(log_values)
    if not finite.any():
        return Scale(Normalize(0.0, 1.0), "neither")
    logs, weights = log_values[finite].ravel(), weights[finite].ravel()
    order = np.argsort(logs)
    masses = np.cumsum(weights[order] * np.exp(logs[order] - logs.max()))
    where = np.searchsorted(masses / masses[-1], [0.01, 0.5, 0.99])
    low, half, high = np.exp(logs[order][where])
    least, most = np.exp(logs.min()), np.exp(logs.max())
    if high <= 6 * half:
        end = most if most <= 1.5 * high else high
        return Scale(Normalize(0.0, end), "neither" if end == most else "max")
    low = max(low / 2, high / 1e4)
    ends = {(False, False): "neither", (True, False): "min", (False, True): "max"}
    extend = ends.get((bool(least < low or not finite.all()), bool(most > high)), "both")
    return Scale(LogNorm(low, high), extend)


def values_for(scale: Scale, log_values: np.ndarray) -> np.ndarray:
    """Densities that the scale can take: zeros of a logarithmic one are far below its end."""
    floor = np.log(scale.low) - 1 if scale.logarithmic else -np.inf
    return np.exp(np.maximum(log_values, floor))


def colour_bar(figure: FigureBase, axes: Any, scale: Scale, label: str, **how: Any) -> None:
    """The scale, labelled, beside some axes."""
    image = ScalarMappable(scale.norm, MAP)
    how = {"shrink": 0.75, "aspect": 26, "pad": 0.02, "extendfrac": 0.03} | how
    bar = figure.colorbar(image, ax=axes, extend=scale.extend, **how)
    bar.set_label(label, fontsize=SMALL)
    bar.ax.tick_params(labelsize=TINY)
    bar.outline.set_linewidth(0.5)  # type: ignore[operator]
    if scale.logarithmic:
        decades = np.log10(scale.high / scale.low)
        subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
        bar.locator = LogLocator(subs=subs, numticks=20)
        bar.formatter = FuncFormatter(lambda v, _: plain(v))
        bar.update_ticks()
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.ax.xaxis.set_minor_formatter(NullFormatter())


def plain(value: float) -> str:
    """A number as people write it: 0.01, 1, 1,000."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def dots(n: int) -> dict[str, Any]:
    """How n dots are drawn: white with a dark rim, smaller and fainter the more there are."""
    n = max(n, 1)
    size = float(np.clip(260 / np.sqrt(n), 1.6, 16.0))
    alpha = float(np.clip(22 / np.sqrt(n), 0.35, 0.9))
    return {
        "s": size,
        "c": "white",
        "edgecolors": "black",
        "linewidths": float(np.clip(size / 16, 0.12, 0.6)),
        "alpha": alpha,
    }


def dot_handle(label: str) -> Line2D:
    """The legend's entry for the dots."""
    return Line2D([], [], ls="", marker="o", ms=4.5, mfc="white", mec="black", mew=0.6, label=label)


def outlined(ax: Axes, x: float, y: float, text: str, **how: Any) -> None:
    """White letters with a dark rim, legible on every colour."""
    rim = [withStroke(linewidth=1.5, foreground="black")]
    look = {"size": 7, "ha": "center", "va": "center", "color": "white", "zorder": 4}
    ax.text(x, y, text, path_effects=rim, **(look | how))


def legend(figure: FigureBase, handles: list[Any]) -> None:
    """One line below the picture."""
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=len(handles),
            frameon=False,
            fontsize=SMALL,
        )


def tidy(ax: Axes) -> None:
    """Small ticks, no frame above and to the right."""
    ax.tick_params(labelsize=TINY)
    ax.spines[["top", "right"]].set_visible(False)
