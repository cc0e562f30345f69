"""A pattern takes time in proportion to the line: seen from its parts, since a clock depends on the load.

At one place of a line a repetition inside another costs the product of what both may take, so that product is
bounded. What has no bound may take the rest of the line: only one set of characters, at no place where the
search begins anew at every character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

from hrmdoc import rulebook
from hrmdoc.rulebook.alternatives import alternatives

MOST_STEPS = 20_000
"""At one place of a line: about a millisecond."""
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
SINGLE = (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY)
PATTERNS = [
    pytest.param(text, id=f"{signature.id}-{number}")
    for signature in rulebook.load().signatures.values()
    for number, text in enumerate((signature.pattern, signature.traceback))
    if text
]


class Repeat(NamedTuple):
    """A repetition: how often at most, how many steps with those around it, and what is repeated."""

    most: int
    steps: int
    body: Any

    @property
    def unbounded(self) -> bool:
        return bool(self.most == codes.MAXREPEAT)


def inner(item: tuple[Any, Any]) -> list[Any]:
    """The sequences inside one item of a parsed pattern."""
    code, argument = item
    if code in REPEATS:
        return [argument[2]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    return [argument] if code is codes.ATOMIC_GROUP else []


def repeats(sequence: Any, steps: int = 1) -> Iterator[Repeat]:
    """Every repetition; what may come once at most costs nothing."""
    for item in sequence:
        within = steps
        if item[0] in REPEATS and item[1][1] != 1:
            within = steps * int(item[1][1])
            yield Repeat(int(item[1][1]), within, item[1][2])
        for part in inner(item):
            yield from repeats(part, within)


def begins_unbounded(sequence: Any) -> bool:
    """Whether a repetition without bound may be the first that takes a character."""
    for item in sequence:
        code, argument = item
        if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
            continue
        if code in REPEATS and argument[1] == codes.MAXREPEAT:
            return True
        if any(begins_unbounded(part) for part in inner(item)):
            return True
        if code not in REPEATS or argument[0]:
            return False
    return False


def anchored(pattern: str) -> bool:
    """Whether the search can succeed only at the beginning of the line."""
    return all(re.match(r"(?:\(\?\w+\))?\^", part) for part in alternatives(pattern))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_repetitions_inside_one_another_are_bounded(pattern: str) -> None:
    found = list(repeats(_parser.parse(pattern)))
    assert max((one.steps for one in found if not one.unbounded), default=0) <= MOST_STEPS
    for one in (one for one in found if one.unbounded):
        assert one.steps == one.most, "unbounded inside another repetition"
        assert [code for code, _ in one.body if code not in SINGLE] == []


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_repetition_without_bound_does_not_begin_anew_at_every_character(pattern: str) -> None:
    if anchored(pattern):
        return
    for part in alternatives(pattern):
        parsed = _parser.parse(part)
        assert not begins_unbounded(parsed), part
        assert not any(one.unbounded and (codes.ANY, None) in list(one.body) for one in repeats(parsed)), part


@pytest.mark.parametrize("hostile", [r"(?:\w+ )+x", r"(?:a{1,300}){1,300}", r"(?:\w*\.)*x"])
def test_a_pattern_that_backtracks_without_end_is_seen(hostile: str) -> None:
    with pytest.raises(AssertionError):
        test_repetitions_inside_one_another_are_bounded(hostile)


@pytest.mark.parametrize("hostile", [r"\w+ failed", r"error.*failed", r"(?:\s*x)y"])
def test_a_pattern_that_looks_through_the_rest_of_the_line_from_everywhere_is_seen(hostile: str) -> None:
    with pytest.raises(AssertionError):
        test_a_repetition_without_bound_does_not_begin_anew_at_every_character(hostile)
