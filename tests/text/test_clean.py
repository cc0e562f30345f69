"""Hostile text becomes harmless."""

from __future__ import annotations

import pytest

from hrmdoc.text.clean import clean, duration, strip_ansi


def test_escape_sequences_are_removed() -> None:
    assert strip_ansi("\x1b[31mred\x1b[0m \x1b]0;title\x07x") == "red x"


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x1b[H", "a\x07b", "a\x00b", "a\u202eb", "a\x9bb", "\x1b]8;;http://x\x1b\\link"]
)
def test_no_control_character_survives(text: str) -> None:
    assert all(ord(c) >= 32 and not 0x7F <= ord(c) <= 0x9F and c != "\u202e" for c in clean(text))


def test_one_line_of_bounded_length_comes_out_of_ten_megabytes() -> None:
    assert len(clean("x" * 10_000_000, 100)) == 100
    assert "\n" not in clean("a\nb")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (float("nan"), "unknown"),
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (7200, "2 h"),
        (7800, "2 h 10 min"),
        (3 * 86400 + 3600, "3 d 1 h"),
    ],
)
def test_a_duration_is_said_in_two_units_at_most(seconds: float, said: str) -> None:
    assert duration(seconds) == said
