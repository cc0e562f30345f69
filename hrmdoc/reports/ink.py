"""Styled lines, and a console for what is no terminal.

A report that goes to a file, a pipe or a job's log shows no style: rich, which takes as long to load as a
short run takes to read, is then not needed. On a terminal rich draws the same lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import IO, Any, Protocol

_STYLED = ("FORCE_COLOR", "TTY_COMPATIBLE", "JUPYTER_COLUMNS", "JUPYTER_LINES")
"""Variables by which rich is told that a stream which is no terminal shows styles all the same."""
_WORD = re.compile(r"\s*\S+\s*")
_NARROW = re.compile(
    r"[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u2199\u2212\u2500-\u25fc\u2713\u2717]*"
)
"""Text of letters that each take one column, as nearly all are; rich knows the others."""


class Surface(Protocol):
    """What lines are printed on: a console of rich, or `Plain`."""

    @property
    def width(self) -> int:
        """Columns."""
        ...

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        ...

    def print(self, *lines: Any, soft_wrap: bool | None = None) -> None:
        """Prints a line, or an empty one; `soft_wrap`: whatever its length."""
        ...


class Text:
    """Pieces of text with the style of each, in rich's words; `style` is that of the whole."""

    __slots__ = ("_pieces", "_style")

    def __init__(self, text: str = "", style: str = "") -> None:
        self._style = style
        self._pieces: list[tuple[str, str]] = [(text, "")] if text else []

    @property
    def plain(self) -> str:
        """The text alone."""
        return "".join(text for text, _ in self._pieces)

    @property
    def cell_len(self) -> int:
        """The columns that it takes."""
        return columns(self.plain)

    def append(self, text: str, style: str = "") -> Text:
        """Adds a piece; gives this text back."""
        if text:
            self._pieces.append((text, style))
        return self

    def append_text(self, other: Text) -> Text:
        """Adds the pieces of another, with its style; gives this text back."""
        self._pieces += [(text, f"{other._style} {style}".strip()) for text, style in other._pieces]
        return self

    def join(self, texts: Iterable[Text]) -> Text:
        """All of these with this one between them."""
        joined = Text(style=self._style)
        for number, text in enumerate(texts):
            if number:
                joined._pieces += self._pieces
            joined.append_text(text)
        return joined

    def rstrip(self) -> None:
        """Takes away the blanks at its end."""
        self._pieces = self._cut(0, len(self.plain.rstrip()))

    def wrap(self, room: int) -> list[Text]:
        """Its lines when words are wrapped at `room` columns, as rich wraps them; longer words are folded."""
        lines, begin = [], 0
        for line in self.plain.split("\n"):
            cuts = [0, *_breaks(line, room), len(line)]
            for start, end in pairwise(cuts):
                part = Text(style=self._style)
                part._pieces = self._cut(begin + start, begin + end)
                part.rstrip()
                lines.append(part)
            begin += len(line) + 1
        return lines

    def _cut(self, begin: int, end: int) -> list[tuple[str, str]]:
        """The pieces between two places."""
        kept, at = [], 0
        for text, style in self._pieces:
            part = text[max(0, begin - at) : max(0, end - at)]
            at += len(text)
            if part:
                kept.append((part, style))
        return kept

    def __rich__(self) -> Any:
        """The same as rich has it, which calls this."""
        from rich.text import Text as Styled

        return Styled.assemble(*self._pieces, style=self._style)


def columns(text: str) -> int:
    """The columns that a text takes."""
    if _NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _breaks(line: str, room: int) -> Iterator[int]:
    """Where a line is broken."""
    used = 0
    for word in _WORD.finditer(line):
        start, length = word.start(), columns(word[0].rstrip())
        if length <= room - used:
            used += columns(word[0])
        elif length > room:
            if start:
                yield start
            used = 0
            for at in range(start, word.end()):
                wide = columns(line[at])
                if used + wide > room:
                    yield at
                    used = 0
                used += wide
        elif used and start:
            yield start
            used = columns(word[0])


class Plain:
    """A console of a stream that shows no styles.

    Attributes:
        width: columns to wrap at.
    """

    is_terminal = False

    def __init__(self, stream: IO[str], width: int) -> None:
        self._stream = stream
        self.width = width

    def print(self, *lines: Any, soft_wrap: bool | None = None) -> None:
        """Prints a line, or an empty one; `soft_wrap`: whatever its length."""
        for line in lines or ("",):
            text = line if isinstance(line, Text) else Text(str(line))
            for part in [text] if soft_wrap else text.wrap(self.width):
                self._stream.write(part.plain + "\n")
        self._stream.flush()


def shows_styles(stream: IO[str]) -> bool:
    """Whether rich would show styles on a stream, or is told so by the environment."""
    return stream.isatty() or any(os.environ.get(name) for name in _STYLED)
