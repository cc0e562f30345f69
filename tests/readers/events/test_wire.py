"""Messages of event files and the frames of others, byte by byte."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from hrmdoc.readers.events import wire
from hrmdoc.readers.events.tb_event import Scalar, parse
from hrmdoc.readers.events.wire import BYTES, FIXED32, FIXED64, VARINT, Field, fields, signed, varint
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.framed import FramedSession
from hrmdoc.record.records import Damage, Event, Record


def key(number: int, kind: int) -> bytes:
    return bytes([number << 3 | kind])


def held(number: int, content: bytes) -> bytes:
    """A field that holds bytes."""
    return key(number, BYTES) + bytes([len(content)]) + content


def count(number: int, value: int) -> bytes:
    spelled = b""
    while value > 0x7F:
        spelled += bytes([value & 0x7F | 0x80])
        value >>= 7
    return key(number, VARINT) + spelled + bytes([value])


def real(number: int, value: float) -> bytes:
    return key(number, FIXED32) + struct.pack("<f", value)


def double(number: int, value: float) -> bytes:
    return key(number, FIXED64) + struct.pack("<d", value)


@pytest.mark.parametrize(
    ("data", "value", "end"),
    [
        (b"\0", 0, 1), (b"\x7f", 127, 1), (b"\x80\x01", 128, 2), (b"\xac\x02x", 300, 2),
        (b"\xff" * 9 + b"\x01", 2**64 - 1, 10), (b"\xff" * 9 + b"\x7f", 2**64 - 1, 10),
    ],
)  # fmt: skip
def test_a_number_is_read_seven_bits_at_a_time(data: bytes, value: int, end: int) -> None:
    assert varint(data, 0, len(data)) == (value, end)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 10 + b"\x01"])
def test_a_number_that_does_not_end_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="a number is cut off"):
        varint(data, 0, len(data))


def test_fields_are_told_by_number_kind_and_place() -> None:
    data = count(1, 300) + held(2, b"ab") + real(3, 1.0) + double(4, 1.0)
    assert [*fields(data)] == [
        Field(1, VARINT, 1, 3, 300),
        Field(2, BYTES, 5, 7),
        Field(3, FIXED32, 8, 12),
        Field(4, FIXED64, 13, 21),
    ]
    assert [*fields(data, 3, 7)] == [Field(2, BYTES, 5, 7)]
    assert wire.text(b"x\xffy", Field(1, BYTES, 0, 3)) == "x\ufffdy"
    assert [signed(value) for value in (1, 2**63 - 1, 2**63, 2**64 - 1)] == [1, 2**63 - 1, -(2**63), -1]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (key(1, 3), "wire type 3 does not exist"),
        (held(2, b"ab")[:-1], "a field is cut off"),
        (real(2, 1.0)[:-1], "a field is cut off"),
        (double(2, 1.0)[:-1], "a field is cut off"),
        (b"\x02\x00", "a field is cut off"),  # no field has the number 0
    ],
)
def test_bytes_that_are_no_message_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        list(fields(data))


def event(*values: bytes, step: int = 7) -> bytes:
    return double(1, 1.5) + count(2, step) + held(5, b"".join(held(1, value) for value in values))


def tensor(dtype: int, *more: bytes, shape: bytes = b"") -> bytes:
    return held(1, b"t") + held(8, count(1, dtype) + shape + b"".join(more))


def dims(*sizes: int) -> bytes:
    return held(2, b"".join(held(2, count(1, size)) for size in sizes))


@pytest.mark.parametrize(
    ("value", "number", "form"),
    [
        (held(1, b"t") + real(2, 2.5), 2.5, "<f4"),
        (tensor(1, real(5, 2.5)), 2.5, "<f4"),
        (tensor(2, double(6, 2.5)), 2.5, "<f8"),
        (tensor(1, held(4, struct.pack("<f", 2.5))), 2.5, "<f4"),
        (tensor(2, held(4, struct.pack("<d", 2.5))), 2.5, "<f8"),
        (tensor(3, held(4, struct.pack("<i", -3))), -3.0, ""),
        (tensor(4, held(4, b"\xff")), 255.0, ""),
        (tensor(5, held(4, struct.pack("<h", -3))), -3.0, ""),
        (tensor(6, held(4, b"\xff")), -1.0, ""),
        (tensor(9, held(4, struct.pack("<q", -3))), -3.0, ""),
        (tensor(10, held(4, b"\x01")), 1.0, ""),
        (tensor(17, held(4, struct.pack("<H", 65535))), 65535.0, ""),
        (tensor(19, held(4, struct.pack("<e", 2.5))), 2.5, ""),
        (tensor(22, held(4, struct.pack("<I", 2**32 - 1))), 2.0**32 - 1, ""),
        (tensor(23, held(4, struct.pack("<Q", 2**63))), 2.0**63, ""),
        (tensor(14, held(4, struct.pack("<f", 2.5)[2:])), 2.5, ""),
        (tensor(3, count(7, 3)), 3.0, ""),
        (tensor(9, count(10, 2**64 - 3)), -3.0, ""),
        (tensor(9, held(10, b"\x05")), 5.0, ""),
        (tensor(19, count(13, int.from_bytes(struct.pack("<e", 2.5), "little"))), 2.5, ""),
        (tensor(14, count(13, int.from_bytes(struct.pack("<f", 2.5)[2:], "little"))), 2.5, ""),
        (tensor(1, real(5, 2.5), shape=dims(1, 1)), 2.5, "<f4"),
    ],
)
def test_a_number_is_read_in_whichever_form_it_was_written(value: bytes, number: float, form: str) -> None:
    found = parse(event(value))
    assert (found.wall_time, found.step) == (1.5, 7)
    (one,) = found.scalars
    assert (one.tag, one.value, one.dtype) == ("t", number, form)
    if form:
        size = int(form[-1])
        assert np.frombuffer(event(value)[one.at : one.at + size], one.dtype) == number
    else:
        assert one == Scalar("t", number)


@pytest.mark.parametrize(
    "value",
    [
        tensor(1, real(5, 2.5), shape=dims(2)),
        tensor(1, real(5, 2.5), shape=dims(0)),
        tensor(1, real(5, 2.5), real(5, 3.5)),
        tensor(1, held(4, b"abc")),
        tensor(1),
        tensor(99, held(4, b"abcd")),
        held(1, b"t"),
    ],
)
def test_what_is_no_single_number_is_passed_by(value: bytes) -> None:
    assert parse(event(value)).scalars == []


def test_texts_and_hyperparameters_are_read_by_their_names() -> None:
    text = tensor(7, held(8, b"hello"), held(8, b"again"))
    assert parse(event(text)).texts == [("t", "hello"), ("t", "again")]
    entries = (
        held(1, held(1, b"lr") + held(2, double(2, 0.5))),
        held(1, held(1, b"name") + held(2, held(3, b"adam"))),
        held(1, held(1, b"nesterov") + held(2, count(4, 1))),
        held(1, held(1, b"none")),
    )
    content = held(2, held(3, b"".join(entries)))
    plugin = held(9, held(1, held(1, b"hparams") + content))
    assert parse(event(held(1, b"t") + plugin)).hparams == {
        "lr": 0.5,
        "name": "adam",
        "nesterov": True,
        "none": None,
    }
    other = held(9, held(1, held(1, b"scalars") + content))
    assert parse(event(held(1, b"t") + other)).hparams == {}
    assert parse(count(2, 2**64 - 1)).step == -1


class Framed(FramedSession):
    """Gives each message as an event."""

    def __init__(self) -> None:
        super().__init__(Context("x.bin"), b"MAGIC", "a log of tests")

    def _message(self, data: bytes) -> Iterator[Record]:
        if data == b"bad":
            raise ValueError
        yield Event("start", "x.bin", self._begin, detail=data[:20].decode())

    def _gathered(self) -> Iterator[Record]:
        return iter(())

    def _last(self) -> Iterator[Record]:
        yield Event("end", "x.bin")


def frame(content: bytes, kind: int = 1) -> bytes:
    head = bytes([kind]) + content
    return zlib.crc32(head).to_bytes(4, "little") + len(content).to_bytes(2, "little") + head


def framed(blob: bytes) -> list[tuple[object, ...]]:
    found: list[list[tuple[object, ...]]] = []
    for size in (len(blob) + 1, 13, 1):
        session = Framed()
        records = [one for at in range(0, len(blob), size) for one in session.feed(blob[at : at + size])]
        records += session.close()
        found.append(
            [
                (one.line, one.what) if isinstance(one, Damage) else (one.line, one.detail)
                for one in records
                if isinstance(one, Damage) or (isinstance(one, Event) and one.kind == "start")
            ]
        )
    assert found[0] == found[1] == found[2], "whatever the cut"
    return found[0]


HEAD = b"MAGIC\0\0"


def test_messages_are_cut_out_of_their_frames() -> None:
    assert framed(HEAD + frame(b"one") + frame(b"two")) == [(7, "one"), (17, "two")]
    parts = frame(b"be", 2) + frame(b"gin", 3) + frame(b"ning", 4)
    assert framed(HEAD + parts + frame(b"two")) == [(7, "beginning"), (37, "two")]
    assert framed(HEAD + frame(b"lost", 4) + frame(b"two")) == [(18, "two")]
    assert framed(b"OTHER\0\0" + frame(b"one")) == [
        (0, "the file does not begin as a log of tests does"),
        (7, "one"),
    ]
    assert framed(HEAD) == framed(b"MAG") == []
    undecoded = (7, "a record could not be decoded and was left out")
    assert framed(HEAD + frame(b"bad") + frame(b"two")) == [undecoded, (17, "two")]


def test_damaged_and_torn_frames_are_told_with_their_place_and_size() -> None:
    torn = frame(b"three")[:-1]
    assert framed(HEAD + frame(b"one") + torn) == [
        (7, "one"),
        (17, "the last record is incomplete (11 bytes)"),
    ]
    assert framed(HEAD + frame(b"one") + b"\0" * 30) == [(7, "one")]
    broken = b"\x01" + frame(b"one")[1:]
    passed = (7, "damaged bytes were passed over (10 bytes)")
    assert framed(HEAD + broken + frame(b"two")) == [passed, (17, "two")]


@pytest.mark.parametrize("left", range(10))
def test_a_block_that_has_no_room_for_a_header_ends_in_padding(left: int) -> None:
    size = 32768 - 7 - 7 - left
    gap = b"" if left >= 7 else b"\0" * left
    blob = HEAD + frame(b"x" * size) + gap + (b"\0" * left if left >= 7 else b"") + frame(b"two")
    found = framed(blob)
    assert found[0] == (7, "x" * 20)
    assert found[-1][1] == "two"
    assert len(found) == 2
