"""The interactive view as an HTML fragment without external resources."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from typing import Any

from .registry import interactive_kinds

SCRIPTS = ("interactive_math.js", "interactive.js")
"""The parts of the script, in the order in which they run."""


def script() -> str:
    """The script that draws interactive views."""
    folder = files("foliax.plots")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)


def interactive_html(view: dict[str, Any]) -> str:
    """Write an interactive view as HTML.

    Args:
        view: the data that `plots.interactive` returned.

    Returns:
        A <figure> with canvas, data and script that loads nothing from the network. A page may
        hold any number of figures; each carries its own script, some kilobytes.
    """
    # "<" inside JSON could end the script element.
    data = json.dumps(view, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    description = interactive_kinds()[view["kind"]].description
    label = html.escape(f"{view['title']} {description}".strip(), quote=True)
    return (
        '<figure class="foliax-view" style="margin:1em auto;max-width:30em;text-align:center">'
        f'<canvas tabindex="0" role="img" aria-label="{label}" style="width:94%;max-width:28em;'
        'touch-action:none;cursor:grab"></canvas>'
        '<figcaption style="font:0.85em sans-serif"></figcaption>'
        f'<script type="application/json">{data}</script></figure>'
        f"<script>{script()}\nfoliaxView(document.currentScript.previousElementSibling);</script>\n"
    )
