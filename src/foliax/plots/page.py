"""The interactive view as an HTML fragment that needs nothing but itself."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from typing import Any

WORDS = {
    "globe": "A globe coloured by the density. Drag it or use the arrow keys, + and -.",
    "torus": "A map of two angles coloured by the density. Drag or use the arrow keys to move it.",
    "ball": "Rotations as points of a ball, axis times angle. Drag or use the arrow keys to turn.",
}


def interactive_html(view: dict[str, Any]) -> str:
    """A <figure> of what `interactive` gave: canvas, data and script, no network, no library.

    Any number of them may be on a page; each carries its script, some kilobytes.
    """
    # "<" inside JSON could end the script element.
    data = json.dumps(view, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    script = files("foliax.plots").joinpath("interactive.js").read_text(encoding="utf-8")
    words = html.escape(f"{view['title']} {WORDS[view['kind']]}".strip(), quote=True)
    return (
        '<figure class="foliax-view" style="margin:1em auto;max-width:30em;text-align:center">'
        f'<canvas tabindex="0" role="img" aria-label="{words}" style="width:94%;max-width:28em;'
        'touch-action:none;cursor:grab"></canvas>'
        '<figcaption style="font:0.85em sans-serif"></figcaption>'
        f'<script type="application/json">{data}</script></figure>'
        f"<script>{script}\nfoliaxView(document.currentScript.previousElementSibling);</script>\n"
    )
