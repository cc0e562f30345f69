"""The protocol-buffer wire format: enough to walk a message and know where each field lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field. `value` is the number of a varint; else the content lies at data[start:end]."""

    number: int
    kind: int
    start: int
    end: int
    value: int = 0


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned varint at `at`, and where it ends.

    Raises:
        ValueError: it does not end before `end`, or has more than ten bytes.
    """
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise ValueError("a number is cut off")


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message at data[start:end], in order.

    Raises:
        ValueError: the bytes are no message.
    """
    stop = len(data) if end is None else end
    at = start
    while at < stop:
        key, at = varint(data, at, stop)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, after = varint(data, at, stop)
            yield Field(number, kind, at, after, value)
            at = after
            continue
        if kind == BYTES:
            size, at = varint(data, at, stop)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind} does not exist")
        if not number or at + size > stop:
            raise ValueError("a field is cut off")
        yield Field(number, kind, at, at + size)
        at += size


def signed(value: int) -> int:
    """A 64-bit varint read as a signed number."""
    return value - (1 << 64) if value >> 63 else value


def text(data: bytes, field: Field) -> str:
    """The content of a string field; broken UTF-8 is replaced."""
    return data[field.start : field.end].decode("utf-8", "replace")
