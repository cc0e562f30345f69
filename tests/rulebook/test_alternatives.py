"""Splitting a pattern at its top, and finding the parts that no example shows."""

from __future__ import annotations

import re

import pytest

from hrmdoc import rulebook
from hrmdoc.rulebook import Rulebook, Signature
from hrmdoc.rulebook.alternatives import alternatives, unshown


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("abc", ("abc",)),
        ("a|b c|d", ("a", "b c", "d")),
        ("a(?:b|c)|d", ("a(?:b|c)", "d")),
        (r"a\|b|c\(d|e", (r"a\|b", r"c\(d", "e")),
        ("[|(]a|[^]|]b", ("[|(]a", "[^]|]b")),
        (r"[\]|]a|b", (r"[\]|]a", "b")),
        ("(?i)a|b", ("(?i)a", "(?i)b")),
    ],
)
def test_a_pattern_is_split_only_between_its_topmost_parts(pattern: str, parts: tuple[str, ...]) -> None:
    assert alternatives(pattern) == parts


def test_a_line_matches_a_built_in_pattern_where_it_matches_one_of_its_parts() -> None:
    signatures = rulebook.load().signatures.values()
    several = [one for one in signatures if len(alternatives(one.pattern)) > 1 and one.examples]
    assert several
    for one in several:
        for line in one.examples:
            parts = [part for part in alternatives(one.pattern) if re.search(part, line)]
            assert bool(parts) == bool(re.search(one.pattern, line)), (one.id, line)


def signature(*examples: str) -> Signature:
    return Signature("mine", "sick", "disk (?:is )?full|no room left|quota", ("disk",), examples=examples)


def test_an_alternative_is_shown_by_a_line_that_it_alone_matches() -> None:
    assert unshown(signature("disk full", "no room left: quota")) == ["no room left", "quota"]
    assert unshown(signature("disk full", "no room left", "at work\nquota")) == []


def test_the_check_of_the_rules_names_what_no_example_shows() -> None:
    book = Rulebook(signatures={"mine": signature("disk full", "no room left")})
    assert "signature mine: no example that this alternative alone matches: quota" in rulebook.check(book)
