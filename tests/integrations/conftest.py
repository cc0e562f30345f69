"""Monitors that look several times a second, since the runs of tests last seconds."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from hrmdoc.integrations import examiner, given, monitor


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, all of a core, and no rank from whoever starts the tests."""
    monkeypatch.setattr(monitor, "EVERY_S", 0.02)
    monkeypatch.setattr(examiner, "AT_LEAST_S", 0.02)
    monkeypatch.setattr(examiner, "SETTLE_S", 0.05)
    for name in (*given._RANKS, given.VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def losses() -> Iterator[float]:
    """Those of a run that learns."""
    chance = random.Random(1)
    return (2.5 * math.exp(-step / 60) + 0.1 + 0.05 * chance.random() for step in range(400))
