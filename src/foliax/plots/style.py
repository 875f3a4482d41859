"""The look of all pictures: colour scales, dots, text. Safe for colour-blind readers."""

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

COLOUR_MAP = "cividis"
"""Perceptually uniform, and the same to colour-blind readers."""
DATA = "#8FB8DE"
"""Colour of bars of data: light blue."""
DATA_EDGE = "#4A7FB0"
"""Colour of the outlines of those bars."""
MODEL = "#B34700"
"""Colour of curves of the density: dark vermilion, which also differs from the bars in print."""
RULE = "#666666"
"""Colour of reference lines and notes."""
LABEL_PT = 9
"""Font size of axis labels and legends in points."""
TICK_PT = 8
"""Font size of tick labels and notes in points."""
MAX_LINEAR_RATIO = 6
"""A scale is linear up to this ratio of its end to the density that half of the mass exceeds."""
MAX_SCALE_RATIO = 1e4
"""Largest ratio of the ends of a logarithmic scale: four decades."""


class Scale(NamedTuple):
    """A colour scale.

    Attributes:
        norm: maps values to [0, 1].
        extend: ends at which values exceed the scale: "neither", "min", "max" or "both".
    """

    norm: Normalize
    extend: str

    @property
    def low(self) -> float:
        """Lower end of the scale."""
        return float(self.norm.vmin or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the scale."""
        return float(self.norm.vmax or 1.0)

    @property
    def is_logarithmic(self) -> bool:
        """Whether the scale is logarithmic."""
        return isinstance(self.norm, LogNorm)


def colour_scale(log_values: np.ndarray, weights: np.ndarray) -> Scale:
    """Choose a scale that resolves the mass: neither a sharp peak nor empty space fills it.

    It ends at the density that 1 % of the mass exceeds. It is linear from 0 if half of the mass
    exceeds a sixth of that density. Otherwise it is logarithmic, from half the density that 99 % of
    the mass exceeds, over at most four decades.

    Args:
        log_values: log densities of the cells of a grid.
        weights: measures of the cells.

    Returns:
        The scale.
    """
    finite = np.isfinite(log_values)
    if not finite.any():
        return Scale(Normalize(0.0, 1.0), "neither")
    logs, weights = log_values[finite].ravel(), weights[finite].ravel()
    order = np.argsort(logs)
    masses = np.cumsum(weights[order] * np.exp(logs[order] - logs.max()))
    cells = np.searchsorted(masses / masses[-1], [0.01, 0.5, 0.99])
    low, half, high = np.exp(logs[order][cells])
    least, most = np.exp(logs.min()), np.exp(logs.max())
    if high <= MAX_LINEAR_RATIO * half:
        end = most if most <= 1.5 * high else high
        return Scale(Normalize(0.0, end), "neither" if end == most else "max")
    low = max(low / 2, high / MAX_SCALE_RATIO)
    ends = {(False, False): "neither", (True, False): "min", (False, True): "max"}
    extend = ends.get((bool(least < low or not finite.all()), bool(most > high)), "both")
    return Scale(LogNorm(low, high), extend)


def values_for(scale: Scale, log_values: np.ndarray) -> np.ndarray:
    """Densities to draw; a logarithmic scale gets values below its end instead of zeros."""
    floor = np.log(scale.low) - 1 if scale.is_logarithmic else -np.inf
    return np.exp(np.maximum(log_values, floor))


def add_colour_bar(figure: FigureBase, axes: Any, scale: Scale, label: str, **style: Any) -> None:
    """Draw the scale with a label beside the axes."""
    image = ScalarMappable(scale.norm, COLOUR_MAP)
    style = {"shrink": 0.75, "aspect": 26, "pad": 0.02, "extendfrac": 0.03} | style
    bar = figure.colorbar(image, ax=axes, extend=scale.extend, **style)
    bar.set_label(label, fontsize=LABEL_PT)
    bar.ax.tick_params(labelsize=TICK_PT)
    bar.outline.set_linewidth(0.5)  # type: ignore[operator]
    if scale.is_logarithmic:
        decades = np.log10(scale.high / scale.low)
        subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
        bar.locator = LogLocator(subs=subs, numticks=20)
        bar.formatter = FuncFormatter(lambda v, _: format_number(v))
        bar.update_ticks()
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.ax.xaxis.set_minor_formatter(NullFormatter())


def format_number(value: float) -> str:
    """A number without exponent: 0.01, 1, 1,000."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def dot_style(n: int) -> dict[str, Any]:
    """Style of n dots: white with a dark rim; many dots are smaller and fainter."""
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
    """Legend entry of the dots."""
    return Line2D([], [], ls="", marker="o", ms=4.5, mfc="white", mec="black", mew=0.6, label=label)


def draw_outlined_text(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write white letters with a dark outline, which are legible on every colour."""
    rim = [withStroke(linewidth=1.5, foreground="black")]
    default = {"size": 7, "ha": "center", "va": "center", "color": "white", "zorder": 4}
    ax.text(x, y, text, path_effects=rim, **(default | style))


def add_legend(figure: FigureBase, handles: list[Any]) -> None:
    """Draw a legend of one line below the picture."""
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=len(handles),
            frameon=False,
            fontsize=LABEL_PT,
        )


def tidy(ax: Axes) -> None:
    """Set small tick labels, and remove the frame above and to the right."""
    ax.tick_params(labelsize=TICK_PT)
    ax.spines[["top", "right"]].set_visible(False)
