"""Samples in JSON lines, JSON or CSV: empty and over-long ones, masks, token ids, columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from hrmdoc.record.records import Damage, Fact

MOST_SAMPLES = 20_000
_LONGEST_LINE = 16_000_000
_MOST_DAMAGES = 5
_CHARACTERS_A_TOKEN = 4
"""English text has about four characters a token; used only where samples are not tokenized."""
_TEXT = (  # columns that hold what is trained on
    "text", "prompt", "completion", "messages", "conversations", "instruction", "input", "output",
    "question", "answer",
    "content", "chosen", "rejected", "code", "source", "response",
)  # fmt: skip
_TRUTH = (
    "answer",
    "solution",
    "ground_truth",
    "target",
    "reference",
    "label",
    "labels",
    "test_list",
    "tests",
    "expected",
)
_TARGET = ("completion", "output", "response", "chosen", "answer")
"""Columns of text that is learned; a sample whose every such column is blank teaches nothing."""
_PROMPT = ("prompt", "question", "instruction", "text", "messages", "problem")


@dataclass(slots=True)
class Tally:
    """What was counted over the samples so far."""

    longest: int | None
    samples: int = 0
    empty: int = 0
    overlong: int = 0
    labels: int = 0
    masked: int = 0
    low: int | None = None
    high: int | None = None
    columns: set[str] = field(default_factory=set)

    def take(self, sample: dict[str, Any]) -> None:
        """Counts one sample."""
        self.samples += 1
        self.columns.update(sample)
        ids = _ids(sample.get("input_ids"))
        length = (
            len(ids) if ids is not None else sum(_characters(sample[key]) for key in _TEXT if key in sample)
        )
        labels = _ids(sample.get("labels"))
        self.empty += length == 0 or _untaught(sample, labels)
        if self.longest is not None:
            self.overlong += length > self.longest * (1 if ids is not None else _CHARACTERS_A_TOKEN)
        self._range(ids or [])
        if labels is not None:
            self.labels += len(labels)
            self.masked += labels.count(-100)
            self._range([label for label in labels if label != -100])

    def _range(self, ids: list[int]) -> None:
        if ids:
            self.low = min(ids) if self.low is None else min(self.low, min(ids))
            self.high = max(ids) if self.high is None else max(self.high, max(ids))


def _untaught(sample: dict[str, Any], labels: list[int] | None) -> bool:
    """Whether nothing of a sample is to be learned: every label is masked, or every target is empty."""
    if labels is not None and labels.count(-100) == len(labels):
        return True
    targets = [key for key in _TARGET if isinstance(sample.get(key), str)]
    return bool(targets) and not any(_characters(sample[key]) for key in targets)


def _ids(value: object) -> list[int] | None:
    return value if isinstance(value, list) and all(type(item) is int for item in value) else None


def _characters(value: object) -> int:
    """Characters of text in a value, those of nested messages too."""
    if isinstance(value, str):
        return len(value.strip())
    if isinstance(value, list):
        return sum(_characters(item) for item in value)
    if isinstance(value, dict):
        return sum(_characters(value[key]) for key in ("content", "value", "text") if key in value)
    return 0


def sample_facts(path: Path, longest: int | None) -> Iterator[Fact | Damage]:
    """Facts over at most some thousand samples from the beginning of the file; bad lines are damage.

    Args:
        longest: the sequence length of the config, None when unknown.
    """
    tally = Tally(longest)
    damages = 0
    for found in _read(path):
        if isinstance(found, Damage):
            damages += 1
            if damages <= _MOST_DAMAGES:
                yield found
        elif tally.samples < MOST_SAMPLES:
            tally.take(found)
        else:
            break
    whole = tally.samples < MOST_SAMPLES
    if not tally.samples:
        yield Damage(str(path), None, "holds no samples")
        return
    for key, value in _figures(tally, whole):
        yield Fact(key, value, file=str(path))


def _figures(tally: Tally, whole: bool) -> Iterator[tuple[str, str | int | float]]:
    if whole:
        yield "data.samples", tally.samples
    yield "data.empty_fraction", tally.empty / tally.samples
    if tally.longest is not None:
        yield "data.overlong_fraction", tally.overlong / tally.samples
    if tally.labels:
        yield "data.masked_fraction", tally.masked / tally.labels
    if tally.low is not None and tally.high is not None:
        yield "data.min_token_id", tally.low
        yield "data.max_token_id", tally.high
    yield "data.columns", ", ".join(sorted(tally.columns))
    yield "data.missing_columns", missing_columns(tally.columns)


def missing_columns(columns: set[str]) -> str:
    """What reward functions usually need and the data lack: a prompt, and something to compare the completion
    with."""
    lacking = [names[0] for names in (_PROMPT, _TRUTH) if not columns.intersection(names)]
    return ", ".join(lacking)


def _read(path: Path) -> Iterator[dict[str, Any] | Damage]:
    try:
        with path.open("r", encoding="utf-8-sig", errors="replace", newline="") as stream:
            if path.suffix.lower() in {".csv", ".tsv"}:
                yield from _csv(path, stream)
            elif path.suffix.lower() == ".json":
                yield from _json(path, stream.read(4 * _LONGEST_LINE))
            else:
                yield from _json_lines(path, stream)
    except OSError as error:
        yield Damage(str(path), None, f"cannot be read: {error.strerror}")


def _csv(path: Path, stream: Any) -> Iterator[dict[str, Any] | Damage]:
    reader = csv.DictReader(stream, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        for row in reader:
            if None in row or None in row.values():
                yield Damage(
                    str(path), reader.line_num, "the row has another number of fields than the header"
                )
            else:
                yield dict(row)
    except csv.Error as error:
        yield Damage(str(path), reader.line_num, f"not CSV: {error}")


def _json(path: Path, text: str) -> Iterator[dict[str, Any] | Damage]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield Damage(str(path), getattr(error, "lineno", None), f"not JSON: {error}")
        return
    samples = (
        next((value for value in found.values() if isinstance(value, list)), [])
        if isinstance(found, dict)
        else found
    )
    for index, sample in enumerate(samples if isinstance(samples, list) else []):
        yield sample if isinstance(sample, dict) else Damage(str(path), None, f"sample {index} is no object")


def _json_lines(path: Path, stream: Any) -> Iterator[dict[str, Any] | Damage]:
    lines = iter(lambda: stream.readline(_LONGEST_LINE), "")
    for number, line in enumerate(islice(lines, 2 * MOST_SAMPLES), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Damage(str(path), number, f"not JSON: {error}")
            continue
        yield found if isinstance(found, dict) else Damage(str(path), number, "not a JSON object")
