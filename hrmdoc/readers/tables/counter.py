"""Steps of rows in file order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hrmdoc.record.records import Axis, FloatArray, IntArray

BoolArray = NDArray[np.bool_]
AXES: tuple[Axis, ...] = ("step", "epoch", "index")


class Counter:
    """Steps of rows in file order, with memory from block to block.

    Where `step` starts over in each epoch, the steps of earlier epochs are added. A row without a step has
    that of the row before; if no row had one, whole epochs count, else the rows themselves.
    """

    def __init__(self) -> None:
        self._step = math.nan
        self._epoch = math.nan
        self._last_raw = math.nan
        self._last_epoch = math.nan
        self._offset = 0.0
        self._rows = 0
        self._whole_epochs: bool | None = None

    def steps(self, step: FloatArray, epoch: FloatArray, restarting: BoolArray) -> tuple[IntArray, IntArray]:
        """Steps of the next rows, and what each counts as a position in `AXES`. All arrays have shape [n].

        Args:
            step: NaN where a row has none.
            epoch: NaN where a row has none.
            restarting: whether the step of a row is one that may start over in every epoch.
        """
        if self._goes_on(step, restarting):
            return self._as_they_stand(step, epoch)
        index = np.arange(self._rows, self._rows + len(step), dtype=np.int64)
        self._rows += len(step)
        known = np.flatnonzero(np.isfinite(epoch))
        if self._whole_epochs is None and len(known):
            self._whole_epochs = bool(epoch[known[0]] == math.floor(epoch[known[0]]))
        counted = self._filled(self._continued(step, epoch, restarting), "_step")
        epochs = self._filled(epoch, "_epoch") if self._whole_epochs else np.full(len(step), math.nan)
        steps = np.where(
            np.isfinite(counted), counted, np.where(np.isfinite(epochs), np.floor(epochs), index)
        )
        axes = np.where(np.isfinite(counted), 0, np.where(np.isfinite(epochs), 1, 2))
        return np.clip(steps, -(2.0**62), 2.0**62).astype(np.int64), axes.astype(np.int64)

    def _goes_on(self, step: FloatArray, restarting: BoolArray) -> bool:
        """Whether each row has a step, and none starts over or did before."""
        if not len(step) or not np.logical_and.reduce(np.isfinite(step)):
            return False
        if not np.logical_or.reduce(restarting):
            return True
        falls = step[0] < self._last_raw or np.logical_or.reduce(step[1:] < step[:-1])
        return not falls and not self._offset

    def _as_they_stand(self, step: FloatArray, epoch: FloatArray) -> tuple[IntArray, IntArray]:
        """As `steps`, where steps go on: so nearly all rows do, of a run that is followed a few at a time."""
        self._rows += len(step)
        self._step = self._last_raw = float(step[-1])
        known = epoch[np.isfinite(epoch)]
        if len(known):
            if self._whole_epochs is None:
                self._whole_epochs = bool(known[0] == math.floor(known[0]))
            self._last_epoch = float(known[-1])
            self._epoch = self._last_epoch if self._whole_epochs else self._epoch
        return step.clip(-(2.0**62), 2.0**62).astype(np.int64), np.zeros(len(step), np.int64)

    def _filled(self, values: FloatArray, name: str) -> FloatArray:
        """`values` with gaps filled from before; remembers the last one."""
        filled = _carried(getattr(self, name), values)
        setattr(self, name, float(filled[-1]))
        return filled[1:]

    def _continued(self, step: FloatArray, epoch: FloatArray, restarting: BoolArray) -> FloatArray:
        """`step` counted through all epochs."""
        epochs = _carried(self._last_epoch, epoch)
        raw = _carried(self._last_raw, step)
        starts_over = restarting & (raw[1:] < raw[:-1]) & (epochs[1:] > epochs[:-1])
        offsets = self._offset + np.cumsum(np.where(starts_over, raw[:-1] + (raw[1:] == 0), 0.0))
        self._last_epoch, self._last_raw, self._offset = float(epochs[-1]), float(raw[-1]), float(offsets[-1])
        return np.where(restarting, step + offsets, step)


def _carried(before: float, values: FloatArray) -> FloatArray:
    """`before` and `values`, shape [n + 1], each gap filled with the last finite number before it."""
    known = np.concatenate([[before], values])
    last = np.maximum.accumulate(np.where(np.isfinite(known), np.arange(len(known)), 0))
    return np.asarray(known[last])
