"""What happened at one step: where a run was resumed, and where its loss broke."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hrmdoc.examination.tracks import rewinds
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.record.run import Run

ENOUGH = 5
"""Gradient norms before the break that tell what is usual, or what they were last."""
_PAST = 16
"""Points about a resume that tell what the loss was."""


def turns(run: Run) -> Iterator[tuple[str, Any]]:
    """What the points on both sides of the break and of the last resume say."""
    moments = [event.step for event in run.events.of("resume") if event.step]
    yield "observed.resumes", len(moments)
    if moments:
        yield from _rate(run, moments[-1])
        yield from _loss(run, moments[-1])
    yield from _broken(run)


def _broken(run: Run) -> Iterator[tuple[str, Any]]:
    """How many times its median the gradient norm was before the first loss that is not finite, how many
    steps went by between them, and how much higher its last points were than the first half until then."""
    loss, grad = run.best("train.loss"), run.best("grad_norm")
    if loss is None or grad is None:
        return
    broken = np.flatnonzero(~np.isfinite(loss.values))
    if not len(broken):
        return
    at = int(loss.steps[broken[0]])
    before = grad.steps < at
    earlier = grad.values[before]
    usual = earlier[np.isfinite(earlier)]
    if len(usual) >= ENOUGH:
        last, median = float(earlier[-1]), float(np.median(usual))
        fine = math.isfinite(last) and (median > 0 or last <= 0)
        yield "observed.gradient_before_break", last / max(median, 1e-300) if fine else math.inf
        yield "observed.steps_to_break", at - int(grad.steps[before][-1])
    if len(usual) >= 2 * ENOUGH and (level := middle(usual[: len(usual) // 2])) > 0:
        yield "run.gradient_growth", middle(usual[-ENOUGH:]) / level


def _rate(run: Run, moment: int) -> Iterator[tuple[str, Any]]:
    """The learning rate after the last resume over that before: of the same step where steps were done
    twice."""
    lr = run.best("lr")
    if lr is not None and not lr.role.guessed:
        at = _first_after(lr.steps, moment)
        if not 1 <= at < len(lr):
            return
        steps, values = _until(lr.steps, lr.values, at)
        last = int(np.searchsorted(steps, lr.steps[at], side="right")) - 1
        if last >= 0 and values[last] > 0:
            yield "run.resume_lr_ratio", float(lr.values[at] / values[last])


def _loss(run: Run, moment: int) -> Iterator[tuple[str, Any]]:
    """The rise of the loss at the last resume, in units of its scatter.

    It is that of the first three points over the median of those before, each in units of their usual
    distance from one another (2 % of the level at least), put together by Stouffer's method: noise alone
    gives a standard normal variable. Where steps were done twice, "before" is about the same step as it was
    the first time: what the loss fell to beyond it was not lost but is to be done again. Also what had been
    gained since the start, in the same units, and which share of it was lost.
    """
    loss = run.best("train.loss")
    if loss is None:
        return
    at = _first_after(loss.steps, moment)
    after = loss.values[at : at + 3]
    if at < 1 or len(after) < 3:
        return
    steps, values = _until(loss.steps, loss.values, at)
    seam = int(np.searchsorted(steps, loss.steps[at]))
    end = min(len(values), seam + _PAST // 2)
    before = values[max(0, end - _PAST) : end]
    if len(before) < _PAST // 2 or not np.isfinite(before).all():
        return
    level = float(np.median(before))
    scatter = max(1.05 * float(np.median(np.abs(np.diff(before)))), 0.02 * abs(level), 1e-12)
    yield "run.resume_loss_rise", float((after - level).sum() / scatter / math.sqrt(3.0))
    if (gained := float(loss.values[:3].max()) - level) > 0:
        yield "observed.gained_before_resume", gained / scatter
        yield "observed.lost_at_resume", float(after.max() - level) / gained


def _until(steps: IntArray, values: FloatArray, at: int) -> tuple[IntArray, FloatArray]:
    """The curve until the point `at`, 1 or more, each step as it was done last."""
    later = np.minimum.accumulate(steps[:at][::-1])[::-1]
    last = np.append(steps[: at - 1] < later[1:], True)
    return steps[:at][last], values[:at][last]


def _first_after(steps: IntArray, step: int) -> int:
    """Index of the first point behind a resume at `step`: where the steps fell back to it, else the first
    beyond it."""
    back = [index for index in rewinds(steps).resumed if steps[index - 1] >= step]
    return back[-1] if back else int(np.searchsorted(steps, step, side="right"))
