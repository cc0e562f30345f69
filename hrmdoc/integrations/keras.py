"""hrmdoc in `model.fit` of Keras, on any backend.

from hrmdoc.integrations.keras import HrmdocCallback
model.fit(..., callbacks=[HrmdocCallback(stop="critical")])
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hrmdoc.integrations import harmless, missing
from hrmdoc.integrations.monitor import Monitor

try:
    import keras
except ImportError as error:
    raise missing("Keras", "keras", error) from error


class HrmdocCallback(keras.callbacks.Callback):  # type: ignore[misc, unused-ignore]
    """Examines the loss of every few batches, and the metrics of epochs.

    Args:
        batches: so many make a point of the loss. Keras gives the mean of the epoch so far; the mean of these
            batches alone is taken out of it.
        checkpoint: with `save`, the file (`.keras`) that the model is saved to at an incident.
        options: those of `hrmdoc.Monitor`; `stop="critical"` ends the training with a critical incident.
    """

    def __init__(self, *, batches: int = 20, checkpoint: str = "hrmdoc.keras", **options: Any) -> None:
        super().__init__()
        self._batches, self._checkpoint, self._options = max(1, batches), checkpoint, options
        self._step = self._before = 0
        self._sum = 0.0
        self.monitor: Monitor | None = None

    @harmless
    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """Starts a monitor, with the optimizer's settings as those of the run."""
        optimizer = getattr(self.model, "optimizer", None)
        config = {"optimizer": {"config": optimizer.get_config()}} if optimizer is not None else {}
        options = {"framework": "keras", "name": self.model.name, **self._options}
        self.monitor = Monitor(config={**config, "epochs": self.params.get("epochs")}, **options)
        self.monitor.configure({}, facts=self._weights())
        self._step = 0

    @harmless
    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """The mean begins anew."""
        self._before, self._sum = 0, 0.0

    @harmless
    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Takes the loss of the last batches, and stops as the monitor asks."""
        self._step += 1
        if (batch + 1) % self._batches == 0:
            self._take_loss(batch + 1, logs or {})
            if self.monitor is not None and self.monitor.should_stop:
                self.model.stop_training = True

    @harmless
    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Takes the metrics of the epoch, and stops and saves as the monitor asks."""
        if self.monitor is None:
            return
        metrics = {name: value for name, value in (logs or {}).items() if name != "loss"}
        if self._before == 0:  # an epoch of fewer batches than a point is made of
            metrics["loss"] = (logs or {}).get("loss")
        self.monitor.log(self._step, {**metrics, "learning_rate": self._rate()})
        if self.monitor.should_stop:
            self.model.stop_training = True
        if self.monitor.take_save():
            self.model.save(self._checkpoint)

    @harmless
    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Examines the run once more."""
        if self.monitor is not None:
            self.monitor.close("stopped" if self.monitor.should_stop else "finished")

    def _take_loss(self, count: int, logs: Mapping[str, Any]) -> None:
        if self.monitor is None or "loss" not in logs:
            return
        total = float(logs["loss"]) * count
        mean = (total - self._sum) / (count - self._before)
        self._before, self._sum = count, total
        self.monitor.log(self._step, {"loss": mean})

    def _weights(self) -> dict[str, int]:
        """How many weights there are, and how many learn; nothing of a model that was not built yet."""
        if not self.model.built:
            return {}
        learning = sum(math.prod(one.shape) for one in self.model.trainable_weights)
        return {"model.parameters": int(self.model.count_params()), "model.trainable_parameters": learning}

    def _rate(self) -> float:
        return float(self.model.optimizer.learning_rate)
