"""Building blocks of HTML."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from ..escaping import escape_html


def section(name: str, title: str, *parts: str) -> str:
    """A section with a heading; links reach it as #name."""
    return (
        f'<section id="{name}"><h2>{escape_html(title)}</h2>\n'
        + "\n".join(parts)
        + "\n</section>\n"
    )


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{f' class={kind}' if kind else ''}>{escape_html(text)}</p>"


def bullet_list(items: Iterable[str], kind: str = "") -> str:
    """A list of plain texts."""
    entries = "".join(f"<li>{escape_html(item)}</li>" for item in items)
    return f"<ul{f' class={kind}' if kind else ''}>{entries}</ul>"


def code(text: str) -> str:
    """A block of code."""
    return f"<pre><code>{escape_html(text)}</code></pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls on narrow pages; numbers are right-aligned."""
    top = "".join(f"<th>{escape_html(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{whole}</div>'


def _cell(text: str) -> str:
    bare = text.lstrip("+-−").replace(",", "").replace(" ", "")
    number = bare[:1].isdigit() or bare[:1] == "."
    return f"<td{' class=number' if number else ''}>{escape_html(text)}</td>"


def frame_table(frame: pd.DataFrame) -> str:
    """A table of a frame's rows; floats have six digits."""
    rows = (
        [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row]
        for row in frame.itertuples(index=False)
    )
    return table([str(name) for name in frame.columns], rows)


def picture(figure: Figure, caption: str, *, vector: bool = True) -> str:
    """Embed a figure as SVG, or as PNG if it has many points."""
    buffer = io.BytesIO()
    kind = "svg+xml" if vector else "png"
    with matplotlib.rc_context({"svg.hashsalt": "foliax", "svg.fonttype": "none"}):
        figure.savefig(
            buffer,
            format="svg" if vector else "png",
            dpi=150,
            metadata={"Date": None} if vector else None,
        )
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return (
        f'<figure><img alt="{escape_html(caption)}" src="data:image/{kind};base64,{data}">'
        f"<figcaption>{escape_html(caption)}</figcaption></figure>"
    )
