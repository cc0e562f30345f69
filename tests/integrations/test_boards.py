"""Findings in W&B (offline) and MLflow (a local store), by their own clients."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hrmdoc

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def run(losses: Iterator[float], breaks: int, **options: object) -> hrmdoc.Monitor:
    """Logs while boards are active; slowly enough that they are found and told in the run."""
    monitor = hrmdoc.Monitor(share=1.0, **options)  # type: ignore[arg-type]
    for step, loss in enumerate(losses):
        monitor.log(step, {"loss": math.nan if 0 <= breaks <= step else loss})
        time.sleep(0.002)
    monitor.close()
    return monitor


def test_wandb_gets_an_alert_and_a_summary(
    tmp_path: Path, losses: Iterator[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    alerts: list[tuple[str, str, object]] = []
    with wandb.init(mode="offline", dir=str(tmp_path), project="test") as active:
        original = active.alert

        def alert(title: str, text: str, level: object) -> None:
            alerts.append((title, text, level))
            original(title=title, text=text, level=level)

        monkeypatch.setattr(active, "alert", alert, raising=False)
        run(losses, 200)
        summary = dict(active.summary)
    assert alerts[0][0] == "hrmdoc: Loss is NaN or infinite"
    assert alerts[0][1].startswith("from step 200: ")
    assert alerts[0][2] == wandb.AlertLevel.ERROR
    assert summary["hrmdoc/verdict"] == "critical"
    assert summary["hrmdoc/open_incidents"] >= 1


def test_wandb_is_left_alone_where_it_is_asked_for(tmp_path: Path, losses: Iterator[float]) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    with wandb.init(mode="offline", dir=str(tmp_path), project="test") as active:
        run(losses, 200, tell=False)
        assert "hrmdoc/verdict" not in dict(active.summary)


def test_mlflow_gets_tags(tmp_path: Path, losses: Iterator[float]) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    values = list(losses)
    with mlflow.start_run() as sick:
        run(iter(values), 200)
    with mlflow.start_run() as well:
        run(iter(values), -1)
    tags = mlflow.get_run(sick.info.run_id).data.tags
    assert tags["hrmdoc.verdict"] == "critical"
    assert "loss is nan" in tags["hrmdoc.incident.loss-nonfinite"]
    tags = mlflow.get_run(well.info.run_id).data.tags
    assert tags["hrmdoc.verdict"] in ("healthy", "info")
    assert not [name for name in tags if name.startswith("hrmdoc.incident")]
