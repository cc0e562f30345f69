"""Mappings printed over many lines, one key to a line: `json.dump(..., indent=4)`, `pprint`, a state file
that was cut.

An object in a list, or in nothing, is a record; one that is the value of a key belongs to the record around
it.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.formats.python_dict import PythonDict
from hrmdoc.readers.log.grammar.mapping import Mapping, mapping_of
from hrmdoc.readers.log.grammar.settings import states
from hrmdoc.readers.log.grammar.words import is_result
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns

_KEY = r"""(?:"[^"\n]{1,120}"|'[^'\n]{1,120}')\s{0,8}:\s{0,8}"""
_VALUE = r"""(?:"[^"\n]{0,400}"|'[^'\n]{0,400}'|[\w.+-]{1,40}|\[\]|\{\})"""
_PAIR = rf"{_KEY}(?:(?:np\.)?(?:tensor|array|float\d\d|int\d\d)\()?{_VALUE}"
_FIRST = patterns.lazy(rf"\s{{0,80}}+(?:\{{?{_PAIR},|(?:{_KEY})?[{{\[])\s{{0,8}}\Z")
_LINE = patterns.lazy(
    rf"\s{{0,80}}+(?:\{{?(?:{_PAIR}|{_VALUE})[\s}}\]),]{{0,40}}|[}}\])\s]{{0,40}},?\s{{0,8}}(?:{_KEY})?[{{\[]{{0,4}}\s{{0,8}})\Z"
)
_SIGNS = patterns.lazy(r"""(?:"[^"\n]{0,400}"|'[^'\n]{0,400}')|([{}\[\]])""")
_MAY_OPEN = ("{", "[", " ", "\t", '"', "'")
_ENDS = (",", "{", "[")
_MOST_LINES = 1000
_DEEPEST = 32


class Part(Struct):
    """An object or a list that has not ended. Only one that is a record keeps its lines and where it
    began."""

    record: bool
    of: str
    mark: Mark
    lines: list[str] = field(default_factory=list)


class _Objects(State):
    """What is open, the innermost last."""

    parts: list[Part] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether anything is."""
        return bool(self.parts)


class JsonObject(Format):
    """Configs are no records: these show their place, or results once the run has begun or that come
    again."""

    ORDER: ClassVar[int] = 20
    MARKS: ClassVar[tuple[str, ...]] = _ENDS

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A line of such a mapping; the last one gives its record."""
        parts, text = cursor.of(_Objects).parts, line.text
        if not parts and not (text[:1] in _MAY_OPEN and _begins(text)):
            return None
        ended = self._take(parts, line)
        if ended is None:
            return None
        reading = Reading()
        for mapping, mark in ended:
            if mapping.step is None and mapping.epoch is None and any(map(is_result, mapping.values)):
                mapping.step = cursor.flow.step
            placed = mapping.step is not None or mapping.epoch is not None
            alone = not parts and not text.rstrip().endswith(",")  # none of a list's
            if placed or (alone and self._tells_results(mapping)):
                self.log.format(PythonDict).record(cursor, mapping, mark, reading)
        return reading

    def _tells_results(self, mapping: Mapping) -> bool:
        """Whether an object of no place holds results and no settings, as others of its keys may, too."""
        return any(map(is_result, mapping.values)) and not states(mapping.values, self.log.settings)

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that begins or ends otherwise than the first line of a mapping."""
        del cursor
        return not (line.text[:1] in _MAY_OPEN and line.text.rstrip().endswith(_ENDS))

    def _take(self, parts: list[Part], line: Line) -> list[tuple[Mapping, Mark]] | None:
        """The records that a line ends; None when it is no part of a mapping, which then has ended, too."""
        text, mark = line.text, line.mark
        if not _LINE.match(text):
            parts.clear()
            return None
        if not parts and text.strip()[:1] not in ("{", "["):
            parts.append(Part(True, "{", mark, ["{"]))  # only the inside of an object has such a line
        found: list[tuple[Mapping, Mark]] = []
        at = 0
        for sign in _SIGNS.finditer(text):
            if sign.group(1) is None:
                continue
            opens = sign.group(1) in "{["
            upto = sign.start() if opens else sign.end()
            _append(parts, text[at:upto])
            at = upto
            if opens:
                record = sign.group(1) == "{" and (not parts or parts[-1].of == "[")
                parts.append(Part(record, sign.group(1), mark))
            elif (ended := _ended(parts)) is not None:
                found.append(ended)
        _append(parts, text[at:])
        if len(parts) > _DEEPEST or any(len(part.lines) > _MOST_LINES for part in parts):
            self.log.leave_out("objects that are too long or too deep", mark)
            parts.clear()
        return found


def _begins(text: str) -> bool:
    """Whether a line may be the first that is seen of such a mapping."""
    return text.rstrip().endswith(_ENDS) and _FIRST.match(text) is not None


def _ended(parts: list[Part]) -> tuple[Mapping, Mark] | None:
    """The innermost part ends: the record that it was."""
    part = parts.pop() if parts else None
    if part is None or not part.record or (mapping := mapping_of(" ".join(part.lines))) is None:
        return None
    return mapping, part.mark


def _append(parts: list[Part], text: str) -> None:
    """Adds a piece of text to the innermost record around it."""
    for part in reversed(parts):
        if part.of == "[":
            return
        if part.record:
            part.lines.append(text)
            return
