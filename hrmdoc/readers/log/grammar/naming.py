"""What the text before a number calls it, and what stands glued behind it."""

from __future__ import annotations

import re

from hrmdoc.readers.log.grammar.words import counter_kind, word_set
from hrmdoc.text import patterns

UNIT = patterns.lazy(r"/(?:s|sec|gpu)(?:/[a-z]{1,8})?(?![\w/])|[A-Za-zµ%][\w/%²]*|\.\d|[-:/]\d|:(?=\Z)")
_END = patterns.lazy(r"(?:[\s:=\"'(\[~@>]|\*\*|\bis\b|\bwas\b|\btensor\b|\bnp\.float\d\d\b){1,24}\Z")
_PARTS = patterns.lazy(
    r"[|,;\t{}\[\]\"'<>!?]|\s-+\s|\s{2,}|\s#\s|[:=]\s|[:=](?=[A-Za-z])|\)\s|→|·|•|\s/\s|\A[\s:.)\]/%]+|\band\b|\.\s"
)
FIRST_WORDS = patterns.lazy(
    r"\A(?:(?:current|the|with|and|a|my|average of|of|so far|has|had)\s+)+", re.IGNORECASE
)
_SO_FAR = patterns.lazy(r"\s+(?:so far|value of)\Z")
_PICTURES = patterns.lazy(r"[^\w\s\x00-\x7f]+")
_NAME = patterns.lazy(r"[A-Za-z_][\w\s/.@%+\-()²#^*$:&]{0,63}\Z")
_NO_LAST_WORDS = word_set(
    "to from by than for with over below above under and vs or after before until reached took every per",
    "least be of needs on has in needed will",
)
_PROSE = word_set(
    "a an the her his their she he it they we you so will has have had needs need if then each what how who",
    "please find saved saving synced created loaded initialized",
)
"""Words of sentences: a name that holds one is none."""
_PHONES = " PER"
"""A rate of phone errors, as no sentence writes it: `dev loss 1.2 dev PER 31.5%`."""
_FILE = patterns.lazy(r"\.(?:py|pyx|ipynb|cc|cpp|cxx|cu|cuh|h|hpp|rs|go|jl|sh)\Z", re.IGNORECASE)
"""`losses.py:49: UserWarning` names a line of a program."""
_EXPLICIT = (":", "=", "[", "tensor", "np.float")
_LONGEST = 160
_LONGEST_TAIL = 24
_MOST_WORDS = 6


def unit_after(gap: str) -> str | None:
    """What is glued to the end of a number: a unit, or something that makes it no number; None when nothing
    is."""
    found = UNIT.match(gap)
    if found is None:
        return None
    text = found.group()
    return None if text == ":" else text


def name_of(gap: str, first: bool) -> str:
    """The name that a gap gives to the number after it, empty when there is none."""
    if not first and (unit := UNIT.match(gap)) is not None:
        gap = gap[unit.end() :]
    gap = gap[-_LONGEST:]
    core = _END.sub("", gap)
    end = gap[len(core) :]
    explicit = any(mark in end for mark in _EXPLICIT)
    if "(" in end and not explicit:
        return ""
    core, tail = _without_tail(core)
    core = _SO_FAR.sub("", core if core.isascii() else _PICTURES.sub(" ", core))
    name = _PARTS.split(core)[-1] or ""
    name = FIRST_WORDS.sub("", " ".join(name.split()).strip(" -*#>.:/_~+")).strip()
    if "(" in name and ")" not in name:
        inner = name.rpartition("(")[2].strip()
        name = inner if not first or counter_kind(inner) else name
    if not _names(name, explicit):
        return ""
    return f"{name} {tail}" if tail and core.endswith(" ") else name + tail


def _without_tail(core: str) -> tuple[str, str]:
    """A name, and what stands in brackets behind it."""
    opened = _opening(core) if core.endswith(")") else -1
    return (
        (core[:opened], core[opened:]) if opened > 0 and len(core) - opened <= _LONGEST_TAIL else (core, "")
    )


def _opening(core: str) -> int:
    """Where the bracket opens that the end closes, as in `D(G(z))`; -1 where none does."""
    open_now = 0
    for at in range(len(core) - 1, -1, -1):
        open_now += (core[at] == ")") - (core[at] == "(")
        if open_now == 0:
            return at
    return -1


def _names(name: str, explicit: bool) -> bool:
    """Whether words are a name and no part of a sentence; `it=300` counts iterations."""
    words = name.lower().split(" ")
    if name.endswith(_PHONES):
        return len(words) <= _MOST_WORDS
    prose = not _PROSE.isdisjoint(words) and not (words == ["it"] and explicit)
    if prose or words == ["at"] or len(words) > _MOST_WORDS or words[-1] in _NO_LAST_WORDS:
        return False
    if _FILE.search(name):
        return False
    return _NAME.match(name) is not None
