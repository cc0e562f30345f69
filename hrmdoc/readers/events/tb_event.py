"""One TensorBoard Event: what it holds, and where in its bytes the numbers lie.

Field numbers after tensorboard/compat/proto: event.proto, summary.proto, tensor.proto, types.proto; hparams
plugin.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field

from hrmdoc.readers.events import wire
from hrmdoc.readers.events.wire import BYTES, FIXED32, FIXED64, VARINT, Field

_DTYPES: dict[int, Any] = {
    1: "<f4",
    2: "<f8",
    3: "<i4",
    4: "u1",
    5: "<i2",
    6: "i1",
    9: "<i8",
    10: "?",
    17: "<u2",
    19: "<f2",
    22: "<u4",
    23: "<u8",
}
_STRING, _BFLOAT16, _HALF = 7, 14, 19
_VARINT_VALUES = frozenset(
    {7, 10, 11, 13, 16, 17}
)  # int_val, int64_val, bool_val, half_val, uint32_val, uint64_val


class Scalar(NamedTuple):
    """One number. `at` and `dtype` say where it lies when it lies there as it is, else `at` is -1."""

    tag: str
    value: float
    at: int = -1
    dtype: str = ""


class Event(Struct):
    """A parsed event."""

    wall_time: float = float("nan")
    step: int = 0
    scalars: list[Scalar] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    hparams: dict[str, str | float | bool | None] = field(default_factory=dict)


def parse(data: bytes) -> Event:
    """Reads one event.

    Raises:
        ValueError: the bytes are no Event message.
    """
    event = Event()
    for one in wire.fields(data):
        if one.number == 1 and one.kind == FIXED64:
            event.wall_time = struct.unpack_from("<d", data, one.start)[0]
        elif one.number == 2 and one.kind == VARINT:
            event.step = wire.signed(one.value)
        elif one.number == 5 and one.kind == BYTES:
            for value in wire.fields(data, one.start, one.end):
                if value.number == 1 and value.kind == BYTES:
                    _summary_value(data, value, event)
    return event


def _summary_value(data: bytes, outer: Field, event: Event) -> None:
    tag, simple, tensor, plugin, content = "", None, None, "", None
    for one in wire.fields(data, outer.start, outer.end):
        if one.number == 1 and one.kind == BYTES:
            tag = wire.text(data, one)
        elif one.number == 2 and one.kind == FIXED32:
            simple = one
        elif one.number == 8 and one.kind == BYTES:
            tensor = one
        elif one.number == 9 and one.kind == BYTES:
            plugin, content = _plugin(data, one)
    if simple is not None:
        event.scalars.append(
            Scalar(tag, struct.unpack_from("<f", data, simple.start)[0], simple.start, "<f4")
        )
    elif plugin == "hparams":
        if content is not None:
            event.hparams.update(_hparams(data, content))
    elif tensor is not None:
        _tensor(data, tensor, tag, event)


def _plugin(data: bytes, metadata: Field) -> tuple[str, Field | None]:
    """Name and content of SummaryMetadata.plugin_data."""
    name, content = "", None
    for outer in wire.fields(data, metadata.start, metadata.end):
        if outer.number == 1 and outer.kind == BYTES:
            for one in wire.fields(data, outer.start, outer.end):
                if one.number == 1 and one.kind == BYTES:
                    name = wire.text(data, one)
                elif one.number == 2 and one.kind == BYTES:
                    content = one
    return name, content


def _tensor(data: bytes, outer: Field, tag: str, event: Event) -> None:
    """A tensor of one number or of text; larger ones (images, histograms) are passed by."""
    dtype, size, numbers, strings = 0, 1, [], []
    for one in wire.fields(data, outer.start, outer.end):
        if one.number == 1:
            dtype = one.value
        elif one.number == 2 and one.kind == BYTES:
            size = _size(data, one)
        elif one.number == 8 and one.kind == BYTES:
            strings.append(one)
        elif 4 <= one.number <= 17:
            numbers.append(one)
    if dtype == _STRING:
        event.texts += [(tag, wire.text(data, one)) for one in strings]
    elif size == 1 and len(numbers) == 1 and (scalar := _scalar_in(data, numbers[0], dtype, tag)):
        event.scalars.append(scalar)


def _size(data: bytes, shape: Field) -> int:
    size = 1
    for dim in wire.fields(data, shape.start, shape.end):
        if dim.number == 2 and dim.kind == BYTES:
            size *= next((f.value for f in wire.fields(data, dim.start, dim.end) if f.number == 1), 0)
    return size


def _scalar_in(data: bytes, one: Field, dtype: int, tag: str) -> Scalar | None:
    """The number in one field of a TensorProto, whichever of its many forms was used."""
    width = one.end - one.start
    if one.number in _VARINT_VALUES and one.kind in (VARINT, BYTES):
        value = one.value if one.kind == VARINT else wire.varint(data, one.start, one.end)[0]
        if dtype == _HALF:
            return Scalar(tag, float(np.uint16(value).view(np.float16)))
        if dtype == _BFLOAT16:
            return Scalar(tag, float((np.uint32(value) << np.uint32(16)).view(np.float32)))
        return Scalar(tag, float(wire.signed(value)))
    if one.number == 4 and dtype == _BFLOAT16 and width == 2:
        return Scalar(tag, struct.unpack("<f", b"\0\0" + data[one.start : one.end])[0])
    form = (
        "<f4"
        if one.number == 5
        else "<f8"
        if one.number == 6
        else _DTYPES.get(dtype, "")
        if one.number == 4
        else ""
    )
    if not form or np.dtype(form).itemsize != width:
        return None
    written = float(np.frombuffer(data, form, 1, one.start)[0])
    return Scalar(tag, written, one.start, form) if form in ("<f4", "<f8") else Scalar(tag, written)


def _hparams(data: bytes, content: Field) -> Iterator[tuple[str, str | float | bool | None]]:
    """Name and value of each hyperparameter in HParamsPluginData.session_start_info."""
    for outer in wire.fields(data, content.start, content.end):
        if outer.number != 3 or outer.kind != BYTES:
            continue
        for entry in wire.fields(data, outer.start, outer.end):
            if entry.number == 1 and entry.kind == BYTES:
                yield _hparam(data, entry)


def _hparam(data: bytes, entry: Field) -> tuple[str, str | float | bool | None]:
    name: str = ""
    value: str | float | bool | None = None
    for one in wire.fields(data, entry.start, entry.end):
        if one.number == 1 and one.kind == BYTES:
            name = wire.text(data, one)
        elif one.number == 2 and one.kind == BYTES:
            for kind in wire.fields(data, one.start, one.end):
                if kind.number == 2 and kind.kind == FIXED64:
                    value = struct.unpack_from("<d", data, kind.start)[0]
                elif kind.number == 3 and kind.kind == BYTES:
                    value = wire.text(data, kind)
                elif kind.number == 4:
                    value = bool(kind.value)
    return name, value
