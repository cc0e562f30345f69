"""What a person sees of a run: a progress bar on a terminal, the lines of the log anywhere else. All of it on
stderr."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

STEP = re.compile(r"step (\d+)/(\d+) ")
SHOWN = {
    "train/lm_loss": "lm_loss {:.3f}",
    "train/exact_accuracy": "exact {:.0%}",
    "train/steps": "halting after {:.1f}",
    "train/lr": "lr {:.1e}",
}
"""What stands beside the bar."""


class Screen:
    """Call `say` with lines, and `progress` with metrics once `begin` said how many steps there are.

    Args:
        quiet: shows nothing, as in all processes of a run but the first.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet, self.terminal = quiet, sys.stderr.isatty() and not quiet
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._seen: dict[str, float] = {}
        self._begun: float | None = None
        self._first = 0

    def say(self, line: str) -> None:
        """One line. A step's own line is left to the bar where there is one."""
        if self.quiet:
            return
        if self._bar is None:
            try:
                sys.stderr.write(f"{line}{self._left(line)}\n")
                sys.stderr.flush()
            except (
                BrokenPipeError,
                ValueError,
            ):  # nobody reads any more; the run goes on, and train.log has it all
                return
        elif not line.startswith("step "):
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _left(self, line: str) -> str:
        """How long the run will take from a plain line's step on, at its speed so far (h:mm:ss)."""
        found = STEP.match(line)
        done = int(found[1]) - self._first if found else 0
        if found is None or self._begun is None or done < 1:
            return ""
        spent = time.monotonic() - self._begun
        return f" | left {timedelta(seconds=round(spent / done * (int(found[2]) - int(found[1]))))}"

    def begin(self, step: int, total: int) -> None:
        """Shows the bar, on a terminal."""
        self._begun, self._first = time.monotonic(), step
        if not self.terminal:
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            *(MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(), TextColumn("left")),
            TextColumn("{task.description}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=total, completed=step)
        self._bar.start()

    def progress(self, step: int, values: Mapping[str, float]) -> None:
        """Moves the bar."""
        if self._bar is not None and self._task is not None:
            self._seen.update(values)  # a step in which no puzzle halted has no accuracy
            shown = [form.format(self._seen[name]) for name, form in SHOWN.items() if name in self._seen]
            shown.append(f"{1 / values['perf/step_time_s']:.1f} it/s")
            self._bar.update(self._task, completed=step, description="  ".join(shown))

    def end(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
