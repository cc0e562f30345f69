"""hrmdoc.readers.wandb, on files written by a small encoder of the same format."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.readers import wandb
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Fact, Line, Record
from tests.readers.feeding import curves, fed

HEADER = b":W&B" + struct.pack("<HB", 0xBEE1, 0)


def varint(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append((value & 0x7F) | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def item(key: str | list[str], json: str) -> bytes:
    names = (
        field(1, key.encode()) if isinstance(key, str) else b"".join(field(2, part.encode()) for part in key)
    )
    return names + field(16, json.encode())


def history(step: int, **metrics: str) -> bytes:
    rows = [item(key.replace("__", "/"), value) for key, value in metrics.items()]
    rows.append(item(["all", "accuracy"], "0.5"))
    return field(2, b"".join(field(1, row) for row in rows) + field(2, field(1, step)))


def log(records: list[bytes]) -> bytes:
    out = bytearray(HEADER)
    for record in records:
        rest, first = record, True
        while first or rest:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += b"\0" * left
                left = 32768
            part, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if first and not rest else 2) if first else (3 if rest else 4)
            first = False
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
    return bytes(out)


def read(blob: bytes, cuts: tuple[int, ...] = (), wanted: bytes = b"\xff") -> list[Record]:
    session = wandb.open_session(
        Context("wandb/offline-run-1/run-abc.wandb", wanted=lambda block: [0] if wanted in block else [])
    )
    return fed(session, blob, cuts)


MANY = log(
    [
        history(
            step, train__loss=str(1 / (step + 1)), _timestamp=str(1.7e9 + step), pad='"' + "x" * 900 + '"'
        )
        for step in range(120)
    ]
)


def test_history_becomes_points_with_nested_keys_joined() -> None:
    found = curves(read(log([history(0, train__loss="2.5"), history(1, train__loss="NaN")])))
    assert found == {"train/loss": [(0, "2.5"), (1, "nan")], "all.accuracy": [(0, "0.5"), (1, "0.5")]}


def test_records_that_cross_blocks_are_joined() -> None:
    assert len(MANY) > 3 * 32768
    assert [step for step, _ in curves(read(MANY))["train/loss"]] == list(range(120))


def test_config_exit_and_printed_lines_are_read() -> None:
    config = field(
        17, field(4, field(1, item("lr", "0.001")) + field(1, item("arch", '{"hidden_size": 64}')))
    )
    printed = [field(13, field(3, part)) for part in (b"step: ", b'"x"', b"\nCUDA out of", b" memory\n")]
    records = read(log([config, *printed, field(18, field(1, 1))]), wanted=b"out of memory")
    assert {(r.key, r.value) for r in records if isinstance(r, Fact)} == {
        ("lr", 0.001),
        ("arch.hidden_size", 64),
    }
    assert [r.text for r in records if isinstance(r, Line)] == ["CUDA out of memory"]
    assert [(r.kind, "crashed" in r.detail) for r in records if isinstance(r, Event)] == [
        ("start", False),
        ("end", True),
    ]


def test_system_statistics_are_metrics_of_the_last_step() -> None:
    stats = field(7, field(2, field(1, 1700000000)) + field(3, item("gpu.0.gpu", "97.0")))
    assert curves(read(log([history(4, loss="1"), stats])))["system.gpu.0.gpu"] == [(4, "97.0")]


def test_a_damaged_record_costs_itself_only() -> None:
    blob = bytearray(log([history(step, loss=str(step)) for step in range(5)]))
    blob[len(HEADER) + 7 + 12] ^= 0xFF
    records = read(bytes(blob))
    assert [step for step, _ in curves(records)["loss"]] == [1, 2, 3, 4]
    assert [r.line for r in records if isinstance(r, Damage)] == [7]


def test_a_damaged_byte_costs_the_record_around_it_and_is_reported_with_its_place() -> None:
    blob = log([history(step, loss=str(step)) for step in range(6)])
    starts = [len(HEADER)]
    while starts[-1] < len(blob):
        starts.append(starts[-1] + 7 + int.from_bytes(blob[starts[-1] + 4 : starts[-1] + 6], "little"))
    assert len(starts) == 7
    for place in range(len(HEADER), len(blob)):
        hit = max(number for number, start in enumerate(starts) if start <= place)
        for flip in (0x01, 0x80, 0xFF):
            broken = bytearray(blob)
            broken[place] ^= flip
            records = read(bytes(broken), cuts=(place,))
            kept = [step for step, _ in curves(records)["loss"]]
            assert kept == [step for step in range(6) if step != hit], (place, flip)
            assert [r.line for r in records if isinstance(r, Damage)] == [starts[hit]], (place, flip)


def test_damage_in_one_block_leaves_the_other_blocks_whole_however_they_are_cut() -> None:
    broken = bytearray(MANY)
    broken[40_000:40_020] = b"\xff" * 20
    whole = read(bytes(broken))
    kept = [step for step, _ in curves(whole)["train/loss"]]
    assert len(kept) in (118, 119)
    for cut in (39_000, 40_010, 41_000, 65_536, 70_000):
        assert curves(read(bytes(broken), cuts=(cut,))) == curves(whole)


def test_bytes_that_look_like_frames_everywhere_are_passed_over_in_bounded_work() -> None:
    records = read(HEADER + b"\x04" * 200_000)
    assert 1 <= len([r for r in records if isinstance(r, Damage)]) <= 8


def test_a_log_whose_first_bytes_are_damaged_is_read_and_the_damage_told() -> None:
    blob = b"?" + log([history(0, loss="2")])[1:]
    assert wandb.sniff(Path("run-x.wandb"), blob) > 0.5
    records = read(blob)
    assert curves(records)["loss"] == [(0, "2.0")]
    assert [r.line for r in records if isinstance(r, Damage)] == [0]


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_records_do_not_depend_on_how_the_bytes_are_cut(data: st.DataObject) -> None:
    cuts = tuple(sorted(data.draw(st.lists(st.integers(0, len(MANY)), max_size=6))))
    assert curves(read(MANY, cuts)) == curves(read(MANY))


def test_of_a_file_cut_anywhere_the_whole_records_are_kept() -> None:
    blob = log([history(step, loss=str(step)) for step in range(3)])
    ends = [len(log([history(step, loss=str(step)) for step in range(count)])) for count in range(1, 4)]
    for size in range(len(HEADER), len(blob)):
        kept = [step for step, _ in curves(read(blob[:size])).get("loss", [])]
        assert kept == [step for step, end in enumerate(ends) if end <= size], size


def test_a_damaged_header_costs_no_record_and_a_wrong_name_in_it_is_told() -> None:
    blob = log([history(step, loss=str(step)) for step in range(3)])
    for place in range(len(HEADER)):
        broken = bytearray(blob)
        broken[place] ^= 0x55
        records = read(bytes(broken))
        assert [step for step, _ in curves(records)["loss"]] == [0, 1, 2], place
        assert [r.line for r in records if isinstance(r, Damage)] == ([0] if place < 4 else []), place


@pytest.mark.parametrize(
    ("head", "taken"), [(HEADER, True), (b":W", False), (b"", False), (b"step 1", False)]
)
def test_sniff(head: bytes, taken: bool) -> None:
    assert (wandb.sniff(Path("run-x.wandb"), head) == 1.0) is taken
