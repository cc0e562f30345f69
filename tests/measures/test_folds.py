"""Folds that go on where the one before them ended."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hrmdoc.measures.functions.folds import folds_go_on
from hrmdoc.record.events import Events
from hrmdoc.record.records import Event


def goes_on(values: list[float], each: int, details: tuple[str, ...] = ("Fold 1", "Fold 2")) -> bool:
    series = SimpleNamespace(steps=np.arange(len(values)) % each, values=np.array(values))
    events = Events(Event("launch", "a.log", detail=detail) for detail in details)
    run = SimpleNamespace(events=events, best=lambda role: series if role == "train.loss" else None)
    return folds_go_on(run, "train.loss") is series


@pytest.mark.parametrize(
    ("values", "each", "found"),
    [
        ([1.0, 0.4, 0.4, 0.3], 2, True),
        ([1.0, 0.4, 0.49, 0.3], 2, True),
        ([1.0, 0.4, 0.5, 0.3], 2, False),  # not clearly below the first
        ([1.0, 0.3, 0.4, 0.2], 2, False),  # above where the one before ended
        ([1.0, 0.6, 0.74, 0.5, 0.49, 0.3], 2, True),
        ([1.0, 0.6, 0.75, 0.5, 0.49, 0.3], 2, False),  # one of them begins anew
        ([1.0, 0.6, 0.5, 0.4], 4, False),  # one fold alone
    ],
)
def test_each_fold_begins_where_the_last_ended(values: list[float], each: int, found: bool) -> None:
    assert goes_on(values, each) is found


def test_runs_that_are_no_folds_may_go_on() -> None:
    assert not goes_on([1.0, 0.4, 0.4, 0.3], 2, ("Run 1", "Run 2"))
    assert not goes_on([1.0, 0.4, 0.4, 0.3], 2, ("Fold 1", "Fold 1"))
