"""`HrmdocTracker` in a real `Accelerator`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import pytest

accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
pytest.importorskip("torch")

from hrmdoc.integrations.accelerate import HrmdocTracker  # noqa: E402

pytestmark = pytest.mark.frameworks


def run(losses: Iterator[float], breaks: int = -1) -> tuple[HrmdocTracker, int]:
    doctor = HrmdocTracker(share=1.0, stop="critical")
    accelerator: Any = accelerate.Accelerator(cpu=True, log_with=doctor)
    accelerator.init_trackers("mine", config={"learning_rate": 1e-3})
    step = -1
    for step, loss in enumerate(losses):
        time.sleep(0.005)
        accelerator.log({"loss": math.nan if 0 <= breaks <= step else loss}, step=step)
        if doctor.tracker.should_stop:
            accelerator.set_trigger()
        if accelerator.check_trigger():
            break
    accelerator.end_training()
    return doctor, step


def test_a_healthy_run_goes_to_its_end(losses: Iterator[float]) -> None:
    doctor, last = run(losses)
    assert last == 399
    assert doctor.tracker.analysis is not None
    assert doctor.tracker.incidents == []
    assert ("config", "learning_rate") in doctor.tracker.analysis.run.facts


def test_a_run_that_breaks_is_stopped(losses: Iterator[float]) -> None:
    doctor, last = run(losses, breaks=200)
    assert 200 < last < 399
    assert doctor.tracker.incidents[0].symptom == "loss-nonfinite"
