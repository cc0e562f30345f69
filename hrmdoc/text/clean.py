"""Text from logs is hostile: it can carry terminal codes, markup, secrets and paths. These functions make it
safe."""

from __future__ import annotations

import math
import re

from hrmdoc.text import patterns

ANSI = patterns.lazy(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = patterns.lazy(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

HARMLESS_TRACEBACKS = ("--- Logging error ---", "Exception ignored in")
"""What stands above a traceback that ended nothing."""

_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        patterns.lazy(
            r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
            r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16})\b"
        ),
        "[secret]",
    ),
    (patterns.lazy(r"(?i)\b(authorization\s*[:=]\s*)(?:bearer|basic|token)?\s*[^\s,;\"']+"), r"\1[secret]"),
    (
        patterns.lazy(
            r"(?i)((?:api[_-]?key|access[_-]?key|secret|passw(?:or)?d|auth[_-]?token|access[_-]?token|wandb_api_key|hf_token|private[_-]?key)"
            r"[\"']?\s*[:=]\s*[\"']?)(?![\"'\s])[^\s,;&\"']{4,}"
        ),
        r"\1[secret]",
    ),
    (patterns.lazy(r"([a-z][a-z0-9+.-]*://[^\s/:@]+:)[^\s/@]+@"), r"\1[secret]@"),
)
_HOME = patterns.lazy(r"(?:(?<=^)|(?<=[\s\"'=:(,\[]))(/home/|/Users/|/global/homes/\w/)[^/\s\"']+")


def strip_ansi(text: str) -> str:
    """`text` without ANSI escape sequences."""
    return ANSI.sub("", text) if "\x1b" in text else text


def clean(text: str, limit: int = 500) -> str:
    """One printable line of at most `limit` characters: no escape sequences, control, or direction-changing
    characters."""
    head = text[: 4 * limit + 256]
    line = _CONTROL.sub("", strip_ansi(head).replace("\t", " ").replace("\r", " ").replace("\n", " "))
    return line if len(line) <= limit and len(text) <= len(head) else line[: limit - 1] + "…"


def duration(seconds: float) -> str:
    """Seconds as a person says them, in two units at most: `45 s`, `2 h 10 min`, `3 d 4 h`; `unknown` where
    not finite."""
    if not math.isfinite(seconds):
        return "unknown"
    rest = round(seconds)
    if rest < 60:
        return f"{rest} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    first = next(index for index, (_, size) in enumerate(units) if rest >= size)
    words = []
    for name, size in units[first : first + 2]:
        count, rest = divmod(rest, size)
        words += [f"{count} {name}"] if count else []
    return " ".join(words)


def redact(text: str) -> str:
    """`text` with tokens, keys, passwords and the user part of home paths replaced."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return _HOME.sub(r"\1~", text)
