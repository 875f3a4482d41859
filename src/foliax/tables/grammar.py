"""The one-line form of a schema: `name: kind(column, role=column, option=value); …`.

Words with spaces or any of `:;,()="` need double quotes. The name of a factor may be left out; it
is then the name of its first column.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import SchemaTextError

_TOKEN = re.compile(
    r"""\s+ | (?P<mark>[:;,()=]) | "(?P<quoted>(?:[^"\\]|\\.)*)" | (?P<word>[^\s:;,()="]+)""",
    re.VERBOSE,
)

MAX_SHOWN_CHARACTERS = 80
"""Characters that an error shows on each side of the place in a long line of a schema."""


class Word(NamedTuple):
    """A word or a mark, and its position in the text."""

    text: str
    place: int
    mark: bool = False


class Argument(NamedTuple):
    """`value` or `key=value`."""

    key: Word | None
    value: Word


class Call(NamedTuple):
    """`name: kind(arguments)`."""

    name: Word | None
    kind: Word
    arguments: tuple[Argument, ...]


def error_at(source: str, place: int, message: str) -> SchemaTextError:
    """Return an error that points at a position in the schema's text."""
    begin = source.rfind("\n", 0, place) + 1
    end = source.find("\n", place)
    end = len(source) if end < 0 else end
    if end - begin > 2 * MAX_SHOWN_CHARACTERS:
        begin = max(begin, place - MAX_SHOWN_CHARACTERS)
        end = min(end, place + MAX_SHOWN_CHARACTERS)
    line, pointer = source[begin:end], " " * (place - begin) + "^"
    return SchemaTextError(f"Schema, character {place + 1}: {message}\n    {line}\n    {pointer}")


def quote(word: str) -> str:
    """Put a word in double quotes if the grammar requires it."""
    if re.fullmatch(r'[^\s:;,()="]+', word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def parse_calls(source: str) -> list[Call]:
    """Parse the factors of a schema.

    Raises:
        SchemaTextError: The text does not follow the grammar; the message points at the position.
    """
    parser = _Parser(source)
    found = []
    while parser.peek().text or not found:
        found.append(parser.call())
        if parser.peek().text:
            parser.expect(";", "between two factors")
    return found


def _tokenize(source: str) -> list[Word]:
    found, place = [], 0
    while place < len(source):
        match = _TOKEN.match(source, place)
        if match is None:
            raise error_at(source, place, 'the quote is not closed. Add a ".')
        if match["mark"]:
            found.append(Word(match["mark"], place, mark=True))
        elif match["word"]:
            found.append(Word(match["word"], place))
        elif match["quoted"] is not None:
            found.append(Word(re.sub(r"\\(.)", r"\1", match["quoted"]), place))
        place = match.end()
    return [*found, Word("", len(source), mark=True)]


class _Parser:
    """A recursive-descent parser over the tokens."""

    def __init__(self, source: str):
        self.source = source
        self.tokens = _tokenize(source)
        self.at = 0

    def peek(self, ahead: int = 0) -> Word:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self) -> Word:
        token = self.peek()
        self.at += 1
        return token

    def sees(self, mark: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.mark and token.text == mark

    def expect(self, mark: str, where: str) -> None:
        if not self.sees(mark):
            found = self.peek()
            seen = f"'{found.text}'" if found.text else "the end"
            raise error_at(self.source, found.place, f"expected '{mark}' {where}, found {seen}.")
        self.at += 1

    def word(self, what: str) -> Word:
        token = self.peek()
        if token.mark:
            seen = f"'{token.text}'" if token.text else "the end"
            hint = " Write e.g. depth: positive(depth)." if not token.text else ""
            raise error_at(self.source, token.place, f"expected {what}, found {seen}.{hint}")
        return self.take()

    def call(self) -> Call:
        name = self.word("a factor, name: kind(columns)")
        if self.sees(":"):
            self.at += 1
            kind = self.word("a kind")
        else:
            name, kind = None, name
        self.expect("(", f"after the kind '{kind.text}'")
        arguments = []
        while not self.sees(")"):
            arguments.append(self.argument())
            if not self.sees(")"):
                self.expect(",", "or ')' after an argument")
        self.at += 1
        return Call(name, kind, tuple(arguments))

    def argument(self) -> Argument:
        first = self.word("a column or an option")
        if not self.sees("="):
            return Argument(None, first)
        self.at += 1
        return Argument(first, self.word(f"a value for '{first.text}'"))
