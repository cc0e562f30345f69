"""Steps of an epoch by records that show both."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.record.records import Fact, Points
from hrmdoc.record.run import Run
from hrmdoc.roles import RoleMap, canonical

BOOK = rulebook.load()
STATED = {"run.total_steps": 240, "run.epochs": 2, "data.micro_batch_size": 16}


def found(length: float, stated: dict[str, int], *, rounded: bool = False) -> dict[str, object]:
    run = Run("run", RoleMap(BOOK))
    for key, value in stated.items():
        run.add(Fact(key, value, "run", "trainer_state.json"))
    steps = np.arange(10, 250, 10)
    epochs = np.ceil(steps / length) if rounded else steps / length
    run.add(Points("epoch", steps, epochs, np.full(len(steps), np.nan), "log"))
    return {key: fact.value for key, fact in canonical(run, BOOK).items()}


def test_epochs_that_are_rounded_up_give_way_to_what_records_show() -> None:
    facts = found(233, STATED)
    assert facts["run.steps_per_epoch"] == 233
    assert facts["data.samples"] == 233 * 16
    assert facts["run.epochs"] == pytest.approx(240 / 233)


def test_epochs_that_the_steps_come_to_stay() -> None:
    assert found(120, STATED)["run.epochs"] == 2
    assert found(233, STATED, rounded=True)["data.samples"] == 120 * 16, "whole epochs tell no length"
    assert found(233, {**STATED, "data.samples": 3725})["data.samples"] == 3725
