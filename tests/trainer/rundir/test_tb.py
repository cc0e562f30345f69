from __future__ import annotations

import math
import struct
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

from hrmdoc.trainer.rundir.tb import FLUSH_S, EventFile, Row, frame, record


def read(path: Path) -> list[tuple[int, float, dict[str, float]]]:
    events = [event for event in EventFileLoader(str(path)).Load() if event.summary.value]
    return [(e.step, e.wall_time, {v.tag: v.tensor.float_val[0] for v in e.summary.value}) for e in events]


def test_all_scalars_of_a_step_share_one_record_that_tensorboard_reads(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    file.write(
        [Row(1, 1000.0, {"train/lm_loss": 2.5, "train/lr": 0.5}), Row(2, 1001.0, {"train/lm_loss": 2.25})]
    )
    file.close()
    assert read(file.path) == [
        (1, 1000.0, {"train/lm_loss": 2.5, "train/lr": 0.5}),
        (2, 1001.0, {"train/lm_loss": 2.25}),
    ]


def test_numbers_that_are_not_finite_are_kept(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    file.write([Row(1, 1.0, {"a": math.nan, "b": math.inf})])
    file.close()
    values = read(file.path)[0][2]
    assert math.isnan(values["a"])
    assert values["b"] == math.inf


def test_the_file_starts_with_its_version_and_two_writers_never_share_a_name(tmp_path: Path) -> None:
    first, second = EventFile(tmp_path, start=5.0), EventFile(tmp_path, start=5.0)
    assert first.path != second.path
    assert b"brain.Event:2" in first.path.read_bytes()
    first.close()
    second.close()


def test_a_watcher_sees_values_while_the_run_goes_on(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    file.write([Row(1, 1.0, {"a": 1.0})])
    deadline = time.monotonic() + 20 * FLUSH_S
    while not read(file.path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert read(file.path)[0][2] == {"a": 1.0}
    file.close()


def test_after_a_flush_every_row_is_in_the_file(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    for step in range(300):
        file.write([Row(step, 1.0, {"a": 1.0})])
    file.flush()
    assert [step for step, *_ in read(file.path)] == list(range(300))
    file.close()
    file.flush()


def test_a_full_disk_is_noted_and_not_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = EventFile(tmp_path)

    def full(data: bytes) -> int:
        raise OSError(28, "No space left on device")

    class Full:
        write = staticmethod(full)
        flush = staticmethod(lambda: None)
        close = staticmethod(lambda: None)

    monkeypatch.setattr(file, "_file", Full())
    file.write([Row(1, 1.0, {"a": 1.0})])
    file.close()
    file.close()
    assert file.error is not None
    assert file.error.errno == 28


def test_a_record_is_framed_with_masked_checksums() -> None:
    framed = frame(b"abc")
    assert struct.unpack("<Q", framed[:8]) == (3,)
    assert framed[12:15] == b"abc"
    # the length checksum of 3, as TensorFlow writes it
    assert len(framed) == 8 + 4 + 3 + 4
    assert record(Row(1, 2.0, {})) != record(Row(2, 2.0, {}))


def test_a_record_is_the_event_that_protocol_buffers_would_make() -> None:
    values = {"train/lm_loss": 0.25, "π" * 90: -1e39, "nan": math.nan, "": 1e-46}
    found = Event.FromString(record(Row(3_000_000_000, 1.5, values)))
    assert (found.step, found.wall_time) == (3_000_000_000, 1.5)
    assert {value.tag: str(value.simple_value) for value in found.summary.value} == {
        "train/lm_loss": "0.25",
        "π" * 90: "-inf",
        "nan": "nan",
        "": "0.0",
    }
