"""hrmdoc in the `Trainer` of Lightning (`lightning` or `pytorch_lightning`).

    from hrmdoc.integrations.lightning import HrmdocCallback
    trainer = Trainer(..., callbacks=[HrmdocCallback(stop="critical")])

Where hrmdoc is installed, every trainer has one by itself, which logs incidents and does nothing else;
`HRMDOC_MONITOR=0` leaves it out, and so does a callback that was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hrmdoc.integrations import harmless, missing
from hrmdoc.integrations.boards import TensorBoard
from hrmdoc.integrations.given import State, enabled
from hrmdoc.integrations.monitor import Monitor

_CONFIG = ("max_steps", "max_epochs", "log_every_n_steps", "gradient_clip_val", "accumulate_grad_batches")


class Hooks:
    """Examines what modules log.

    Args:
        options: those of `hrmdoc.Monitor`. `stop="critical"` ends the training with a critical incident, on
            all ranks; `save="warning"` saves a checkpoint in the default root folder at an incident.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._seen: dict[str, Any] = {}
        self.monitor: Monitor | None = None

    @harmless
    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Starts a monitor, unless there is one by a callback that was given."""
        if trainer.fast_dev_run or self is not next(
            one for one in trainer.callbacks if isinstance(one, Hooks)
        ):
            return
        config = {f"trainer.{name}": getattr(trainer, name, None) for name in _CONFIG}
        config["trainer.precision"] = str(trainer.precision)
        config["model"] = _settings_of(getattr(pl_module, "hparams", None))
        options = {"framework": "lightning", **self._options}
        self.monitor = Monitor(rank=trainer.global_rank, config=config, **options)
        facts = {"world_size": int(trainer.world_size)}
        if trainer.max_steps > 0:
            facts["run.total_steps"] = int(trainer.max_steps)
        self.monitor.configure({}, facts=facts)
        for logger in trainer.loggers:
            if type(logger).__name__ == "TensorBoardLogger":
                self.monitor.add_board(TensorBoard(partial(getattr, logger, "experiment")))

    @harmless
    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Takes what was logged, where Lightning logs; stops and saves as the monitor asks, on all ranks."""
        monitor, step = self.monitor, int(trainer.global_step)
        if monitor is None or step % max(1, int(trainer.log_every_n_steps)):
            return
        self._log(step, trainer.logged_metrics)
        if "stop" in self._options and trainer.strategy.reduce_boolean_decision(
            monitor.should_stop, all=False
        ):
            trainer.should_stop = True
        if "save" in self._options and trainer.strategy.reduce_boolean_decision(
            monitor.take_save(), all=False
        ):
            trainer.save_checkpoint(f"{trainer.default_root_dir}/hrmdoc-step-{step}.ckpt")

    @harmless
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Takes what is logged once an epoch, validation among it."""
        self._log(int(trainer.global_step), trainer.callback_metrics)

    @harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Takes what the validation gave."""
        if not trainer.sanity_checking:
            self._log(int(trainer.global_step), trainer.callback_metrics)

    @harmless
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The traceback is examined too."""
        self._close("stopped" if isinstance(exception, KeyboardInterrupt) else "crashed", exception)

    @harmless
    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Examines the run once more."""
        self._close("stopped" if self.monitor is not None and self.monitor.should_stop else "finished")

    def _close(self, state: State, error: BaseException | None = None) -> None:
        if self.monitor is not None:
            self.monitor.close(state, error)

    def _log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Logs what is new: what Lightning keeps of an epoch stays until the next one."""
        if self.monitor is None:
            return
        news = {name: value for name, value in metrics.items() if self._seen.get(name) is not value}
        self._seen.update(news)
        if news:
            self.monitor.log(step, news)


@cache
def callback_class(package: str) -> type[Any]:
    """The callback for one of the two packages, whose classes are no relatives."""
    return type("HrmdocCallback", (Hooks, import_module(package).Callback), {"__doc__": Hooks.__doc__})


def entry() -> list[Any]:
    """What the entry point adds to every trainer of `lightning`; nothing where monitors are switched off."""
    return [callback_class("lightning.pytorch")()] if enabled() else []


def entry_of_pytorch_lightning() -> list[Any]:
    """The same for trainers of `pytorch_lightning`."""
    return [callback_class("pytorch_lightning")()] if enabled() else []


def _settings_of(hparams: Any) -> dict[str, Any]:
    return dict(hparams) if isinstance(hparams, Mapping) else {}


if TYPE_CHECKING:
    HrmdocCallback = Hooks
else:

    def __getattr__(name):
        """`HrmdocCallback` for `lightning` where that is installed, else for `pytorch_lightning`."""
        if name != "HrmdocCallback":
            raise AttributeError(name)
        try:
            return callback_class("lightning.pytorch")
        except ImportError as error:
            try:
                return callback_class("pytorch_lightning")
            except ImportError:
                raise missing("Lightning", "lightning", error) from error
