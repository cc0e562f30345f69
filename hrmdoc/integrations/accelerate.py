"""hrmdoc as a tracker of Accelerate.

    from hrmdoc.integrations.accelerate import HrmdocTracker
    doctor = HrmdocTracker()
    accelerator = Accelerator(log_with=doctor)
    accelerator.init_trackers("my-run", config=config)
    accelerator.log({"loss": loss}, step=step)
    accelerator.end_training()

To stop by it, on all ranks at the same step:

    if doctor.tracker.should_stop:
        accelerator.set_trigger()
    if accelerator.check_trigger():
        break
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hrmdoc.integrations import harmless, missing
from hrmdoc.integrations.monitor import Monitor

try:
    from accelerate.tracking import GeneralTracker
except ImportError as error:
    raise missing("Accelerate", "accelerate", error) from error


class HrmdocTracker(GeneralTracker):  # type: ignore[misc, unused-ignore]
    """Examines what is logged, on the main process.

    Args:
        run_name: what reports call the run.
        options: those of `hrmdoc.Monitor`.
    """

    name = "hrmdoc"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, run_name: str = "", **options: Any) -> None:
        super().__init__()
        self._monitor = Monitor(run_name, **options)
        self._step = 0

    @property
    def tracker(self) -> Monitor:
        """The monitor."""
        return self._monitor

    @harmless
    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        """Takes the settings of the run."""
        self._monitor.configure(values)

    @harmless
    def log(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Takes metrics; without a step they belong to the next one."""
        self._step = self._step + 1 if step is None else int(step)
        self._monitor.log(self._step, values)

    @harmless
    def finish(self) -> None:
        """Examines the run once more."""
        self._monitor.close("stopped" if self._monitor.should_stop else "finished")
