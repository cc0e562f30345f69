"""How a value is written: numbers, switches and words in the style that the user's file already has."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["float", "int", "bool", "str"]
Plain = float | int | bool | str | None

_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?\Z")
_EXPONENT = re.compile(r"(?P<mantissa>[^eE]*)(?P<e>[eE])(?P<power>[+-]?\d+)\Z")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
_PAIRS = (("true", "false"), ("yes", "no"), ("on", "off"), ("y", "n"))
_SWITCHES = {word: index == 0 for pair in _PAIRS for index, word in enumerate(pair)}
NULLS = frozenset({"", "~", "null", "none"})
_SIGNIFICANT = 6


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value as text, without quotes. `string` tells that it must be read back as a string."""

    text: str
    string: bool = False


def read(text: str, kind: Kind) -> Plain:
    """The value that `text` stands for, as `kind`; None for an empty or null word.

    Raises:
        ValueError: the text is not of that kind.
    """
    word = text.strip()
    if word.lower() in NULLS:
        return None
    if kind == "str":
        return word
    if kind == "bool":
        if word.lower() in _SWITCHES:
            return _SWITCHES[word.lower()]
        if word in {"0", "1"}:
            return word == "1"
        raise ValueError(f"{word!r} is not a switch")
    if not _NUMBER.match(word):
        raise ValueError(f"{word!r} is not a number")
    value = float(word.replace("_", ""))
    if kind == "int" and value.is_integer():
        return int(value)
    return value


def same(one: Plain, other: Plain) -> bool:
    """Equality of two values as a reader of the file would see it: 1 and 1.0 are one number, `None` is only
    itself."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=0.0)
    return one == other


def rounded(value: float) -> float:
    """`value` at six significant digits, so that 1e-4 * 0.2 is 2e-05 and not 2.0000000000000002e-05."""
    return float(f"{value:.{_SIGNIFICANT}g}")


def render(value: Plain, like: str | None = None) -> Scalar:
    """`value` in the style of `like`, the text that it replaces; in a style that every reader understands
    when there is none.

    `1e-4` -> `2e-5`, `1.0e-04` -> `2.0e-05`, `0.0001` -> `0.00002`, `True` -> `False`, `yes` -> `no`. A new
    float always has a point: YAML 1.1 readers take `2e-5` for a string.
    """
    if value is None:
        return Scalar("null")
    if isinstance(value, bool):
        return Scalar(_switch(value, like))
    if isinstance(value, int):
        return Scalar(
            _number_like(value, like) if like and ("." in like or _EXPONENT.match(like)) else str(value)
        )
    if isinstance(value, float):
        return Scalar(_number_like(value, like))
    return Scalar(value, string=True)


def _switch(value: bool, like: str | None) -> str:
    word = (like or "").strip()
    if word in {"0", "1"}:
        return "1" if value else "0"
    for pair in _PAIRS:
        if word.lower() in pair:
            text = pair[0 if value else 1]
            return (
                text.upper()
                if word.isupper() and len(word) > 1
                else text.capitalize()
                if word[0].isupper()
                else text
            )
    return "true" if value else "false"


def _number_like(value: float, like: str | None) -> str:
    style = (like or "").strip()
    if not _NUMBER.match(style):
        return _portable(value)
    if found := _EXPONENT.match(style):
        return _scientific(value, found["mantissa"], found["e"], found["power"])
    if "." in style:
        return _decimal(value, point=True)
    return _decimal(value, point=False)


def _scientific(value: float, mantissa: str, letter: str, power: str) -> str:
    """`value` with an exponent of the same letter, sign and width."""
    digits, exponent = f"{value:.{_SIGNIFICANT - 1}e}".split("e")
    digits = digits.rstrip("0").rstrip(".")
    if "." in mantissa and "." not in digits:
        digits += ".0"
    width = len(power.lstrip("+-"))
    sign = "-" if int(exponent) < 0 else "+" if power.startswith("+") else ""
    return f"{digits}{letter}{sign}{abs(int(exponent)):0{width}d}"


def _decimal(value: float, point: bool) -> str:
    """`value` without an exponent, with the digits it needs."""
    text = f"{value:.{_places(value)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text}.0" if point and "." not in text else text


def _places(value: float) -> int:
    """Digits after the point that show six significant ones."""
    if value == 0:
        return 0
    return max(0, _SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))


def _portable(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return _decimal(value, point=True)
    return _scientific(value, "1.0", "e", "+0" if abs(value) >= 1 else "-0")


def quoted(text: str) -> str:
    """`text` in double quotes, as YAML and JSON both read it."""
    return json.dumps(text, ensure_ascii=False)


def plain_word(text: str) -> bool:
    """Whether YAML reads `text` as that very string without quotes, whatever the version."""
    return bool(_WORD.match(text)) and text.lower() not in NULLS and text.lower() not in _SWITCHES
