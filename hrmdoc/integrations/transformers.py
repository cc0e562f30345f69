"""hrmdoc in the `Trainer` of transformers, and in those of TRL, which are derived from it.

    from hrmdoc.integrations.transformers import HrmdocCallback
    trainer = Trainer(..., callbacks=[HrmdocCallback(stop="critical")])

What the trainer logs is examined. W&B, MLflow and TensorBoard, where the trainer reports to them, show what
is found.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

from hrmdoc.integrations import given, harmless, missing
from hrmdoc.integrations.boards import TensorBoard
from hrmdoc.integrations.monitor import Monitor

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise missing("transformers and TRL", "transformers", error) from error

_NO_METRICS = frozenset({"epoch", "total_flos", "train_runtime"})
_SUMMARY = frozenset({"train_loss", "train_samples_per_second", "train_steps_per_second"})
"""What sums a whole training up; where tokens are counted, every record has its run time."""


class HrmdocCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Examines what the trainer logs.

    Args:
        options: those of `hrmdoc.Monitor`. `stop="critical"` ends the training after the step with a critical
            incident, on all ranks; `save="warning"` saves a checkpoint at an incident.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.monitor: Monitor | None = None

    @harmless
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Starts a monitor, with the arguments and the model's config as settings of the run."""
        config = _plain_settings(args)
        model = kwargs.get("model")
        if (described := getattr(model, "config", None)) is not None:
            config["model_config"] = _plain_settings(described)
            config["model_config"]["architectures"] = type(model).__name__
        facts = {"run.total_steps": int(state.max_steps), "world_size": int(args.world_size)}
        if model is not None and not getattr(
            args, "fsdp", None
        ):  # which leaves each rank a part of each weight
            facts |= given.weights(model)
        options = {
            "framework": _framework(args),
            "name": str(args.run_name or Path(args.output_dir).name),
            **self._options,
        }
        self.monitor = Monitor(rank=0 if state.is_world_process_zero else 1, config=config, **options)
        self.monitor.configure({}, facts=facts)
        if "tensorboard" in (args.report_to or ()):
            self.monitor.add_board(TensorBoard(lambda: _writer(args)))

    @harmless
    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Takes what the trainer logs."""
        logs: dict[str, Any] = kwargs.get("logs") or {}
        if self.monitor is None or (_SUMMARY & logs.keys() and "loss" not in logs):
            return
        metrics = {name: value for name, value in logs.items() if name not in _NO_METRICS}
        self.monitor.log(int(state.global_step), metrics)

    @harmless
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops and saves as the monitor asks, on all ranks at the same step: at those that log."""
        monitor = self.monitor
        if monitor is None or state.global_step % max(1, int(state.logging_steps)):
            return
        stops = "stop" in self._options and _any_rank(args, monitor.should_stop)
        saves = "save" in self._options and _any_rank(args, monitor.take_save())
        control.should_training_stop = control.should_training_stop or stops
        control.should_save = control.should_save or saves

    @harmless
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Examines the run once more."""
        if self.monitor is not None:
            self.monitor.close("stopped" if self.monitor.should_stop else "finished")


def _writer(args: Any) -> Any:
    """A writer beside the event file of the trainer's own callback, which hands its writer to nobody.
    TensorBoard shows a folder of its own as a run of its own."""
    from transformers.integrations import TensorBoardCallback

    stated = os.environ.get("TENSORBOARD_LOGGING_DIR") or getattr(args, "logging_dir", None)
    folder = Path(stated).expanduser() if stated else Path(args.output_dir) / "runs"
    return TensorBoardCallback()._SummaryWriter(log_dir=str(folder / "hrmdoc"))


def _plain_settings(described: Any) -> dict[str, Any]:
    """Arguments or a model's config as a mapping; empty where they cannot be one."""
    try:
        return dict(described.to_dict())
    except Exception as error:  # noqa: BLE001 (of any class, with any mistake)
        logging.getLogger("hrmdoc").debug("no settings from %s: %s", type(described).__name__, error)
        return {}


def _framework(args: Any) -> str:
    """TRL's arguments are classes of its own."""
    return "trl" if type(args).__module__.startswith("trl.") else "hf-trainer"


def _any_rank(args: Any, asked: bool) -> bool:
    """Whether any rank asks; each must call it at the same step."""
    torch: Any = sys.modules.get("torch")
    if torch is None or args.world_size < 2 or not torch.distributed.is_initialized():
        return asked
    flag = torch.tensor(int(asked), device=args.device)
    torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MAX)
    return bool(flag.item())
