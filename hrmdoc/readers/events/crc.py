"""CRC-32C as event files use it, of one record and of many at once.

A CRC is linear over GF(2): what a changed byte does to it depends on the byte's distance from the end alone.
So records of one length that agree in most bytes need a table look-up for the differing bytes only.
"""

from __future__ import annotations

from functools import cache

import google_crc32c
import numpy as np
from numpy.typing import NDArray

_DELTA = 0xA282EAD8
_WORD = 0xFFFFFFFF


def masked(data: bytes) -> int:
    """The masked CRC-32C of `data`, as written beside a TFRecord's length and payload."""
    crc = int(google_crc32c.value(data))
    return (((crc >> 15) | (crc << 17)) + _DELTA) & _WORD


def unmask(crcs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Plain CRCs from masked ones, shape [n]."""
    rotated = crcs - np.uint32(_DELTA)
    return (rotated >> np.uint32(17)) | (rotated << np.uint32(15))


@cache
def byte_effect(distance: int) -> NDArray[np.uint32]:
    """What each byte value, `distance` bytes before the end, adds to a CRC (by exclusive or). Shape [256]."""
    if distance:
        shorter = byte_effect(distance - 1) if distance % 64 else _advance(byte_effect(distance - 64), 63)
        return _advance(shorter, 1)
    zero = google_crc32c.value(b"\0")
    return np.array([google_crc32c.value(bytes([value])) ^ zero for value in range(256)], np.uint32)


def _advance(effect: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
    """The effect after `count` further zero bytes."""
    table = byte_effect(0)
    for _ in range(count):
        effect = table[effect & np.uint32(0xFF)] ^ (effect >> np.uint32(8))
    return effect


def of_similar(rows: NDArray[np.uint8], positions: tuple[int, ...]) -> NDArray[np.uint32]:
    """CRC-32C of every row; rows may differ at `positions` only. `rows` has shape [n, length], the result
    [n]."""
    length = rows.shape[1]
    first = rows[0]
    crcs = np.full(len(rows), google_crc32c.value(first.tobytes()), np.uint32)
    for position in positions:
        crcs ^= byte_effect(length - 1 - position)[rows[:, position] ^ first[position]]
    return crcs
