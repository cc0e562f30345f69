"""A profile of some steps, and what memory held when it ran out."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from ..rundir.directory import RunDir
from .hooks import Hook


class Profiler(Hook):
    """Records the steps `first` to `last` of `profile=first-last`, for TensorBoard's profiler, Perfetto and
    chrome://tracing.

    The trace and a table of the operators that took longest go into `profile/` of the run.
    """

    def __init__(self, steps: str | None, run: RunDir, rank: int = 0) -> None:
        first, _, last = (steps or "0-0").partition("-")
        self.first, self.last, self.run, self.rank = int(first), int(last), run, rank
        self._profile: profile | None = None

    def before_step(self, step: int) -> None:
        """Begins, if `step` is the first one to record."""
        if self._profile is None and self.first <= step <= self.last and self.last > 0:
            activities = [ProfilerActivity.CPU] + (
                [ProfilerActivity.CUDA] if torch.cuda.is_available() else []
            )
            self._profile = profile(activities=activities, profile_memory=True, record_shapes=True)
            self._profile.start()

    def after_step(self, step: int) -> None:
        """Ends, if `step` was the last one to record."""
        if self._profile is not None and step >= self.last:
            self.finish(step)

    def finish(self, step: int) -> None:
        """Writes what was recorded, if anything is being recorded."""
        if self._profile is None:
            return
        recorded, self._profile = self._profile, None
        recorded.stop()
        folder = self.run.path / "profile"
        name = f"steps_{self.first}-{step}.rank{self.rank}"
        try:
            folder.mkdir(exist_ok=True)
            recorded.export_chrome_trace(str(folder / f"{name}.pt.trace.json"))
            by = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
            (folder / f"{name}.txt").write_text(
                recorded.key_averages().table(sort_by=by, row_limit=30), encoding="utf-8"
            )
        except OSError as error:
            self.run.log(f"warning: the profile cannot be written: {error.strerror}; training goes on")
            return
        self.run.event("profile", step, path=str(folder))
        self.run.log(
            f"profile of steps {self.first} to {step}: {folder} "
            "(open it in https://ui.perfetto.dev or TensorBoard)"
        )


def record_memory(run: RunDir, step: int) -> Path:
    """Writes what the device's memory holds, after it ran out: a table, and on CUDA a snapshot for
    pytorch.org/memory_viz."""
    file = run.path / f"out_of_memory_step_{step}.txt"
    cuda = torch.cuda.is_available()
    try:
        file.write_text(
            torch.cuda.memory_summary() if cuda else "the host's memory ran out\n", encoding="utf-8"
        )
        if cuda:
            torch.cuda.memory._dump_snapshot(str(file.with_suffix(".pickle")))  # type: ignore[no-untyped-call]
    except (OSError, RuntimeError) as error:
        run.log(f"warning: the memory snapshot cannot be written: {error}")
    run.event("out_of_memory", step, path=str(file))
    run.log(
        f"error: out of memory after step {step}; what memory held: {file}\n"
        f"  hint: hrmdoc analyze {run.path} shows why; "
        "autotune=true finds a batch that fits and keeps the effective one"
    )
    return file
