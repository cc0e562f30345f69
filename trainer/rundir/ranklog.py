"""The logs of single processes in a run of several: `rank<N>.log` beside the run's own files, which the first
process writes.

A line says `step 120/500 | grad_norm 0.8 | lr 0.0001 | step_time 0.021 | data_time 0.001 | comm_time 0.004`.
The gradient norm is taken after the all-reduce, so it must be the same everywhere; `step_time` leaves the
waiting in collectives out, because with it all processes are as slow as the slowest and the slow one cannot
be seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .directory import RunDir, State
from .tb import Row


class RankLog(RunDir):
    """The run directory as any process but the first sees it: everything goes into its own log, nothing else
    is written."""

    def __init__(self, path: Path, rank: int) -> None:
        self.path, self.checkpoints, self.control = path, path / "checkpoints", path / "control"
        self.scalars = Silent()
        self._locks = []
        self.log_name = f"rank{rank}.log"
        self._say = lambda line: None  # noqa: ARG005
        self._complained = set()
        self.alive = (time.monotonic(), 0)

    def describe(self, config_yaml: str, facts: Mapping[str, Any]) -> None:
        """The first process describes the run."""

    def know(self, facts: Mapping[str, Any]) -> None:
        """The first process describes the run."""

    def state(self, state: State) -> None:
        """The first process writes the state."""

    def event(self, event: str, step: int, **detail: Any) -> None:
        """The first process writes events; what only this one met, such as an exception, it also logs."""

    def heartbeat(self, step: int, state: State = "running", *, force: bool = False) -> None:
        """One heart is enough: a collective that waits for this process stops the first one too."""
        del state, force
        self.alive = time.monotonic(), step

    @contextmanager
    def busy(self, step: int, limit_s: float = 0.0) -> Iterator[None]:
        """The first process beats."""
        del step, limit_s
        yield

    def close(self, step: int, state: State) -> None:
        """Nothing is open."""


class Silent:
    """Scalars that nobody keeps."""

    error: OSError | None = None

    def write(self, rows: Iterable[Row]) -> None:
        """Drops them."""

    def flush(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""


def rank_line(step: int, total: int, values: Mapping[str, float]) -> str:
    """A process's own line for a step."""
    names = {"grad_norm": "train/grad_norm", "lr": "train/lr"}
    busy = values["perf/step_time_s"] - values["perf/comm_time_s"]
    times = {
        "step_time": busy,
        "data_time": values["perf/data_time_s"],
        "comm_time": values["perf/comm_time_s"],
    }
    shown = [f"{name} {values[key]:.6g}" for name, key in names.items() if key in values]
    return " | ".join(
        [f"step {step}/{total}", *shown, *(f"{name} {value:.6f}" for name, value in times.items())]
    )
