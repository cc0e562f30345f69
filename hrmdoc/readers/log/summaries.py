"""What a program prints of its model and its optimizer: summaries of Lightning, Keras, torchinfo and timm,
and PyTorch's optimizers as they print themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hrmdoc.readers.log.grammar.values import number
from hrmdoc.text import patterns

_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_ROW = patterns.lazy(
    r"\s{0,4}([\d,]{1,20}|\d{1,4}\.\d{1,3})\s{0,3}([KMBT]?)\s{2,12}(Trainable|Total) params\s{0,4}\Z"
)
"""Lightning's: `5.1 K     Trainable params`."""
_SHARE = patterns.lazy(
    r"trainable param(?:eter)?s\s?[:=]\s?[\d,]{1,20}\s?(?:\([\d.]{1,8}\s?% of|/)\s?([\d,]{1,20})",
    re.IGNORECASE,
)
"""`Trainable parameters: 11,796,480 (0.77% of 1,533,189,120)`: the second; the first is read anyway."""
_BOTH = patterns.lazy(
    r"^\s{0,8}param(?:eter)?s: trainable\s?[:=]\s?([\d,]{1,20})[,;|/ ]{1,4}"
    r"total\s?[:=]\s?([\d,]{1,20})\s{0,8}\Z",
    re.IGNORECASE,
)
_SCALED = patterns.lazy(
    r"(?<!non-)(?<!non )\b(trainable|total) param(?:eter)?s\s?[:=]\s?(\d{1,6}(?:\.\d{1,6})?)\s?([KMB])\b",
    re.IGNORECASE,
)
_COUNTED = patterns.lazy(
    r"\bparam(?:eter)?s? count\s?[:=]\s?([\d,]{1,20})(?![\d.])|^model: ([\d,]{3,20}) parameters\b"
    r"|^\s{0,8}(?:model )?param(?:eter)?s\s?[:=]\s?([\d,]{3,20})\s?(?:\(.{0,40}\)\s{0,8})?\Z",
    re.IGNORECASE,
)
_OPTIMIZER = patterns.lazy(
    r"(?:optimizer\s?[:=]\s?)?(AdamW?|Adamax|Adagrad|Adadelta|NAdam|RAdam|SGD|RMSprop|Lion|Adafactor)"
    r" \(\s{0,4}\Z",
    re.IGNORECASE,
)
_FIRST_GROUP = patterns.lazy(r"\s{0,4}Parameter Group 0\s{0,4}\Z")


def counts_in(text: str) -> Iterator[tuple[str, int]]:
    """Canonical keys of parameter counts, in parameters, where a summary prints them in a way of its own."""
    if found := _ROW.match(text):
        yield _key(found[3]), round(number(found[1]) * _UNITS[found[2]])
    elif found := _BOTH.match(text):
        yield "model.trainable_parameters", round(number(found[1]))
        yield "model.parameters", round(number(found[2]))
    elif found := _SHARE.search(text):
        yield "model.parameters", round(number(found[1]))
    elif found := _COUNTED.search(text):
        yield "model.parameters", round(number(found[1] or found[2] or found[3]))
    for found in _SCALED.finditer(text):
        yield _key(found[1]), round(number(found[2]) * _UNITS[found[3].upper()])


def optimizer_in(text: str) -> str | None:
    """The class of the optimizer that begins to print itself on this line: `Adam (`."""
    found = _OPTIMIZER.match(text) if text.rstrip().endswith("(") else None
    return found[1] if found else None


def opens_group(text: str) -> bool:
    """Whether the settings of an optimizer's first group of parameters follow, a row each."""
    return text.lstrip().startswith("Parameter Group 0") and _FIRST_GROUP.match(text) is not None


def _key(word: str) -> str:
    return "model.parameters" if word.lower() == "total" else "model.trainable_parameters"
