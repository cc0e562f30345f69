"""`HrmdocCallback` in a real `model.fit` of Keras."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "torch")
pytest.importorskip("torch")
keras = pytest.importorskip("keras", reason="keras is not installed")

from hrmdoc.integrations.keras import HrmdocCallback  # noqa: E402

_OF_KERAS = pytest.mark.filterwarnings("ignore:__array__ implementation")
"""By its own way from tensors of torch to arrays."""
pytestmark = [pytest.mark.frameworks, pytest.mark.slow, _OF_KERAS]


class Slow(keras.callbacks.Callback):  # type: ignore[misc, name-defined, unused-ignore]
    """A step as long as one of a larger model; from batch `breaks` on the weights are no numbers."""

    def __init__(self, breaks: int = -1) -> None:
        super().__init__()
        self.count, self.breaks = 0, breaks

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        time.sleep(0.005)
        self.count += 1
        if self.count == self.breaks:
            self.model.set_weights([np.full_like(one, math.nan) for one in self.model.get_weights()])


def fit(*callbacks: Any, **more: Any) -> Any:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)], name="line")
    model.compile(optimizer=keras.optimizers.SGD(0.02), loss="mse")
    x = np.random.default_rng(0).normal(size=(400, 4)).astype("float32")
    given = {"epochs": 5, "batch_size": 8, "verbose": 0, "validation_split": 0.2, **more}
    return model.fit(x, x.sum(1), callbacks=list(callbacks), **given)


def test_a_healthy_run_goes_to_its_end_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    callback = HrmdocCallback(batches=2, share=1.0, stop="critical")
    history = fit(callback, Slow())
    monitor = callback.monitor
    assert len(history.epoch) == 5
    assert monitor is not None
    assert monitor.analysis is not None
    assert monitor.incidents == []
    assert monitor.analysis.situation.framework == "keras"
    assert monitor.analysis.situation.facts["optimizer.lr"] == pytest.approx(0.02)
    assert monitor.analysis.situation.facts["optimizer.name"] == "SGD"
    assert monitor.analysis.situation.facts["model.trainable_parameters"] == 5
    assert {"loss", "val_loss"} <= monitor.analysis.run.metrics
    assert not [record for record in caplog.records if record.name == "hrmdoc"]


def test_the_loss_is_that_of_the_last_batches_not_of_the_epoch_so_far() -> None:
    class Logs(keras.callbacks.Callback):  # type: ignore[misc, name-defined, unused-ignore]
        means: list[float] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.means.append(float(logs["loss"]))

    logs, callback = Logs(), HrmdocCallback(batches=10)
    fit(callback, logs, epochs=1)
    assert callback.monitor is not None
    assert callback.monitor.analysis is not None
    (series,) = [s for s in callback.monitor.analysis.run.series.values() if s.key.metric == "loss"]
    means = logs.means
    wanted = [means[9], (means[19] * 20 - means[9] * 10) / 10]
    assert list(series.steps) == [10, 20, 30, 40]
    assert list(series.values[:2]) == pytest.approx(wanted)


def test_a_run_that_breaks_is_stopped_and_saved(tmp_path: Path) -> None:
    file = tmp_path / "saved.keras"
    callback = HrmdocCallback(batches=2, share=1.0, stop="critical", save="critical", checkpoint=str(file))
    history = fit(callback, Slow(breaks=60), epochs=20)
    assert len(history.epoch) < 20
    assert callback.monitor is not None
    assert callback.monitor.incidents[0].symptom == "loss-nonfinite"
    assert file.is_file()
