"""Small pieces of HTML."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence

import matplotlib
import pandas as pd
from matplotlib.figure import Figure


def words(text: str) -> str:
    """Text, as HTML wants it."""
    return html.escape(str(text), quote=True)


def section(name: str, title: str, *parts: str) -> str:
    """A part of the page, with a heading that can be linked to."""
    return f'<section id="{name}"><h2>{words(title)}</h2>\n' + "\n".join(parts) + "\n</section>\n"


def paragraph(text: str, kind: str = "") -> str:
    """Plain text."""
    return f"<p{f' class={kind}' if kind else ''}>{words(text)}</p>"


def listed(items: Iterable[str], kind: str = "") -> str:
    """A list of plain texts."""
    each = "".join(f"<li>{words(item)}</li>" for item in items)
    return f"<ul{f' class={kind}' if kind else ''}>{each}</ul>"


def code(text: str) -> str:
    """A block to copy."""
    return f"<pre><code>{words(text)}</code></pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls by itself where the page is narrow; numbers to the right."""
    top = "".join(f"<th>{words(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{whole}</div>'


def _cell(text: str) -> str:
    bare = text.lstrip("+-−").replace(",", "").replace(" ", "")
    number = bare[:1].isdigit() or bare[:1] == "."
    return f"<td{' class=number' if number else ''}>{words(text)}</td>"


def table_of(frame: pd.DataFrame) -> str:
    """A frame's rows, numbers to six digits."""
    rows = (
        [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row]
        for row in frame.itertuples(index=False)
    )
    return table([str(name) for name in frame.columns], rows)


def picture(figure: Figure, caption: str, *, vector: bool = True) -> str:
    """A figure inside the page: as SVG, or as PNG where it has many points."""
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
        f'<figure><img alt="{words(caption)}" src="data:image/{kind};base64,{data}">'
        f"<figcaption>{words(caption)}</figcaption></figure>"
    )
