"""TensorBoard event files: one packed record a step, written by a thread of its own.

torch's SummaryWriter makes one record a scalar and serialises it in the training loop (0.5 ms for 20
scalars). Here the loop only appends to a list, and records are put together by hand, to the same bytes as by
protocol buffers, in half of the time. Format: https://github.com/tensorflow/tensorboard, `event.proto` in
TFRecord framing with masked CRC32C.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import google_crc32c

FLUSH_S = 0.5  # a watcher sees a value at most this late, plus the time to the next one
VERSION = b"brain.Event:2"
SETTLE_S = 5.0  # no disk that works takes longer for a few kilobytes


class Row(NamedTuple):
    """The scalars of a step; all share one record."""

    step: int
    time: float
    values: Mapping[str, float]


class EventFile:
    """Scalars of a run. `write` never waits for the disk and never raises; `error` says if the disk failed.

    After a failed write, rows are dropped until the disk takes data again: a full disk must not end a
    training run.
    """

    def __init__(self, folder: Path, *, start: float | None = None) -> None:
        start = time.time() if start is None else start
        host = socket.gethostname() or "localhost"
        stem = f"events.out.tfevents.{int(start)}.{host}.{os.getpid()}"
        number = sum(1 for _ in folder.glob(f"{stem}.*"))
        self.path = folder / f"{stem}.{number}"
        self.error: OSError | None = None
        self._rows: deque[Row] = deque()
        self._asked, self._written, self._closing = threading.Event(), threading.Event(), False
        self._file = self.path.open("ab", buffering=1 << 16)
        self._file.write(
            frame(b"\x09" + struct.pack("<d", start) + b"\x1a" + _varint(len(VERSION)) + VERSION)
        )
        self._file.flush()
        self._thread = threading.Thread(target=self._drain, name="event-file", daemon=True)
        self._thread.start()

    def write(self, rows: Iterable[Row]) -> None:
        """Takes `rows`, which must not change any more. The thread comes for them by itself: to wake it would
        take longer."""
        self._rows.extend(rows)

    def flush(self) -> None:
        """Returns when all rows so far are in the file: a process that is killed then loses none of them.

        Steps before a checkpoint are not trained again when the run is resumed, so their rows must not get
        lost.
        """
        if self._thread.is_alive():
            self._written.clear()
            self._asked.set()
            self._written.wait(SETTLE_S)

    def close(self) -> None:
        """Writes what is left and closes the file."""
        self._closing = True
        self._asked.set()
        self._thread.join()

    def _drain(self) -> None:
        while not self._closing:
            asked = self._asked.wait(FLUSH_S)
            self._asked.clear()
            self._write_all()
            if asked:
                self._written.set()
        self._write_all()
        try:
            self._file.close()
        except OSError as error:
            self.error = error

    def _write_all(self) -> None:
        rows = [self._rows.popleft() for _ in range(len(self._rows))]
        try:
            for row in rows:
                self._file.write(frame(record(row)))
            self._file.flush()
        except OSError as error:
            self.error = error


def record(row: Row) -> bytes:
    """One Event with a value for each scalar: its wall_time, step and summary, fields 1, 2 and 5."""
    summary = b"".join([_head(tag) + _float32(value) for tag, value in row.values.items()])
    return (
        b"\x09"
        + struct.pack("<d", row.time)
        + b"\x10"
        + _varint(row.step)
        + b"\x2a"
        + _varint(len(summary))
        + summary
    )


@lru_cache(maxsize=1024)
def _head(tag: str) -> bytes:
    """What stays of a scalar from step to step. Field 1 of a Summary is a Value: in field 1 the tag, in field
    2 the number."""
    name = tag.encode()
    inner = b"\x0a" + _varint(len(name)) + name + b"\x15"
    return b"\x0a" + _varint(len(inner) + 4) + inner


def _float32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def frame(data: bytes) -> bytes:
    """`data` as a TFRecord: length, its checksum, data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def _masked_crc(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
