"""What readers make of a small file of their format, whole, torn and damaged, is kept (`records.txt`), a line
a record. Where a change of it is meant, `python -m tests.readers.test_kept_records` writes it anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hrmdoc import readers
from hrmdoc.record.records import Damage, Event, Fact, Line, Points, Record
from tests.fuzz import harness

KEPT = Path(__file__).with_name("records.txt")
SEEDS = {name: blob for name, blob in harness._PLAIN.items() if b"SQLite format 3" not in blob[:16]}
MOST = 40
"""Lines that are kept of a file; the others are counted."""


def variants(blob: bytes) -> dict[str, bytes]:
    half, third = len(blob) // 2, 2 * len(blob) // 3
    return {"whole": blob, "torn": blob[:third], "damaged": blob[:half] + b'\xff\0,"7}{' + blob[half:]}


def some(values: np.ndarray | None, spelled: str) -> str:
    """An array with its ends; NaN as a dash."""
    listed = [] if values is None else [format(one, spelled).replace("nan", "-") for one in values.tolist()]
    return " ".join(listed if len(listed) <= 6 else [*listed[:3], "..", *listed[-3:]])


def spelled(record: Record) -> str:
    match record:
        case Points():
            since = record.times - record.times[:1]  # the zone of a stamp may be that of the machine
            parts = (some(record.steps, "d"), some(record.values, ".6g"), some(since, ".3f"))
            where = f"{record.axis} {record.precision} {record.rank} {record.source.rpartition('/')[2]}"
            return f"points {record.metric} | {' | '.join(parts)} | {some(record.lines, 'd')} | {where}"
        case Line():
            return f"line {record.line} {record.text!r} {record.step} {record.rank}"
        case Fact():
            return f"fact {record.scope} {record.key} = {record.value!r} at {record.line}"
        case Event():
            return f"event {record.kind} {record.detail!r} at {record.line} {record.step} {record.rank}"
        case Damage():
            foreign = record.what.startswith("is no valid")  # goes on in the words of another library
            said = record.what.partition(":")[0] if foreign else record.what
            return f"damage {record.line} {said} {record.left_out} {record.incomplete}"
    return type(record).__name__


def told(reader: str, blob: bytes) -> list[str]:
    lines = [spelled(one) for one in harness.records(reader, harness.NAMES[reader], blob, ())]
    return lines if len(lines) <= MOST else [*lines[:MOST], f".. {len(lines) - MOST} more"]


def kept() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in KEPT.read_text("utf-8").splitlines():
        if line.startswith("# "):
            found[line.removeprefix("# ")] = []
        else:
            found[[*found][-1]].append(line)
    return found


CASES = [(reader, name) for reader in SEEDS for name in variants(b"")]


@pytest.mark.parametrize(("reader", "name"), CASES)
def test_a_reader_makes_of_its_file_what_it_did(
    reader: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told(reader, variants(SEEDS[reader])[name]) == kept()[f"{reader}, {name}"]


def test_files_of_nearly_all_readers_are_kept() -> None:
    assert len(SEEDS) > 15
    assert {one.partition(", ")[0] for one in kept()} == set(SEEDS)


def test_files_that_are_written_anew_are_read_anew() -> None:
    modules = {name: readers.reader(name) for name in readers.names()}
    anew = {name for name, module in modules.items() if module.WHOLE}
    assert anew == {
        "configs",
        "flight_recorder",
        "hf_state",
        "json_history",
        "mlflow",
        "notebook",
        "optuna",
        "prometheus",
        "run_json",
        "slurm",
        "torchrun",
        "trackio",
    }
    assert {name for name in anew if hasattr(modules[name], "runs")} == {"mlflow", "optuna", "trackio"}
    assert all(module.TITLE for module in modules.values())


def written() -> str:
    parts: list[Any] = []
    for reader, name in CASES:
        parts += [f"# {reader}, {name}", *told(reader, variants(SEEDS[reader])[name])]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    KEPT.write_text(written(), "utf-8")
