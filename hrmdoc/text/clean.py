"""Text from logs is hostile: it can carry terminal codes, marks that turn the direction of writing, letters
that no person sees, and commands to the program that keeps the log of a build. These functions make it safe;
`hrmdoc.text.redact` removes secrets."""

from __future__ import annotations

import math

from hrmdoc.text import patterns

ANSI = patterns.lazy(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = patterns.lazy(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_BUILD_COMMAND = patterns.lazy(r"##(?=[a-z]{0,20}\[)")
"""GitHub, Azure and TeamCity do what `##[...]`, `##vso[...]` and `##teamcity[...]` say, wherever they
stand in a line."""

HARMLESS_TRACEBACKS = ("--- Logging error ---", "Exception ignored in")
"""What stands above a traceback that ended nothing."""
THREAD = "Exception in thread Thread-"
"""What Python writes above a traceback that ended a thread, and not the program."""


def strip_ansi(text: str) -> str:
    """`text` without ANSI escape sequences."""
    return ANSI.sub("", text) if "\x1b" in text else text


def clean(text: str, limit: int = 500) -> str:
    """One printable line of at most `limit` characters: no escape sequences, control, direction-changing or
    unseen characters, and nothing that a build takes for a command."""
    head = text[: 4 * limit + 256]
    line = _CONTROL.sub("", strip_ansi(head).replace("\t", " ").replace("\r", " ").replace("\n", " "))
    if "##" in line:
        line = _BUILD_COMMAND.sub("# #", line)
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
