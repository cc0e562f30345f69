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
from hrmdoc.integrations.given import State, enabled, weights
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
        self._stepwise, self._epochal, self._validated = set[str](), set[str](), set[str]()
        self._before: dict[str, float] = {}
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
        hparams = getattr(pl_module, "hparams", None)
        config["model"] = dict(hparams) if isinstance(hparams, Mapping) else {}
        options = {"framework": "lightning", **self._options}
        self.monitor = Monitor(rank=trainer.global_rank, config=config, **options)
        steps = {"run.total_steps": int(trainer.max_steps)} if trainer.max_steps > 0 else {}
        counted = weights(pl_module)
        self.monitor.configure({}, facts={"world_size": int(trainer.world_size), **steps, **counted})
        for logger in trainer.loggers:
            if type(logger).__name__ == "TensorBoardLogger":
                self.monitor.add_board(TensorBoard(partial(getattr, logger, "experiment")))

    @harmless
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Takes the settings of the optimizer, which the module has made by now, where there is but one."""
        if self.monitor is None or len(trainer.optimizers) != 1:
            return
        (optimizer,) = trainer.optimizers
        config: dict[str, Any] = {
            "optimizer.class_path": type(getattr(optimizer, "optimizer", optimizer)).__name__
        }
        for name in ("lr", "weight_decay"):
            stated = {group.get(f"initial_{name}", group.get(name)) for group in optimizer.param_groups}
            if len(stated) == 1 and isinstance(value := stated.pop(), int | float):
                config[f"optimizer.init_args.{name}"] = value
        self.monitor.configure(config)

    @harmless
    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Takes what was logged, where Lightning logs; stops and saves as the monitor asks, on all ranks."""
        monitor, step = self.monitor, int(trainer.global_step)
        if monitor is None or step % max(1, int(trainer.log_every_n_steps)):
            return
        news = _without(trainer.logged_metrics, self._epochal, self._validated)
        self._stepwise.update(news)
        self._log(step, news)
        any_rank = partial(trainer.strategy.reduce_boolean_decision, all=False)
        if "stop" in self._options and any_rank(monitor.should_stop):
            trainer.should_stop = True
        if "save" in self._options and any_rank(monitor.take_save()):
            trainer.save_checkpoint(f"{trainer.default_root_dir}/hrmdoc-step-{step}.ckpt")

    @harmless
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Takes what training logs once an epoch. Lightning keeps it for the next one, as it does with what a
        validation gave: it is no news at the steps between."""
        news = _without(trainer.callback_metrics, self._stepwise, self._validated)
        self._epochal.update(news)
        self._log(int(trainer.global_step), news)

    @harmless
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Notes what there is, to tell what the validation will give."""
        self._before = {name: float(value) for name, value in trainer.callback_metrics.items()}

    @harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Takes what the validation gave: at the first what is new or another value, then the same names."""
        if trainer.sanity_checking:
            return
        given = _without(trainer.callback_metrics, self._stepwise, self._epochal)
        self._validated.update(
            name for name, value in given.items() if float(value) != self._before.get(name)
        )
        self._log(int(trainer.global_step), {name: given[name] for name in self._validated & given.keys()})

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
        if self.monitor is not None and metrics:
            self.monitor.log(step, metrics)


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


def _without(metrics: Mapping[str, Any], *known: set[str]) -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if not any(name in names for names in known)}


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
