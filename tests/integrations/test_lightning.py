"""`HrmdocCallback` in a real Lightning `Trainer`, given or by the entry point."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest

lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
torch = pytest.importorskip("torch")

from hrmdoc.integrations import lightning as ours  # noqa: E402

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


class Line(lightning.LightningModule):  # type: ignore[misc, name-defined, unused-ignore]
    """Fits a line; from step `breaks` on its loss is NaN, at step `raises` it crashes."""

    def __init__(self, breaks: int = -1, raises: int = -1) -> None:
        super().__init__()
        self.save_hyperparameters({"lr": 0.05})
        self.layer = torch.nn.Linear(4, 1)
        self.breaks, self.raises = breaks, raises

    def loss(self, x: Any) -> Any:
        """Against a sum with noise, which nothing predicts."""
        return ((self.layer(x)[:, 0] - x.sum(1) - torch.randn(len(x))) ** 2).mean()

    def training_step(self, batch: Any, index: int) -> Any:
        time.sleep(0.005)
        if self.global_step == self.raises:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity")
        loss = self.loss(batch[0])
        if 0 <= self.breaks <= self.global_step:
            loss = loss * math.nan
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", self.loss(batch[0]))

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.05)


def fit(folder: Path, model: Line, *callbacks: Any, **more: Any) -> Any:
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(800, 4))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    trainer = lightning.Trainer(
        max_steps=300,
        accelerator="cpu",
        log_every_n_steps=2,
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(callbacks),
        **{"logger": False, "enable_checkpointing": False, **more},
    )
    trainer.fit(model, loader, loader)
    return trainer


def test_a_healthy_run_goes_to_its_end_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    callback = ours.HrmdocCallback(share=1.0, stop="critical", save="warning")
    trainer = fit(tmp_path, Line(), callback)
    monitor = callback.monitor
    assert trainer.global_step == 300
    assert monitor is not None
    assert monitor.analysis is not None
    assert monitor.incidents == []
    assert monitor.analysis.situation.framework == "lightning"
    assert {"train_loss", "val_loss"} <= monitor.analysis.run.metrics
    facts = monitor.analysis.situation.facts
    assert (facts["run.total_steps"], facts["model.trainable_parameters"]) == (300, 5)
    assert (facts["optimizer.name"], facts["optimizer.lr"]) == ("SGD", 0.05)
    assert not [record for record in caplog.records if record.name == "hrmdoc"]


def test_what_is_logged_once_an_epoch_is_one_point_an_epoch(tmp_path: Path) -> None:
    class Both(Line):
        def training_step(self, batch: Any, index: int) -> Any:
            loss = super().training_step(batch, index)
            self.log("mean_loss", loss, on_step=False, on_epoch=True)
            return loss

    callback = ours.HrmdocCallback(share=1.0)
    fit(tmp_path, Both(), callback)
    assert callback.monitor is not None
    assert callback.monitor.analysis is not None
    found = {key.metric: series for key, series in callback.monitor.analysis.run.series.items()}
    assert found["val_loss"].steps.tolist() == [100, 200, 300]
    assert found["mean_loss"].steps.tolist() == [100, 200, 300]
    assert found["train_loss"].steps.tolist() == list(range(2, 301, 2))


def test_a_run_that_breaks_is_stopped_and_saved(tmp_path: Path) -> None:
    callback = ours.HrmdocCallback(share=1.0, stop="critical", save="critical")
    trainer = fit(tmp_path, Line(breaks=60), callback)
    assert callback.monitor is not None
    assert 60 < trainer.global_step < 300
    assert callback.monitor.incidents[0].symptom == "loss-nonfinite"
    assert list(tmp_path.glob("hrmdoc-step-*.ckpt"))


def test_what_ends_the_run_is_examined(tmp_path: Path) -> None:
    callback = ours.HrmdocCallback(share=1.0)
    with pytest.raises(RuntimeError, match="out of memory"):
        fit(tmp_path, Line(raises=100), callback)
    assert callback.monitor is not None
    assert callback.monitor.analysis is not None
    assert "oom-cuda" in {symptom.id for symptom in callback.monitor.analysis.present}
    assert callback.monitor.analysis.state == "crashed"


def test_findings_stand_in_its_event_file(tmp_path: Path) -> None:
    loggers = pytest.importorskip("lightning.pytorch.loggers")
    pytest.importorskip("tensorboard")
    logger = loggers.TensorBoardLogger(str(tmp_path), name="run")
    fit(tmp_path, Line(breaks=60), ours.HrmdocCallback(share=1.0), logger=logger)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("events.out.tfevents.*"))
    assert b"hrmdoc/incidents" in written
    assert b"hrmdoc/severity" in written


def test_the_entry_point_adds_one_that_yields_to_one_that_was_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lightning.pytorch.trainer.connectors import callback_connector

    monkeypatch.setattr(callback_connector, "_load_external_callbacks", lambda _: ours.entry())
    given = ours.HrmdocCallback(share=1.0)
    trainer = fit(tmp_path, Line(), given)
    (own,) = [one for one in trainer.callbacks if isinstance(one, ours.Hooks) and one is not given]
    assert (own.monitor, given.monitor is None) == (None, False)
    alone = fit(tmp_path, Line())
    (callback,) = [one for one in alone.callbacks if isinstance(one, ours.Hooks)]
    assert callback.monitor is not None
    monkeypatch.setenv("HRMDOC_MONITOR", "0")
    assert not [one for one in fit(tmp_path, Line()).callbacks if isinstance(one, ours.Hooks)]


def test_the_class_for_the_other_package_is_one_of_its_own() -> None:
    other = pytest.importorskip("pytorch_lightning")
    (callback,) = ours.entry_of_pytorch_lightning()
    assert isinstance(callback, other.Callback)
