"""Whether a fault did visible harm: a faulty run beside its healthy twin (the same program, seed and
settings, no fault).

A fault that changes nothing that a log could show cannot be found, and says nothing about a doctor. The
criterion is fixed here, before anything is examined, and knows nothing of verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lab.execute import DONE
from hrmdoc.record.run import Run

FINAL_SHARE = 0.1
"""A final value did harm when it is worse by this share of what the twin gained."""
ACCURACY = 0.05
TOO_GOOD = 0.5
TRANSIENT_SHARE = 0.25
"""So much of the gain the loss must rise above the twin's, on two points in a row, to count although it
recovered."""
THROUGHPUT = 0.7
MEMORY_GROWTH = 1.5
SLOW = ("slow-loader", "slowdown")
"""Only these may count by their speed: other runs' speed moves with the load of the machine."""

CRITERION = f"""\
beside its healthy twin (the same program, seed and settings), the run ends with an error or not at all;
logs a non-finite loss; ends with a loss, accuracy or reward that is worse by more than {
    100 * FINAL_SHARE:.0f} % of what the twin gained (an accuracy by {
    ACCURACY
} at least), or with figures too good
to be true: less than half of the twin's loss, an accuracy above 1; shows two points in a row on which the
training loss exceeds the twin's by {100 * TRANSIENT_SHARE:.0f} % of that gain; moves entropy or length of
a policy by half, or its KL to three times the twin's and above 1; in faults of speed, has less than {
    100 * THROUGHPUT:.0f} % of the throughput; or has a host memory that grows by half."""

FloatArray = NDArray[np.float64]
_FINALS = (
    ("train.loss", "training loss"),
    ("eval.loss", "evaluation loss"),
    ("eval.accuracy", "evaluation accuracy"),
)
_POLICY = (("rl.entropy", "entropy"), ("rl.completion_length", "length"))
_ROLES = (
    *(role for role, _ in (*_FINALS, *_POLICY)),
    "rl.reward",
    "rl.kl",
    "step_time",
    "data_time",
    "host.memory",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: its exit status, and steps and values of the metrics that are compared."""

    status: int
    series: Mapping[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def final(self, role: str) -> float:
        """Median of the last tenth of the points, three at least; NaN without any."""
        values = self.series[role][1] if role in self.series else np.array([])
        last = values[-max(3, len(values) // 10) :]
        return float(np.median(last)) if len(last) else float("nan")


def outcome_of(folder: Path, run: Run) -> Outcome:
    """The outcome of the kept run in `folder`, which was read into `run`."""
    found = {role: series for role in _ROLES if (series := run.best(role)) is not None and len(series)}
    compared = {role: (one.steps.astype(float), one.values.copy()) for role, one in found.items()}
    return Outcome(int(json.loads((folder / DONE).read_text())["status"]), compared)


def effect(fault: str, onset: int | None, run: Outcome, twin: Outcome) -> str:
    """What the fault visibly did, in a few words; "" when nothing."""
    if run.status != twin.status:
        return f"ends with status {run.status}"
    for role in ("train.loss", "eval.loss"):
        if role in run.series and not np.isfinite(run.series[role][1]).all():
            return "non-finite loss"
    checks = (
        _final(run, twin),
        _policy(run, twin),
        _transient(run, twin),
        _speed(fault, onset, run, twin),
        _memory(run),
    )
    return next((text for text in checks if text), "")


def _gain(twin: Outcome, role: str) -> float:
    """What the twin gained from its first point to its end, in the unit of `role`."""
    values = [twin.series[role][1][0]]
    if role == "eval.loss" and "train.loss" in twin.series:
        values.append(twin.series["train.loss"][1][0])  # the first evaluation comes late
    return max(abs(float(value) - twin.final(role)) for value in values)


def _final(run: Outcome, twin: Outcome) -> str:
    named = (("rl.reward", "reward"),) if "rl.reward" in run.series else _FINALS
    for role, title in named:
        if role not in run.series or role not in twin.series:
            continue
        mine, other, margin = run.final(role), twin.final(role), FINAL_SHARE * _gain(twin, role) + 1e-9
        if role.endswith("loss"):
            harm = mine - other > margin or (other - mine > margin and mine < TOO_GOOD * other)
        else:
            harm = other - mine > (max(margin, ACCURACY) if role.endswith("accuracy") else margin)
        if harm:
            return f"{title} ends at {mine:.3g} instead of {other:.3g}"
        if role == "eval.accuracy" and mine > 1:
            return f"{title} ends at {mine:.3g}"
    return ""


def _policy(run: Outcome, twin: Outcome) -> str:
    for role, title in _POLICY:
        if role in run.series and role in twin.series:
            mine, other = run.final(role), twin.final(role)
            if abs(mine - other) > 0.5 * float(twin.series[role][1][0]):
                return f"{title} ends at {mine:.3g} instead of {other:.3g}"
    kl = run.final("rl.kl")
    return f"KL ends at {kl:.3g}" if kl > 1.0 and kl > 3 * twin.final("rl.kl") else ""


def _transient(run: Outcome, twin: Outcome) -> str:
    if "rl.reward" in run.series or "train.loss" not in run.series or "train.loss" not in twin.series:
        return ""  # a policy-gradient loss has no level
    (steps, mine), (twin_steps, other) = run.series["train.loss"], twin.series["train.loss"]
    place = np.searchsorted(twin_steps, steps).clip(0, len(other) - 1)
    local = np.array([other[max(0, i - 3) : i + 4].max() for i in place])
    above = (mine - local) / max(_gain(twin, "train.loss"), 1e-9)
    pairs = np.minimum(above[:-1], above[1:])
    if len(pairs) and pairs.max() > TRANSIENT_SHARE:
        return (
            f"loss {above.max() * 100:.0f} % of the gain above the twin's at step "
            f"{steps[int(above.argmax())]:.0f}"
        )
    return ""


def _speed(fault: str, onset: int | None, run: Outcome, twin: Outcome) -> str:
    if fault not in SLOW or "step_time" not in run.series or "step_time" not in twin.series:
        return ""
    steps, times = run.series["step_time"]
    affected = float(np.median(times[steps >= (onset or 0)]))
    if (
        fault == "slow-loader" and "data_time" in run.series
    ):  # what the run waits for is separated from the machine's load
        waiting = run.final("data_time") / affected
        return f"{waiting:.0%} of a step is waiting for data" if waiting > 1 - THROUGHPUT else ""
    usual = float(np.median(times[steps < onset] if onset else twin.series["step_time"][1]))
    return f"steps take {affected / usual:.1f} times as long" if usual < THROUGHPUT * affected else ""


def _memory(run: Outcome) -> str:
    if "host.memory" not in run.series:
        return ""
    values = run.series["host.memory"][1]
    return (
        f"memory grows by {values[-1] / values[0] - 1:.0%}" if values[-1] > MEMORY_GROWTH * values[0] else ""
    )
