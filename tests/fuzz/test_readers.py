"""No reader fails, hangs or lets its points depend on the cut of the bytes, whatever the bytes are; a short
pass."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.record.records import Points
from tests.fuzz import harness


def test_every_reader_has_a_name_and_seeds() -> None:
    assert set(harness.NAMES) == set(readers.names())
    assert all(harness.seeds(reader) for reader in readers.names())


@pytest.mark.parametrize("reader", readers.names())
def test_damaged_bytes_never_break_a_reader(reader: str, tmp_path: Path) -> None:
    rng = random.Random(reader)
    whole = harness.seeds(reader)
    for _ in range(25):
        harness.check(reader, harness.mutated(rng.choice(whole), whole, rng), tmp_path, rng)


def test_a_box_whose_cell_is_no_number_is_passed_by() -> None:
    blob = b"---------\n| loss | -0.0.0562 |\n| lr | 1e-3 |\n| total_timesteps | 64 |\n---------\n"
    found = harness.records("text", "train.log", blob, (12, 30))
    assert {one.metric: one.values.tolist() for one in found if isinstance(one, Points)} == {
        "lr": [1e-3],
        "total_timesteps": [64.0],
    }


def test_a_box_whose_count_of_steps_is_no_whole_number_stands_at_no_step() -> None:
    for count in ("inf", "1e300", "nan"):
        blob = f"---------\n| loss | 0.5 |\n| total_timesteps | {count} |\n---------\n".encode()
        [loss, *_] = [
            record for record in harness.records("text", "train.log", blob, ()) if isinstance(record, Points)
        ]
        assert (loss.metric, loss.values.tolist()) == ("loss", [0.5])


def test_a_header_that_begins_in_the_last_bytes_of_a_damaged_event_is_found_in_any_cut() -> None:
    blob = next(seed for seed in harness.seeds("tfevents") if len(seed) < 9000)
    first = 12 + int.from_bytes(blob[:8], "little") + 4
    size = 12 + int.from_bytes(blob[first : first + 8], "little") + 4
    torn = blob[: first + size - 3] + blob[first + size :]
    whole = harness._points(harness.records("tfevents", "x", torn, ()))
    for cut in range(first + size - 20, first + size + 20):
        assert harness._points(harness.records("tfevents", "x", torn, (cut,))) == whole
