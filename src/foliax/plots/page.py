"""The interactive view as an HTML fragment without external resources."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from ..escaping import escape_control_characters, escape_html
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
    texts = _escape_texts(view)
    data = json.dumps(texts, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    description = interactive_kinds()[view["kind"]].description
    label = escape_html(f"{view['title']} {description}".strip())
    return (
        '<figure class="foliax-view" style="margin:1em auto;max-width:30em;text-align:center">'
        f'<canvas tabindex="0" role="img" aria-label="{label}" style="width:94%;max-width:28em;'
        'touch-action:none;cursor:grab"></canvas>'
        '<figcaption style="font:0.85em sans-serif"></figcaption>'
        f'<script type="application/json">{data}</script></figure>'
        f"<script>{script()}\nfoliaxView(document.currentScript.previousElementSibling);</script>\n"
    )


def _escape_texts(value: Any) -> Any:
    """Escape control characters in the texts of nested data; the script shows them as text."""
    if isinstance(value, str):
        return escape_control_characters(value)
    if isinstance(value, dict):
        return {key: _escape_texts(item) for key, item in value.items()}
    return [_escape_texts(item) for item in value] if isinstance(value, list) else value
