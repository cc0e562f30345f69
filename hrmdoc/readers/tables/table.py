"""Rows of numbers made into points: which column counts, which tells the time, and how a cell is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Axis, FloatArray, IntArray, Points
from hrmdoc.text import patterns

# In order of trust; the first one that a row has counts its steps.
STEP_KEYS = (
    *(
        "global_step",
        "trainer/global_step",
        "train/global_step",
        "_step",
        "current_steps",
        "global_step/max_steps",
        "num_updates",
    ),
    *(
        "step",
        "Step",
        "steps",
        "iteration",
        "iter",
        "iterations",
        "update",
        "updates",
        "n_iter",
        "it",
        "train_step",
    ),
    *(
        "training_step",
        "training_iteration",
        "time/total_timesteps",
        "total_timesteps",
        "timesteps",
        "num_timesteps",
        "batch",
        "batch_idx",
        "i",
    ),
    *("episode", "episodes", "round", "generation", "Generation", "gen"),
)
EPOCH_KEYS = ("epoch", "Epoch", "epochs", "train/epoch", "current_epoch", "epoch_num", "EPOCH")
TIME_KEYS = (
    "_timestamp",
    "timestamp",
    "wall_time",
    "Wall time",
    "created_at",
    "datetime",
    "date",
    "ts",
    "time",
    "@timestamp",
    "asctime",
)
RESTARTING = frozenset({"step", "Step", "steps", "iteration", "iter", "it", "batch", "batch_idx", "i"})
_MISSING = frozenset({"", "na", "n/a", "none", "null", "-", "--", "?", "[n/a]", "[not supported]"})
_NONFINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "nan.0": math.nan, "inf.0": math.inf}
_NUMBER = patterns.lazy(
    r"^([+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))\s*(?:%|[a-zA-Z/]{1,6})?$"
)
_LONGEST = 2000  # characters of an array in a cell
_PRINTED = patterns.lazy(
    r"^(?:tensor|array|Array|(?:np|numpy)\.\w{1,12})\(\s*([-+\w.]{1,32})\s*(?:,[^()]{0,40})?\)$"
)
_OF_TOTAL = patterns.lazy(r"^(\d+)\s*/\s*\d+$")
_DAY_2001 = 978_307_200.0  # a number below this is seconds since the start of the run, not since 1970
SECONDS = (1e9, 1e11)  # numbers between them are seconds since 1970 beyond doubt


_SPLITS = {
    **dict.fromkeys(
        ("val", "valid", "validation", "eval", "evaluation", "dev", "validate", "evaluate"), "eval"
    ),
    **dict.fromkeys(("test", "testing"), "test"),
}
SPLIT_KEYS = ("split", "phase", "mode", "stage", "subset", "set", "prefix", "tag")


def split_named(word: str) -> str:
    """`eval` or `test` when the word names such a part of the data, else empty."""
    return _SPLITS.get(word.strip().lower(), "")


def split_of(path: str) -> str:
    """The part of the data that a file's name tells (`val_log.csv` gives `eval`), else empty."""
    words = re.split(r"[^a-z]+", path.replace("\\", "/").rpartition("/")[2].lower())
    return "" if "train" in words else next((split for word in words if (split := split_named(word))), "")


def with_split(metric: str, split: str) -> str:
    """`metric` with the part of the data in front, unless it tells that itself."""
    first = re.split(r"[^a-z]+", metric.lower())[0]
    return f"{split}/{metric}" if split and not split_named(first) and first != "train" else metric


class Places(NamedTuple):
    """The columns of a row that tell where it belongs; each a name or None."""

    step: str | None
    epoch: str | None
    time: str | None


def places(names: Iterable[str]) -> Places:
    """Finds them among the column names."""
    present = set(names)
    return Places(
        *(next((key for key in keys if key in present), None) for keys in (STEP_KEYS, EPOCH_KEYS, TIME_KEYS))
    )


def number(cell: Any) -> float | None:
    """A cell as a number: text with units, thousands separators, `8270/11043`; None when it is missing or no
    number."""
    if isinstance(cell, int | float):
        return float(cell) if abs(cell) < 1e308 or cell != cell or isinstance(cell, float) else math.inf
    if isinstance(cell, list) and len(cell) == 1:
        return number(cell[0])
    if not isinstance(cell, str) or len(cell) > (_LONGEST if cell.startswith("[") else 64):
        return None
    text = cell.strip()
    try:
        return None if "_" in text else float(text)
    except ValueError:
        pass
    return _spelled(text)


def _spelled(text: str) -> float | None:
    """The number in a text that is not written as Python writes one."""
    lowered = text.lower()
    if lowered in _MISSING:
        return None
    sign = -1.0 if lowered.startswith("-") else 1.0
    if (value := _NONFINITE.get(lowered.lstrip("+-"))) is not None:
        return sign * value
    if found := _OF_TOTAL.match(text) or _NUMBER.match(text):
        return float(found[1].replace(",", ""))
    if found := _PRINTED.match(text):
        return number(found[1])
    return _mean_of(text) if text.startswith("[") and text.endswith("]") else None


def _mean_of(text: str) -> float | None:
    """The mean of an array as numpy prints it, such as the rewards of environments side by side."""
    cells = text[1:-1].replace(",", " ").split()
    try:
        return sum(map(float, cells)) / len(cells) if cells else None
    except ValueError:
        return None


def is_missing(cell: Any) -> bool:
    """Whether a cell says in words that nothing was measured."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in _MISSING)


def unix_time(cell: Any) -> float:
    """A cell as Unix seconds: seconds, milliseconds, nanoseconds or an ISO date; NaN when it is none of
    these."""
    if isinstance(cell, str) and not cell.replace(".", "", 1).isdigit():
        try:
            return datetime.fromisoformat(cell.strip().replace("/", "-").replace(",", ".")).timestamp()
        except (ValueError, OverflowError, OSError):
            return math.nan
    value = number(cell)
    if value is None or not math.isfinite(value):
        return math.nan
    while value > 1e11:
        value /= 1e3
    return value if value > _DAY_2001 else math.nan


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


class _Piece(NamedTuple):
    """Some points of one metric, arrays of shape [n]; `order` numbers the records they came from."""

    order: IntArray
    values: FloatArray
    steps: IntArray
    times: FloatArray
    lines: IntArray
    axis: Axis


class Columns:
    """Collects pieces of metrics; gives each as one run of points in file order. Its first point tells its
    axis."""

    def __init__(self, context: Context, precision: int) -> None:
        self._context = context
        self._precision = precision
        self._pieces: dict[tuple[str, str], list[_Piece]] = {}
        self._axes: dict[tuple[str, str], Axis] = {}

    def add(
        self,
        metric: str,
        order: IntArray,
        values: FloatArray,
        *,
        steps: IntArray,
        times: FloatArray,
        lines: IntArray,
        axis: Axis = "step",
        source: str = "",
    ) -> None:
        """Adds values of one metric, all arrays of shape [n]; `order` numbers the records they came from."""
        self._pieces.setdefault((metric, source), []).append(_Piece(order, values, steps, times, lines, axis))

    def points(self) -> Iterator[Points]:
        """Everything that was added since the last call."""
        context = self._context
        for (metric, source), pieces in self._pieces.items():
            one = pieces[0] if len(pieces) == 1 else _joined(pieces)
            axis = self._axes.setdefault((metric, source), one.axis)
            logger = source or context.source or context.path
            yield Points(
                metric,
                one.steps,
                one.values,
                one.times,
                context.path,
                one.lines,
                context.rank,
                axis,
                self._precision,
                logger,
            )
        self._pieces = {}


def _joined(pieces: list[_Piece]) -> _Piece:
    """All pieces as one, in the order of their records."""
    sort = np.argsort(np.concatenate([piece.order for piece in pieces]), kind="stable")
    return _Piece(
        np.concatenate([piece.order for piece in pieces])[sort],
        np.concatenate([piece.values for piece in pieces])[sort],
        np.concatenate([piece.steps for piece in pieces])[sort],
        np.concatenate([piece.times for piece in pieces])[sort],
        np.concatenate([piece.lines for piece in pieces])[sort],
        min(pieces, key=lambda piece: int(piece.order[0])).axis,
    )
