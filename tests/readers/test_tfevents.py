"""hrmdoc.readers.tfevents against tensorboard's own reader, and against damage."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_ndarray, make_tensor_proto

from hrmdoc.readers import discover, read_into, tfevents
from hrmdoc.readers.events import tb_event
from hrmdoc.readers.events.crc import masked, of_similar, unmask
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Points, Record
from hrmdoc.record.run import Run
from tests.readers.feeding import fed

Point = tuple[str, int, float, float]


def scalar(tag: str, step: int, value: float, time: float = 1.7e9) -> event_pb2.Event:
    return event_pb2.Event(
        wall_time=time,
        step=step,
        summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)]),
    )


def tensor(tag: str, step: int, value: object, dtype: object) -> event_pb2.Event:
    one = summary_pb2.Summary.Value(tag=tag, tensor=make_tensor_proto(value, dtype=dtype))
    one.metadata.plugin_data.plugin_name = "scalars"
    return event_pb2.Event(wall_time=1.7e9 + step, step=step, summary=summary_pb2.Summary(value=[one]))


def write(path: Path, events: list[event_pb2.Event]) -> bytes:
    with path.open("wb") as file:
        writer = RecordWriter(file)
        writer.write(event_pb2.Event(wall_time=1.7e9, file_version="brain.Event:2").SerializeToString())
        for event in events:
            writer.write(event.SerializeToString())
    return path.read_bytes()


def read(blob: bytes, cuts: tuple[int, ...] = ()) -> list[Record]:
    session = tfevents.open_session(Context("events.out.tfevents.1.h"))
    return fed(session, blob, cuts)


def points(records: list[Record]) -> list[Point]:
    """Every point, by metric and in order; NaN spelled so that it compares."""
    found: dict[str, list[Point]] = {}
    for record in records:
        if isinstance(record, Points):
            columns = zip(record.steps.tolist(), record.values.tolist(), record.times.tolist(), strict=True)
            found.setdefault(record.metric, []).extend((record.metric, s, repr(v), t) for s, v, t in columns)  # type: ignore[misc]
    return [point for metric in sorted(found) for point in found[metric]]


def reference(path: Path) -> list[Point]:
    """The same from tensorboard's own reader."""
    found: dict[str, list[Point]] = {}
    for event in LegacyEventFileLoader(str(path)).Load():
        for value in event.summary.value:
            number = (
                value.simple_value if value.HasField("simple_value") else float(make_ndarray(value.tensor))
            )
            found.setdefault(value.tag, []).append(
                (value.tag, event.step, repr(float(number)), event.wall_time)
            )  # type: ignore[arg-type]
    return [point for tag in sorted(found) for point in found[tag]]


def everything() -> list[event_pb2.Event]:
    """All kinds of scalars that writers are known to write, mixed."""
    events = []
    for step in range(0, 400, 7):
        events += [scalar(f"train/m{n}", step, step * 0.1 + n, 1.7e9 + step) for n in range(12)]
        events += [
            scalar("train/loss", step, math.nan if step % 3 else math.inf),
            scalar("a/long/tag/of/its/own", step, -step),
        ]
        events += [
            tensor("tensor/float", step, float(step) / 3, np.float32),
            tensor("tensor/double", step, step / 3, np.float64),
        ]
        events += [
            tensor("tensor/int", step, step, np.int64),
            tensor("tensor/half", step, step / 8, np.float16),
        ]
        packed = [summary_pb2.Summary.Value(tag=f"packed/{n}", simple_value=n + step / 7) for n in range(5)]
        events.append(event_pb2.Event(wall_time=1.7e9, step=step, summary=summary_pb2.Summary(value=packed)))
    return events


def test_reads_what_tensorboard_reads(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    blob = write(path, everything())
    records = read(blob)
    assert points(records) == reference(path)
    assert not [record for record in records if isinstance(record, Damage)]


def test_reads_what_the_summary_writer_of_torch_wrote(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(60):
            writer.add_scalar("train/loss", 1.0 / (step + 1), step)
            writer.add_scalar("eval/loss", 2.0 / (step + 1), step, new_style=True)
            writer.add_histogram("weights", np.arange(5.0), step)
        writer.add_text("args", '{"learning_rate": 0.0003, "nested": {"seed": 7}, "bad": NaN}')
        writer.add_hparams(
            {"lr": 0.1, "name": "adam", "amsgrad": True}, {"hparam/accuracy": 0.5}, run_name="."
        )
    run = Run()
    read_into(run, discover(str(tmp_path)))
    loss = next(series for key, series in run.series.items() if key.metric == "train/loss")
    assert loss.steps.tolist() == list(range(60))
    np.testing.assert_allclose(loss.values, 1.0 / np.arange(1, 61), rtol=1e-6)
    assert "eval/loss" in {key.metric for key in run.series}
    assert [run.fact(key, "config").value for key in ("lr", "name", "amsgrad")] == [0.1, "adam", True]  # type: ignore[union-attr]
    assert [fact.value for fact in run.facts.values() if fact.key == "nested.seed"] == [7]
    assert not run.damages


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_records_do_not_depend_on_how_the_bytes_are_cut(data: st.DataObject) -> None:
    blob = BLOB
    cuts = tuple(sorted(data.draw(st.lists(st.integers(0, len(blob)), max_size=8))))
    assert points(read(blob, cuts)) == points(read(blob))


def test_a_damaged_byte_costs_one_record_and_is_reported_with_its_place(tmp_path: Path) -> None:
    blob = write(tmp_path / "e", [scalar("loss", step, step) for step in range(40)])
    starts = record_starts(blob)
    for number, start in enumerate(starts[1:], 1):
        broken = bytearray(blob)
        broken[start + 12 + 9] ^= 0xFF
        records = read(bytes(broken))
        assert [p[1] for p in points(records)] == [step for step in range(40) if step != number - 1]
        damages = [record for record in records if isinstance(record, Damage)]
        assert [damage.line for damage in damages] == [start]


def test_damage_anywhere_never_raises_and_keeps_all_other_records(tmp_path: Path) -> None:
    blob = write(tmp_path / "e", [scalar("loss", step, step) for step in range(6)])
    starts = [*record_starts(blob), len(blob)]
    for place in range(len(blob)):
        broken = bytearray(blob)
        broken[place] ^= 0x5A
        records = read(bytes(broken))
        hit = next(n for n in range(len(starts)) if starts[n + 1] > place)
        assert [p[1] for p in points(records)] == [step for step in range(6) if step != hit - 1]
        assert [record for record in records if isinstance(record, Damage)]


def test_a_file_cut_anywhere_gives_every_whole_record(tmp_path: Path) -> None:
    blob = write(tmp_path / "e", [scalar("loss", step, step) for step in range(6)])
    starts = record_starts(blob)
    for size in range(len(blob)):
        records = read(blob[:size])
        whole = max(sum(start <= size for start in [*starts[1:], len(blob)]) - 1, 0)
        assert len(points(records)) == whole
        torn = size not in (0, *starts)
        assert [isinstance(record, Damage) for record in records].count(True) == torn


def test_a_record_that_was_cut_by_a_crash_does_not_hide_the_one_appended_after_it(tmp_path: Path) -> None:
    blob = write(tmp_path / "e", [scalar("loss", step, step) for step in range(30)])
    cut = record_starts(blob)[10] + 20
    again = write(tmp_path / "f", [scalar("loss", step, step) for step in range(100, 103)])
    appended = again[record_starts(again)[1] :]
    expected = [*range(9), 100, 101, 102]
    assert [p[1] for p in points(read(blob[:cut] + appended))] == expected


def test_a_torn_record_is_waited_for(tmp_path: Path) -> None:
    blob = write(tmp_path / "e", [scalar("loss", step, step) for step in range(3)])
    session = tfevents.open_session(Context("e"))
    first = list(session.feed(blob[:-5]))
    assert [p[1] for p in points(first)] == [0, 1]
    assert [p[1] for p in points(list(session.feed(blob[-5:])))] == [2]
    assert list(session.close()) == []


@pytest.mark.parametrize(
    "blob", [b"", b"\0", b"\0" * 5000, b"<html>" * 100, bytes(range(256)) * 40, b"\xff" * 64]
)
def test_what_is_no_event_file_gives_damage_and_no_points(blob: bytes) -> None:
    records = read(blob)
    assert points(records) == []
    assert [type(record) for record in records] == ([Damage] if blob else [])


def test_validation_folders_keep_their_curves_apart(tmp_path: Path) -> None:
    for folder in ("train", "validation"):
        (tmp_path / folder).mkdir()
        write(
            tmp_path / folder / "events.out.tfevents.1.h",
            [tensor("epoch_loss", step, 1.0, np.float32) for step in range(3)],
        )
    run = Run()
    read_into(run, discover(tmp_path))
    assert {key.metric for key in run.series} == {"train/epoch_loss", "validation/epoch_loss"}


def test_event_files_of_one_folder_are_one_logger_read_in_order_of_their_start(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.2000.h", [scalar("loss", 2, 2.0)])
    write(tmp_path / "events.out.tfevents.1000000000.h", [scalar("loss", 1, 1.0)])
    write(tmp_path / "events.out.tfevents.1700000000.h", [scalar("loss", 2, 2.0)])
    run = Run()
    read_into(run, [source for source in discover(tmp_path) if "2000.h" not in source.path])
    (series,) = run.series.values()
    assert series.steps.tolist() == [1, 2]


def test_an_image_or_a_large_tensor_is_no_scalar(tmp_path: Path) -> None:
    big = tensor_pb2.TensorProto(
        dtype=1,
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=3)]),
    )
    big.float_val.extend([1.0, 2.0, 3.0])
    event = event_pb2.Event(
        step=1, summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="t", tensor=big)])
    )
    assert points(read(write(tmp_path / "e", [event] * 30))) == []


def test_crcs_of_many_rows_are_those_of_each_alone() -> None:
    rows = np.random.default_rng(0).integers(0, 256, (50, 200), dtype=np.uint8)
    rows[:, 20:190] = rows[0, 20:190]
    varying = (*range(20), *range(190, 200))
    stored = np.array([masked(row.tobytes()) for row in rows], np.uint32)
    np.testing.assert_array_equal(of_similar(rows, varying), unmask(stored))


def record_starts(blob: bytes) -> list[int]:
    starts, at = [], 0
    while at < len(blob):
        starts.append(at)
        at += 16 + struct.unpack_from("<Q", blob, at)[0]
    return starts


def _blob() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        blob = write(Path(folder) / "e", everything()[:400])
    broken = bytearray(blob)
    broken[len(blob) // 2] ^= 0x40
    return bytes(broken[: len(blob) - 9])


BLOB = _blob()


def wide(step: int, damage: str = "") -> event_pb2.Event:
    """An event of 400 metrics, longer than those that are compared byte by byte."""
    names = (f"layers/{at:03}/grad_norm{damage}" for at in range(400))
    values = [summary_pb2.Summary.Value(tag=name, simple_value=step + at) for at, name in enumerate(names)]
    return event_pb2.Event(wall_time=1.7e9 + step, step=step, summary=summary_pb2.Summary(value=values))


def test_long_events_are_read_as_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [wide(step) for step in range(1, 300)] + [wide(step, "_x") for step in range(300, 303)]
    blob = write(tmp_path / "events.out.tfevents.1.h", events)
    parsed: list[int] = []
    parse = tb_event.parse
    monkeypatch.setattr(tb_event, "parse", lambda data: parsed.append(len(data)) or parse(data))
    found = points(read(blob))
    assert sorted(found) == sorted(reference(tmp_path / "events.out.tfevents.1.h"))
    assert len(parsed) < 40
    run = Run()
    for record in read(blob):
        run.add(record)
    series = [one for one in run.series.values() if one.key.metric.endswith("norm")]
    assert len({one.steps.ctypes.data for one in series}) == 1  # 400 metrics keep their places once


def test_a_damaged_byte_in_a_long_event_costs_that_event(tmp_path: Path) -> None:
    blob = bytearray(write(tmp_path / "events.out.tfevents.1.h", [wide(step) for step in range(1, 40)]))
    begin = record_starts(bytes(blob))[20]
    blob[begin + 5000] ^= 1
    records = read(bytes(blob))
    lost = [record for record in records if isinstance(record, Damage)]
    assert [one.line for one in lost] == [begin]
    assert {len(record.values) for record in records if isinstance(record, Points)} == {38}
