"""hrmdoc in Ray Tune: each trial is examined by the results that it reports.

from hrmdoc.integrations.ray import HrmdocCallback
doctor = HrmdocCallback(stop="critical")
Tuner(train, run_config=RunConfig(callbacks=[doctor], stop=doctor.stopper)).fit()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hrmdoc.integrations import harmless, missing
from hrmdoc.integrations.monitor import Monitor

try:
    from ray.tune import Callback, Stopper
except ImportError as error:
    raise missing("Ray Tune", "'ray[tune]'", error) from error

_NO_METRICS = frozenset(
    "timestamp pid done training_iteration iterations_since_restore config trial_id trial_name experiment_id "  # noqa: SIM905
    "experiment_tag date hostname node_ip checkpoint_dir_name".split()
)
"""What Tune itself adds to a result."""


class HrmdocCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Examines the trials, in the process that runs the experiment.

    Args:
        options: those of `hrmdoc.Monitor` but `save`: what is saved goes with a report of the trial.
            `stop="critical"` counts where the experiment is given `stopper`.

    Raises:
        ValueError: `save` was given.
    """

    def __init__(self, **options: Any) -> None:
        if options.get("save") is not None:
            raise ValueError("save= does nothing in Ray Tune: checkpoints go with ray.tune.report(...)")
        self._options = options
        self.monitors: dict[str, Monitor] = {}
        self.stopper = _Stopper(self)

    def __getstate__(self) -> dict[str, Any]:
        """Tune keeps a copy of an experiment on disk: without what was examined so far."""
        return {**self.__dict__, "monitors": {}}

    @harmless
    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: Mapping[str, Any], **info: Any
    ) -> None:
        """Takes what a trial reports."""
        monitor = self.monitors.get(trial.trial_id)
        if monitor is None:
            monitor = Monitor(str(trial), config=trial.config, **{"rank": 0, **self._options})
            self.monitors[trial.trial_id] = monitor
        metrics = {
            name: value
            for name, value in result.items()
            if name not in _NO_METRICS and not name.startswith("time_") and not isinstance(value, bool)
        }
        monitor.log(int(result["training_iteration"]), metrics)

    @harmless
    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Examines a trial that ended."""
        if (monitor := self.monitors.get(trial.trial_id)) is not None:
            monitor.close("stopped" if monitor.should_stop else "finished")

    @harmless
    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """The error of a trial is examined too."""
        if (monitor := self.monitors.get(trial.trial_id)) is not None:
            monitor.close("crashed", trial.get_pickled_error())


class _Stopper(Stopper):  # type: ignore[misc, unused-ignore]
    """Ends the trials that their monitors would stop, the others go on."""

    def __init__(self, callback: HrmdocCallback) -> None:
        self._callback = callback

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Whether this trial ends here."""
        monitor = self._callback.monitors.get(trial_id)
        return monitor is not None and monitor.should_stop

    def stop_all(self) -> bool:
        """Never: the other trials may be well."""
        return False
