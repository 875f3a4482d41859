"""Make text from files harmless: for terminals, and for HTML."""

from __future__ import annotations

import html
import re

CONTROL_CHARACTERS = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that control a terminal or the direction of text, or are invisible; surrogates."""


def escape_control_characters(text: str, keep: str = "\n\t") -> str:
    r"""Replace control characters by escapes such as \x1b, so that a terminal shows them.

    Args:
        text: Any text, for example of a model file.
        keep: Characters to leave unchanged. By default those of a text of several lines.

    Returns:
        The text with escapes.
    """

    def escape(match: re.Match[str]) -> str:
        character = match[0]
        return character if character in keep else ascii(character)[1:-1]

    return CONTROL_CHARACTERS.sub(escape, text)


def escape_html(text: str) -> str:
    """Escape plain text for HTML, also inside attributes, and show its control characters.

    Args:
        text: Any text, for example a column's name.

    Returns:
        HTML that shows the text: no tag, no escape sequence, no change of direction.
    """
    return html.escape(escape_control_characters(str(text)), quote=True)
