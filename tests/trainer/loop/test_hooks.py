from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor

from hrmdoc.trainer.loop import loop
from hrmdoc.trainer.loop.hooks import Hook, Hooks
from hrmdoc.trainer.loop.loop import train


class Recorder(Hook):
    """Notes every call of the loop, and doubles rates."""

    def __init__(self, calls: list[str], name: str = "") -> None:
        self.calls, self.name = calls, name

    def begin(self) -> None:
        self.calls.append(f"begin{self.name}")

    def before_step(self, step: int) -> None:
        self.calls.append(f"before {step}")

    def rate(self, step: int, lr: float) -> float:
        del step
        return 2 * lr

    def batch(self, step: int, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        self.calls.append(f"batch {step}")
        return batch

    def after_step(self, step: int) -> None:
        self.calls.append(f"after {step}")

    def measured(self, rows: Any, *, line: bool) -> None:
        self.calls.append(f"measured {[row.step for row in rows]}{' line' if line else ''}")

    def logged(self, step: int) -> None:
        self.calls.append(f"logged {step}")

    def evaluated(self, values: Any, seconds: float) -> None:
        self.calls.append(f"evaluated {'all.lm_loss' in values and seconds > 0}")

    def finish(self, step: int) -> None:
        self.calls.append(f"finish {step}")

    def close(self) -> None:
        self.calls.append(f"close{self.name}")


def test_the_loop_calls_its_hooks_in_the_order_of_a_step(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(loop, "Hooks", lambda *hooks: Hooks(*hooks, Recorder(calls)))
    train(lab.job("max_steps=3", "eval_interval=4", "log_interval=2"))
    assert calls == [
        *("begin", "before 1", "batch 1", "after 1"),
        *("before 2", "batch 2", "after 2", "measured [1, 2] line", "logged 2"),
        *("before 3", "batch 3", "after 3", "measured [3] line", "logged 3", "evaluated True"),
        *("finish 3", "close"),
    ]


def test_a_rate_goes_through_every_hook() -> None:
    assert Hooks(Recorder([]), Hook(), Recorder([])).rate(1, 0.5) == 2.0


def test_hooks_are_closed_however_the_loop_ends() -> None:
    calls: list[str] = []
    with pytest.raises(RuntimeError), Hooks(Recorder(calls, " a"), Recorder(calls, " b")):
        raise RuntimeError
    assert calls == ["begin a", "begin b", "close a", "close b"]
