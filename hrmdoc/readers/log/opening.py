"""Settings that a program prints before it trains, whether or not it says that they are its configuration.

`learning_rate = 1e-3` or `Batch size: 32` on a line of its own, `lr=1e-3, batch_size=32, dropout=0.1` on
one, a mapping, a row of a box, a call of `dict(`: what bears the name of a setting, where no step and no
epoch was shown yet, is one, and so is what stands in the lines below it in the same way. A heading that
is printed again says nothing new, and its numbers are no curve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec import Struct, field

from hrmdoc.readers.log.grammar.headings import evaluates
from hrmdoc.readers.log.grammar.settings import also_curve, is_setting, plain_name, quoted_pairs, states
from hrmdoc.readers.log.grammar.words import counter_kind, measures
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.statements import literal, opens_config
from hrmdoc.record.records import Value
from hrmdoc.text import patterns

Stated = list[tuple[str, Value]]

_ASSIGNED = patterns.lazy(
    r"(\s{0,80})(?:Overriding: {1,4}|((?i:config|args|arguments|settings): ))?"
    r"([A-Za-z_][\w.]{0,60}(?:[ -][A-Za-z]\w{0,20}){0,3})"
    r"(\s{0,32}[:=]\s{1,32}|[:=])([^\s,;]{1,60}),?(?:\s{1,40}(?:\[default: .{0,60}\]|#.*))?\s{0,80}\Z"
)
_BOXED = patterns.lazy(r"\| {1,40}([A-Za-z_]\w{0,60}) *\| *([^|\s]{1,60}) *\|\s*\Z")
_CALLED = patterns.lazy(r"\s{0,40}([A-Za-z_]\w{0,60}) ?= ?\[?dict\(")
_PAIR = patterns.lazy(r"(?<![\w.])([A-Za-z_]\w{0,40}) ?[:=] ?([-+\w.]{1,40}?)(?=[,;|)\s]|\.?\Z)")
_GIVEN = patterns.lazy(r"(?<![\w.])([A-Za-z_]\w{0,60}) ?= ?('[^']{0,120}'|[^\s,()\[\]{}]{1,60})")
_SECTION = patterns.lazy(r"(\s{0,80})([A-Za-z_]\w{0,60}):\s{0,8}\Z")
_QUOTED = patterns.lazy(r"\s{0,80}['\"]")
_EVALUATION = patterns.lazy(r"\s{0,4}\*{3,8} Running (?:eval|predict|test|valid)", re.IGNORECASE)
_OF_EVALUATION = patterns.lazy(r"\s{0,8}(?:num examples|batch size)\s?[:=]", re.IGNORECASE)
_LONGEST, _LONGEST_MAPPING = 400, 8000
OPENING = 500
"""Lines in which a program states its settings, if it does."""
_FEWEST = 3
"""Settings on one line that are no curve."""
_BLOCK = 4
"""Lines below a setting that may be others of the same sort."""
_MOST_ROWS = 400
_BRACKETS = frozenset("()[]{}")
_SWITCHES = ("use_", "no_", "is_", "with_", "enable_", "do_")
_DIGITS = patterns.lazy(r"\d+")


class Row(Struct, frozen=True):
    """A line of settings, where it stands, and whether it may be one of a curve as well."""

    text: str
    line: int
    vague: bool


class Opening(State):
    """What a rank has stated before it trains.

    Attributes:
        left: lines that may still belong to a block of settings.
        sections: the sections of the row at hand, each with its indent.
        waiting: the line of a rate before a block, which may be a curve where none follows.
        shift: how far below the first time they stand that came again.
        evaluated: the line that said last that an evaluation runs.
    """

    MEASURES: ClassVar[bool] = False

    left: int = 0
    sections: list[tuple[int, str]] = field(default_factory=list)
    waiting: tuple[Line, Stated] | None = None
    shift: int | None = None
    evaluated: int = -_BLOCK - 1

    @property
    def open(self) -> bool:
        """Whether the next line may go on with a block."""
        return self.left > 0

    def pass_over(self, text: str) -> None:
        """A line that is none of a block, but for items of a list, ends it where others follow."""
        if self.left and not text.lstrip().startswith("- "):
            self.left -= 1
        if not self.left:
            self.sections.clear()

    def of_evaluation(self, line: Line) -> bool:
        """Whether it tells the sizes of an evaluation, below `***** Running Evaluation *****`."""
        if "***" in line.text:
            self.evaluated = line.mark.line if _EVALUATION.match(line.text) else -_BLOCK - 1
        near = line.mark.line - self.evaluated <= _BLOCK
        return near and _OF_EVALUATION.match(line.text) is not None


class Heading:
    """The settings of a log, by which they are known when they are printed again.

    Attributes:
        rows: the lines of settings, by their texts without digits.
        passed: a step or an epoch was shown, by any rank: what stands below is no heading.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.passed = False

    def keep(self, line: Line, stated: Sequence[tuple[str, Value]] = ()) -> None:
        """A row, by which it is known when it is printed again: lines of its shape were not read otherwise
        before, as they may have been where a step was shown."""
        if self.passed or line.mark.line > OPENING:
            return
        vague = bool(self.rows) and any(also_curve(plain_name(name)) for name, _ in stated)
        if len(self.rows) < _MOST_ROWS and len(line.text) <= _LONGEST_MAPPING:
            self.rows.setdefault(_DIGITS.sub("0", line.text), Row(line.text, line.mark.line, vague))

    def comes_again(self, line: Line, opening: Opening) -> bool | None:
        """Whether it is a row of a heading that is printed again; None where none looks like it."""
        if not self.rows or len(line.text) > _LONGEST_MAPPING:
            return None
        shape = _DIGITS.sub("0", line.text)
        row = self.rows.get(shape)
        if row is None:
            return None
        shift = line.mark.line - row.line
        if shift != opening.shift and row.text != line.text:
            del self.rows[shape]  # what changes is a curve
            return None
        if shift != opening.shift and row.vague:
            return False
        opening.shift = shift
        return True


class Found(Struct):
    """What a line states.

    Attributes:
        may: it is settings only if others stand beside it.
        sure: so it is, if it was stated otherwise before.
    """

    stated: Stated
    may: bool = False
    sure: bool = False


def settings_in(text: str, names: frozenset[str], opening: Opening | None = None) -> Found | None:
    """The settings that a line states which stands before the first step of a run; None for other lines."""
    if "{" in text or text.lstrip()[:1] in "'\"":
        return _mapped(text, names) if len(text) <= _LONGEST_MAPPING else None
    if len(text) > _LONGEST or not ("=" in text or ":" in text or text.startswith("|")):
        return None
    return _row(text, names, opening) or _together(text, names)


def _row(text: str, names: frozenset[str], opening: Opening | None) -> Found | None:
    """What a line states that is a row of its own."""
    inside = opening is not None and opening.open
    if found := _BOXED.match(text):
        return _named(found[1], "|", found[2], names, inside=inside)
    if found := _CALLED.match(text):
        return Found([(f"{found[1]}.{key}", literal(value)) for key, value in _given(text, found.end())])
    if (found := _ASSIGNED.match(text)) and not evaluates(text):
        inside = inside or found[2] is not None
        one = _named(found[3], found[4].strip(), found[5], names, inside=inside)
        return _placed(one, len(found[1]), opening) if one is not None else None
    if inside and opening is not None and (found := _SECTION.match(text)) and not opens_config(text):
        _within(opening, len(found[1])).append((len(found[1]), found[2]))
        return Found([])
    return None


def _together(text: str, names: frozenset[str]) -> Found | None:
    """What a line states that holds several settings."""
    if " | " in text and (parts := _parts(text, names)):
        return Found(parts)
    pairs = _PAIR.findall(text)
    named = [(name, literal(value)) for name, value in pairs if is_setting(name, literal(value), names)]
    return Found(named) if len(named) >= _FEWEST and 2 * len(named) > len(pairs) else None


def has_form(text: str) -> bool:
    """Whether a line is of a form in which settings are stated, be it none."""
    return "{" in text or any(one.match(text) for one in (_ASSIGNED, _BOXED, _CALLED, _SECTION, _QUOTED))


def _parts(text: str, names: frozenset[str]) -> Stated:
    """The settings of a line that are parted by bars; none where one of them is measured or counted."""
    parts = [_ASSIGNED.match(part.strip()) for part in text.split("|")]
    stated: Stated = []
    for part in parts:
        one = part and _named(part[3], "=", part[5], names, inside=False)
        if one:
            stated += one.stated
        elif part is not None and plain_name(part[3]) == "batch":
            stated.append((part[3], literal(part[5])))
        elif part is None or measures(part[3]) or counter_kind(part[3]) is not None:
            return []
    fixed = any(not also_curve(name) for name, _ in stated)
    return stated if fixed and len(stated) > 1 else []


def _named(name: str, sign: str, word: str, names: frozenset[str], *, inside: bool) -> Found | None:
    """The setting of a name and a value that stand alone on a line, where it is one."""
    value, known = literal(word), plain_name(name)
    key = known if " " in name else name
    if not _BRACKETS.isdisjoint(word) or (sign == "|" and counter_kind(name) is not None):
        return None
    if is_setting(name, value, names):
        sure = sign == "=" or not also_curve(known) or inside
        return Found([(key, value)], may=not sure) if not _is_first(known, value) else None
    return _beside(name, sign, value) if inside else None


def _beside(name: str, sign: str, value: Value) -> Found | None:
    """What a line states by a name that is no setting's, beside lines that do."""
    if " " in name:
        return None
    if name.startswith(_SWITCHES) and value in (0, 1):
        return Found([(name, value)])  # `use_cycle_loss: 1`
    if plain_name(name) == "epoch" and sign == "=" and not _is_first("batch", value):
        return Found([("epochs", value)])
    if measures(name) or counter_kind(name) is not None or name.endswith(("result", "results")):
        return None
    return Found([(name, value)] if len(name) > 1 else [])  # one letter means something else elsewhere


def _is_first(name: str, value: Value) -> bool:
    """Whether it counts batches, and no setting is stated: the first ones, not a size."""
    return name == "batch" and not (isinstance(value, int) and value > 1)


def _placed(one: Found, indent: int, opening: Opening | None) -> Found:
    """The same under the names of the sections that a row stands in."""
    if opening is None or not opening.sections:
        return one
    path = ".".join(name for _, name in _within(opening, indent))
    return Found([(f"{path}.{key}", value) for key, value in one.stated], one.may) if path else one


def _within(opening: Opening, indent: int) -> list[tuple[int, str]]:
    while opening.sections and opening.sections[-1][0] >= indent:
        opening.sections.pop()
    return opening.sections


def _given(text: str, start: int) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in _GIVEN.findall(text, start) if not value.startswith("dict"))


def _mapped(text: str, names: frozenset[str]) -> Found | None:
    """The settings of a printed mapping, or of a line of one that goes over several."""
    pairs = {key: literal(value) for key, value in quoted_pairs(text)}
    begun = text.lstrip()[:1] in "'\"" and len(pairs) == 1
    alone = begun and any(plain_name(key) in names and not also_curve(plain_name(key)) for key in pairs)
    return Found(list(pairs.items()), sure=True) if alone or states(pairs, names) else None


def read(line: Line, cursor: Cursor, heading: Heading) -> Found | None:
    """What a line states that stands before the first step, with the rates that waited for it."""
    opening = cursor.of(Opening)
    found = settings_in(line.text, cursor.log.settings, opening)
    if found is None:
        opening.pass_over(line.text)
        return None
    if found.may:
        opening.waiting = (line, found.stated)
        return found
    if opening.waiting is not None and line.mark.line - opening.waiting[0].mark.line <= _BLOCK:
        heading.keep(*opening.waiting)
        found.stated[:0] = opening.waiting[1]
    opening.waiting, opening.left = None, _BLOCK
    return found
