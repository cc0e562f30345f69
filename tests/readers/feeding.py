"""Bytes through a reader's session, and what came out as curves that compare; for the tests of readers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hrmdoc.readers.base import Session
from hrmdoc.run import Points, Record


def fed(session: Session, blob: bytes, cuts: Iterable[int] = ()) -> list[Record]:
    """What the session reads from `blob`, which it gets in pieces: cut at these offsets, in their order."""
    pieces = [blob[start:end] for start, end in pairwise((0, *cuts, len(blob)))]
    return [*(record for piece in pieces for record in session.feed(piece)), *session.close()]


def curves(records: Iterable[Record]) -> dict[str, list[tuple[int, str]]]:
    """Each metric's points as step and spelled value, so that NaN equals NaN."""
    found: dict[str, list[tuple[int, str]]] = {}
    for record in records:
        if isinstance(record, Points):
            found.setdefault(record.metric, []).extend(zip(record.steps.tolist(), map(repr, record.values.tolist()), strict=True))
    return found
