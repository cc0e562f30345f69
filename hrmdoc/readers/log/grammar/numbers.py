"""Finds the numbers of a line."""

from __future__ import annotations

import re

from hrmdoc.text import patterns

_NOT_GLUED = r"(?<![\w.$@].)(?<!\w-.)"
_DECIMALS = r"(?:\.\d+)?(?:[eE][-+]?\d+)?"
_DIGITS = (
    rf"(?:(?<=\d)(?:\d{{0,2}}(?:,\d{{3}}){{1,6}}(?!\d|,\d)|\d*){_DECIMALS}"
    rf"|(?<=[-+])(?:\d+{_DECIMALS}|\.\d+)|(?<=\.)\d+(?:[eE][-+]?\d+)?)"
)
_NOT_SAID = r"(?! +(?:loss|grad|value|iter|step|enc|det|or |in |is |at |found|and ))"
_A_VALUE = (
    r"(?:(?:(?<=[=:]\w{3})|(?<=[=:] \w{3}))(?= +\w+ ?[=:])"
    r"|(?:(?<=loss \w{3})|(?<=norm \w{3})|(?<=grad \w{3})|(?<=acc \w{3})|(?<=ppl \w{3}))"
    r"(?= +(?:(?:at|in|on) +)?[\w/.]+ +[-+]?(?:\d|nan\b|inf\b))"
    r"|(?<=\d \w{3})(?= +[a-z][\w/.]*(?: [a-z][\w/.]*)?[ =:]+(?:\d|[-+.]|nan\b|inf\b)))"
)
"""`loss=nan grad_norm=1.0`, `loss nan grad_norm 1.0`, `loss 480 nan Grad Norm 1.0`: between names a nan is a
value, whatever the next name is."""
_NUMBER = patterns.lazy(rf"([-+.\d]{_NOT_GLUED}{_DIGITS})")
_WORD = r"(?<!of .)(?:(?<=[-+])(?:nan|inf)|(?<=n)an|(?<=i)nf)(?:inity)?(?:\.0)?(?!\w)"
_NUMBER_OR_WORD = patterns.lazy(
    rf"([-+.\dnNiI]{_NOT_GLUED}(?:{_DIGITS}|{_WORD}(?:{_A_VALUE}|{_NOT_SAID})))", re.IGNORECASE
)
_NUMBER_OR_ANY_WORD = patterns.lazy(rf"([-+.\dnNiI]{_NOT_GLUED}(?:{_DIGITS}|{_WORD}))", re.IGNORECASE)
_IN_TURN = patterns.lazy(
    r"\s*(?:(?!(?:found|detected|encountered|skip\w*|got|has|had|with|any|no|of|for|is|at)\b)"
    r"[a-z][\w/.-]{0,60}[ :=]{1,4}[-+]?(?:\d[\d.,]{0,24}(?:e[-+]?\d{1,3})?|nan|inf)%?(?:[\s,;|]+|\Z))+\Z",
    re.IGNORECASE,
)
"""`step 30 reward nan loss 0.47`: in a line of names and numbers in turn a nan is the value of the name
before it, not what the next one is."""
_HINTS = ("nan", "inf", "NaN", "Inf", "NAN", "INF")
_PLAIN_OR_WORD = patterns.lazy(
    r"[-+]?(?:(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?|(?:nan|inf(?:inity)?)(?:\.0)?)", re.IGNORECASE
)
_MAY_GO_ON = patterns.lazy(r"\d|[,.](?:\d|\Z)|[eE][-+]?(?:\d|\Z)|\Z")
"""What stands behind a number and might belong to one of other digits; nothing does before the next one."""


def split_numbers(text: str) -> list[str]:
    """Texts and numbers in turn, a text first and last; `nan` is a number unless it is spoken of (`number of
    nan iterations`)."""
    for hint in _HINTS:
        if hint in text:
            pattern = _NUMBER_OR_ANY_WORD if _IN_TURN.match(text) else _NUMBER_OR_WORD
            return pattern.split(text)
    return _NUMBER.split(text)


def spans_of(text: str, numbers: list[str]) -> list[tuple[int, int]] | None:
    """Where the numbers of a text stand; None where other digits in their places might be cut in another way.

    A number of digits alone, which nothing before or after it could belong to, is one number however many
    digits it has; a NaN is one whatever the others are. A sign before or behind it that is not its own stays
    so: what parts them are no digits.
    """
    parts = split_numbers(text)
    gaps = parts[::2]
    if parts[1::2] != numbers or not all(map(_PLAIN_OR_WORD.fullmatch, numbers)):
        return None
    if any(gap.endswith(".") for gap in gaps[:-1]):
        return None
    if any(map(_MAY_GO_ON.match, (*gaps[1:-1], f"{gaps[-1]} "))):
        return None
    spans, at = [], 0
    for gap, number in zip(gaps, numbers, strict=False):
        spans.append((at + len(gap), at + len(gap) + len(number)))
        at = spans[-1][1]
    return spans


def gaps_of(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Where what is between the numbers of a text stands, shape [spans + 1]."""
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return list(zip([0, *ends], [*starts, len(text)], strict=True))
