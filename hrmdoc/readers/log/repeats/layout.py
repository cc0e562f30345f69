"""Where the lines of one shape hold what they are read from, learned from one of them."""

from __future__ import annotations

import re

from msgspec import Struct

from hrmdoc.readers.log.formats.base import Again, Span
from hrmdoc.readers.log.lines.message import Message
from hrmdoc.text.clean import ANSI

_RUN = re.compile(r"[0-9]+")
_WORD = re.compile(r"[-+]?(?:nan|inf)[a-z]*(?:\.0)?", re.IGNORECASE)
"""A number by its word, `nan.0`, whose digit is part of it."""
_DIGITS_MATTER = (b"restart", b"using ", b"precision", b"unsloth", b"world size")
"""Words beside which a pattern asks for certain digits: `restart_count=1`, `using bf16`, `[rank 0, ...`."""


class Layout(Struct, frozen=True):
    """Where a line of a shape holds what: places are numbers of its runs of digits.

    Attributes:
        numbers: first and last run of each number, and how far it reaches beyond them.
        constants: numbers that are words, such as a NaN, by their place among the numbers.
        fixed: runs that must be the same.
        rank: the run of the rank, if any.
        clock: first and last run of the time up to the seconds, if any; `tick`: the seconds that the last one
            counts.
        fraction: the run of their fraction, if any.
        text: the last run before the message and how far behind it that begins, -1 for the beginning of the
            line; None where the text is not needed.
    """

    numbers: tuple[tuple[int, int, int, int], ...]
    constants: tuple[tuple[int, str], ...]
    fixed: tuple[int, ...]
    rank: int | None
    clock: tuple[int, int] | None
    fraction: int | None
    text: tuple[int, int] | None
    tick: int = 1


def hangs_on_digits(raw: bytes) -> bool:
    """Whether the meaning of a line may change with its digits."""
    lower = raw.lower()
    return any(word in lower for word in _DIGITS_MATTER)


def layout_of(
    raw: bytes, cleaned: str, message: Message, again: Again
) -> tuple[Layout, tuple[str, ...]] | None:
    """The layout of a line, and the text of its fixed runs; None where nothing can be said of other lines of
    its shape.

    Args:
        raw: the line as it stands in the log.
        cleaned: without escape codes.
        message: what was left when its prefix was peeled.
        again: where the numbers stand in it.
    """
    runs = _Runs.of(raw, cleaned)
    offset = len(cleaned) - len(message.rest)
    if runs is None or cleaned[offset:] != message.rest:
        return None
    if again.text and not (raw.isascii() and raw.decode() == cleaned):
        return None
    numbers, words = runs.numbers(message.rest, again.numbers, offset)
    if message.clock is not None and not runs.whole(message.clock):
        return None
    clock, fraction, rank = map(runs.places_within, (message.clock, message.fraction, message.ranked))
    fixed = runs.fixed(message, again, offset)
    layout = Layout(
        numbers,
        words,
        tuple(runs.places[at] for at in fixed),
        rank[0] if rank else None,
        clock,
        fraction[0] if fraction else None,
        runs.beginning(offset) if again.text else None,
        message.tick,
    )
    return layout, tuple(cleaned[slice(*runs.spans[at])] for at in fixed)


class _Runs(Struct, frozen=True):
    """Runs of digits of a line.

    Attributes:
        spans: where they stand in the text.
        places: their numbers among all runs of the raw line, escape codes with theirs.
    """

    spans: list[Span]
    places: list[int]

    @classmethod
    def of(cls, raw: bytes, cleaned: str) -> _Runs | None:
        """The runs of a line; None where cleaning made others of them."""
        text = raw.decode("latin-1")
        shown = list(_RUN.finditer(ANSI.sub(lambda code: "\0" * len(code.group()), text)))
        found = list(_RUN.finditer(cleaned))
        numbers = {run.start(): at for at, run in enumerate(_RUN.finditer(text))}
        alike = [run.group() for run in shown] == [run.group() for run in found]
        if not alike or not all(run.start() in numbers for run in shown):
            return None
        return cls([run.span() for run in found], [numbers[run.start()] for run in shown])

    def within(self, span: Span | None) -> tuple[int, int] | None:
        """The first and the last run in a span."""
        inside = [] if span is None else [at for at, run in enumerate(self.spans) if _inside(run, span)]
        return (inside[0], inside[-1]) if inside else None

    def numbers(
        self, text: str, spans: list[Span], offset: int
    ) -> tuple[tuple[tuple[int, int, int, int], ...], tuple[tuple[int, str], ...]]:
        """The runs in the raw line of the numbers in a text, and how far each reaches beyond them; and those
        that are words, by their place."""
        found, words = [], []
        for place, (start, end) in enumerate(spans):
            inside = (
                None if _WORD.fullmatch(text, start, end) else self.within((start + offset, end + offset))
            )
            if inside is None:
                words.append((place, text[start:end]))
                continue
            first, last = inside
            before, behind = self.spans[first][0] - start - offset, end + offset - self.spans[last][1]
            found.append((self.places[first], self.places[last], before, behind))
        return tuple(found), tuple(words)

    def places_within(self, span: Span | None) -> tuple[int, int] | None:
        """The same by their numbers in the raw line."""
        found = self.within(span)
        return None if found is None else (self.places[found[0]], self.places[found[1]])

    def whole(self, span: Span | None) -> bool:
        """Whether no escape code parts the runs in a span."""
        found, raw = self.within(span), self.places_within(span)
        return found is not None and raw is not None and raw[1] - raw[0] == found[1] - found[0]

    def fixed(self, message: Message, again: Again, offset: int) -> list[int]:
        """Runs that must be the same in other lines: what has digits and is neither number nor free."""
        open_spans = [
            (start + offset, end + offset)
            for start, end in (*again.numbers, *again.free)
            if not _WORD.fullmatch(message.rest, start, end)
        ]
        return [
            at
            for at, run in enumerate(self.spans)
            if (run[0] >= offset or (message.zone is not None and _inside(run, message.zone)))
            and not any(_inside(run, span) for span in open_spans)
        ]

    def beginning(self, offset: int) -> Span:
        """Where the message begins, seen from the last run before it."""
        before = [at for at, run in enumerate(self.spans) if run[1] <= offset]
        return (self.places[before[-1]], offset - self.spans[before[-1]][1]) if before else (-1, offset)


def _inside(run: Span, span: Span) -> bool:
    return span[0] <= run[0] and run[1] <= span[1]
