"""hrmdoc in Ray Train: a run is examined by what its workers report.

    from hrmdoc.integrations.ray_train import HrmdocCallback
    doctor = HrmdocCallback(stop="critical")

    def train(config):
        for step in range(config["steps"]):
            ray.train.report({"step": step, "loss": loss})
            if doctor.should_stop():
                break

    TorchTrainer(train, run_config=RunConfig(callbacks=[doctor])).fit()

Ray's `UserCallback` is not told that a run has ended, and its process ends without a word; so this is derived
from the classes beside it, which Ray hands on as they are.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hrmdoc.integrations import harmless, missing
from hrmdoc.integrations.given import State
from hrmdoc.integrations.monitor import Monitor

try:
    import ray
    from ray.train import get_context
    from ray.train.collective import broadcast_from_rank_zero  # says so where Ray Train's first version is on
    from ray.train.v2._internal.execution.callback import (
        ControllerCallback,
        ReportCallback,
        WorkerGroupCallback,
    )
except ImportError as error:
    raise missing("Ray Train", "'ray[train]'", error) from error

_STEPS = ("step", "global_step", "training_iteration", "iteration")
"""By which names loops report the step; else reports are counted."""


class HrmdocCallback(ReportCallback, WorkerGroupCallback, ControllerCallback):  # type: ignore[misc, unused-ignore]
    """Examines what the worker of rank 0 reports, in the process by which Ray controls the workers.

    Args:
        options: those of `hrmdoc.Monitor` but `save`: what is saved goes with a report of the training
            function. `stop="critical"` counts where that asks `should_stop`.

    Raises:
        ValueError: `save` was given.
    """

    def __init__(self, **options: Any) -> None:
        if options.get("save") is not None:
            raise ValueError("save= does nothing in Ray Train: checkpoints go with ray.train.report(...)")
        if options.get("to") is not None:
            options["to"] = Path(os.fspath(options["to"])).absolute()  # of this process, not of Ray's
        self._options = {"command": [sys.executable, *sys.argv], **options}
        self._flag_name = f"hrmdoc-stop-{uuid.uuid4().hex}"
        self._described: dict[str, Any] = {}
        self._reports = 0
        self._flag: Any = None
        self.monitor: Monitor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Ray takes copies to its processes: each begins with nothing examined."""
        return {**self.__dict__, "monitor": None, "_flag": None}

    def should_stop(self) -> bool:
        """Whether an incident of this run asks it to end: the same answer for all workers.

        For the training function, where it reports: every worker must ask as often as the others.
        """
        return "stop" in self._options and bool(self._asked())

    @harmless
    def _asked(self) -> bool:
        first = get_context().get_world_rank() == 0
        return bool(broadcast_from_rank_zero(first and _exists(self._flag_name)))

    @harmless
    def after_controller_start(self, train_run_context: Any) -> None:
        """Remembers what the run was given."""
        self._described = {
            "name": str(train_run_context.run_config.name),
            "config": dict(train_run_context.train_loop_config or {}),
        }

    @harmless
    def after_report(self, training_report: Any, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Takes what rank 0 reports, as Ray's own result does; the next rank's where it reports nothing."""
        if self.monitor is None:
            self.monitor = Monitor(**{**self._described, "rank": 0, **self._options})
            self.monitor.configure({}, facts={"world_size": len(metrics)})
        said = next((dict(one) for one in metrics if one), {})
        self._reports += 1
        step = next((said.pop(name) for name in _STEPS if _whole(said.get(name))), self._reports)
        self.monitor.log(step, {name: value for name, value in said.items() if not isinstance(value, bool)})
        if self.monitor.should_stop and self._flag is None:
            # its name is its word: workers need no address of this process, and it ends with it
            self._flag = ray.remote(num_cpus=0)(type("Flag", (), {})).options(name=self._flag_name).remote()

    @harmless
    def after_worker_group_poll_status(self, worker_group_status: Any) -> None:
        """The error of a worker is examined too. Where Ray starts the workers again, so does a monitor."""
        errors = worker_group_status.errors
        if errors:
            rank = min(errors)
            error, told = errors[rank], worker_group_status.worker_statuses[rank].error
            if told is not error:
                error.__cause__ = told  # Ray keeps the traceback of the worker as the text of this one
            self._end("crashed", error)

    @harmless
    def before_controller_abort(self) -> None:
        """Somebody interrupts the run."""
        self._end("stopped")

    @harmless
    def after_controller_finish(self, result: Any) -> None:
        """Examines the run once more."""
        stopped = self.monitor is not None and self.monitor.should_stop
        failed = getattr(result, "error", None)
        self._end("crashed" if failed is not None else "stopped" if stopped else "finished", failed)

    def _end(self, state: State, error: BaseException | None = None) -> None:
        if self._flag is not None:
            ray.kill(self._flag)
            self._flag = None
        if self.monitor is not None:
            self.monitor.close(state, error)
            self.monitor = None


def _exists(name: str) -> bool:
    try:
        return ray.is_initialized() and ray.get_actor(name) is not None
    except ValueError:
        return False


def _whole(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int) and value >= 0
