"""Mappings printed over many lines, one key to a line: `json.dump(..., indent=4)`, `pprint`, a state file
that was cut.

An object in a list, or in nothing, is a record; one that is the value of a key belongs to the record around
it.
"""

from __future__ import annotations

from msgspec import Struct, field

from hrmdoc.readers.log.dicts import Mapping, mapping_of
from hrmdoc.readers.log.sink import Mark
from hrmdoc.text import patterns

_KEY = r"""(?:"[^"\n]{1,120}"|'[^'\n]{1,120}')\s{0,8}:\s{0,8}"""
_VALUE = r"""(?:"[^"\n]{0,400}"|'[^'\n]{0,400}'|[\w.+-]{1,40}|\[\]|\{\})"""
_PAIR = rf"{_KEY}(?:(?:np\.)?(?:tensor|array|float\d\d|int\d\d)\()?{_VALUE}"
_FIRST = patterns.lazy(rf"\s{{0,80}}+(?:\{{?{_PAIR},|(?:{_KEY})?[{{\[])\s{{0,8}}\Z")
_LINE = patterns.lazy(
    rf"\s{{0,80}}+(?:\{{?(?:{_PAIR}|{_VALUE})[\s}}\]),]{{0,40}}|[}}\])\s]{{0,40}},?\s{{0,8}}(?:{_KEY})?[{{\[]{{0,4}}\s{{0,8}})\Z"
)
_SIGNS = patterns.lazy(r"""(?:"[^"\n]{0,400}"|'[^'\n]{0,400}')|([{}\[\]])""")
_MOST_LINES = 1000
_DEEPEST = 32


class Part(Struct):
    """An object or a list that has not ended. Only one that is a record keeps its lines and where it
    began."""

    record: bool
    of: str
    mark: Mark
    lines: list[str] = field(default_factory=list)


def begins(text: str) -> bool:
    """Whether a line may be the first that is seen of such a mapping."""
    return _FIRST.match(text) is not None


def read(parts: list[Part], text: str, mark: Mark) -> list[tuple[Mapping, Mark]] | None:
    """The records that a line ends; None when it is no part of such a mapping, which then has ended, too.

    Args:
        parts: what is open, the innermost last. Nothing, and a line that only the inside of an object has:
            one is open.
    """
    if not _LINE.match(text):
        parts.clear()
        return None
    if not parts and text.strip()[:1] not in ("{", "["):
        parts.append(Part(True, "{", mark, ["{"]))
    found: list[tuple[Mapping, Mark]] = []
    told = 0
    for sign in _SIGNS.finditer(text):
        if sign.group(1) is None:
            continue
        if sign.group(1) in "{[":
            _tell(parts, text[told : sign.start()])
            told = sign.start()
            record = sign.group(1) == "{" and (not parts or parts[-1].of == "[")
            parts.append(Part(record, sign.group(1), mark))
        else:
            _tell(parts, text[told : sign.end()])
            told = sign.end()
            ended = parts.pop() if parts else None
            if ended is not None and ended.record and (mapping := mapping_of(" ".join(ended.lines))):
                found.append((mapping, ended.mark))
    _tell(parts, text[told:])
    if len(parts) > _DEEPEST or any(len(part.lines) > _MOST_LINES for part in parts):
        parts.clear()
    return found


def _tell(parts: list[Part], text: str) -> None:
    """Adds a piece of text to the innermost record around it."""
    for part in reversed(parts):
        if part.of == "[":
            return
        if part.record:
            part.lines.append(text)
            return
