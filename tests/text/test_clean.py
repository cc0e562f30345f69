"""Hostile text becomes harmless."""

from __future__ import annotations

import pytest

from hrmdoc.text.clean import clean, duration, redact, strip_ansi


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
    "text",
    [
        "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx",
        "token sk-proj-abcdefghijklmnop1234",
        "Authorization: Bearer abc.def.ghi",
        'wandb_api_key: "0123456789abcdef0123456789abcdef01234567"',
        "postgres://user:hunter22@db/x",
        "password=correcthorse",
    ],
)
def test_secrets_are_removed(text: str) -> None:
    redacted = redact(text)
    assert "[secret]" in redacted
    assert not any(
        part in redacted
        for part in ("abcdefghijkl", "abc.def", "0123456789abcdef", "hunter22", "correcthorse")
    )


def test_home_paths_lose_the_user() -> None:
    assert redact("/home/alice/run/train.log") == "/home/~/run/train.log"


@pytest.mark.parametrize(
    "text", ["tokens per second: 5432", "num_tokens=191", "tokenizer loaded", "step 3 loss 0.5"]
)
def test_ordinary_log_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


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
