"""Records: what readers yield, and nothing else. Nothing here knows what is healthy."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Axis = Literal["step", "epoch", "sample", "index"]
Value = str | int | float | bool | None


DATED = 1e8
"""From so many seconds on a time is one of the calendar."""


class Points(Struct, frozen=True):
    """Points of one metric, in the order they were written. All arrays have shape [n].

    Attributes:
        metric: the name as the source spells it, such as `train/lm_loss`.
        steps: what the x axis counts is given by `axis`; `index` means that the source gives no step.
        values: as written; may hold NaN and infinities.
        times: Unix seconds, NaN where unknown; below `DATED` those since the first midnight of a log whose
            stamps bear no date, which serve differences alone.
        file: where they were read.
        lines: 1-based line (text) or byte offset (binary) of each point, or None.
        rank: the global rank that wrote them, None when the source does not say.
        precision: 0 rounded for printing, 1 as text, 2 float32, 3 float64. The most precise source of a
            metric wins.
        source: the logger they belong to; several files of one logger share it. Defaults to `file`.
    """

    metric: str
    steps: IntArray
    values: FloatArray
    times: FloatArray
    file: str
    lines: IntArray | None = None
    rank: int | None = None
    axis: Axis = "step"
    precision: int = 1
    source: str = ""


class Line(Struct, frozen=True):
    """A log line worth keeping: it holds a literal that a signature asks for, or belongs to a traceback.

    `step` is the last training step seen in this file before the line; `time` is Unix seconds or NaN.
    """

    text: str
    file: str
    line: int
    time: float = math.nan
    rank: int | None = None
    step: int | None = None


class Fact(Struct, frozen=True):
    """Something true of the whole run.

    `scope` says whose word `key` is: `config` (the framework's own key, dotted), `env` (environment
    variable), `version` (package), or `run` (hrmdoc's canonical key, such as `run.total_steps`,
    `model.parameters`, `data.samples`).
    """

    key: str
    value: Value
    scope: Literal["config", "env", "version", "run"] = "run"
    file: str = ""
    line: int | None = None


EventKind = Literal[
    "start", "resume", "checkpoint", "eval", "exception", "action", "end", "restart", "launch"
]


CELL_ENDED = "the cell that trains has ended"
"""Detail of the end of a training in a notebook: what stands behind it is of other cells, which a person runs
one by one."""
CELL_STOPPED = f"{CELL_ENDED}, by hand"
"""The same where somebody stopped it."""


class Event(Struct, frozen=True):
    """A moment in the life of the run. `detail` is free text or a small mapping, by `kind`."""

    kind: EventKind
    file: str = ""
    line: int | None = None
    step: int | None = None
    time: float = math.nan
    rank: int | None = None
    detail: str = ""


class Tick(Struct, frozen=True):
    """How long a run has been silent, by the clock of who watches it: the stamps of a log may be of any zone.

    Attributes:
        quiet: seconds since the run made progress; NaN where nobody watched.
        usual: its usual seconds between two points, as the watcher saw them; NaN when not known.
        heartbeat: seconds since the heartbeat was renewed; NaN where there is none or nobody watched.
        closed: no later record will come.
    """

    quiet: float = math.nan
    usual: float = math.nan
    heartbeat: float = math.nan
    closed: bool = False


class Damage(Struct, frozen=True):
    """A place in the input that could not be read; what lies before and after it was kept.

    Attributes:
        left_out: how many records were left out there; 0 where that is not known.
        incomplete: evidence may be missing that decides: the end of an archive, rows beyond a limit.
    """

    file: str
    line: int | None
    what: str
    left_out: int = 0
    incomplete: bool = False


Record = Points | Line | Fact | Event | Tick | Damage
