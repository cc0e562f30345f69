"""Figures of earlier commits on the runs of one matrix, so that a change of rules can be judged:
benchmarks/lab/history.csv."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.lab.judge import Verdict

HISTORY = Path(__file__).with_name("history.csv")
Row = tuple[str, ...]


def digest(verdicts: Sequence[Verdict]) -> str:
    """Which runs were examined."""
    return hashlib.sha256("".join(sorted(v.key for v in verdicts)).encode()).hexdigest()[:12]


def record(
    commit: str, verdicts: Sequence[Verdict], rows: Sequence[Sequence[object]], path: Path = HISTORY
) -> None:
    """Adds `rows`, one a group of programs, in place of what is there of the same commit and runs."""
    runs = digest(verdicts)
    kept = [row for row in _read(path) if row[:2] != (commit, runs)]
    kept += [(commit, runs, *map(str, row)) for row in rows]
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(kept)


def comparable(verdicts: Sequence[Verdict], path: Path = HISTORY) -> list[Row]:
    """Commit and figures of every record of exactly these runs, oldest first."""
    runs = digest(verdicts)
    return [(row[0], *row[2:]) for row in _read(path) if row[1] == runs]


def _read(path: Path) -> list[Row]:
    if not path.is_file():
        return []
    with path.open(newline="") as stream:
        return [tuple(row) for row in csv.reader(stream)]
