"""The same tiny training, told to an experiment tracker: `loggers.py NAME`, see the last lines.

`wandb_told` and `mlflow_told` also write down what the tracker's own reader tells of the run, which tests
compare with.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

CONFIG = {"lr": 0.05, "batch_size": 16, "model": {"width": 8}}


def training(steps: int, lr: float) -> Iterator[tuple[int, float, float]]:
    """Step, training loss and gradient norm of a linear regression."""
    generator = np.random.default_rng(0)
    weights = np.zeros(8, np.float32)
    for step in range(steps):
        inputs = generator.normal(size=(16, 8)).astype(np.float32)
        with np.errstate(all="ignore"):
            residual = inputs @ weights - inputs.sum(1)
            gradient = inputs.T @ residual / 8
            weights = weights - np.float32(lr) * gradient
            yield step, float(np.mean(residual**2)), float(np.linalg.norm(gradient))


def wandb_run(lr: float, crash: bool) -> None:
    import wandb

    settings = wandb.Settings(
        mode="offline", x_disable_meta=True, x_disable_stats=True, disable_git=True, disable_code=True
    )
    run = wandb.init(project="tiny", config={**CONFIG, "lr": lr}, settings=settings)
    for step, loss, norm in training(30, lr):
        row = {"train/loss": loss, "train/grad_norm": norm, "train/lr": lr}
        if step % 10 == 9:
            row["val"] = {"loss": loss * 1.1}
        run.log(row, step=step)
        if step % 10 == 0:
            print(f"step {step} loss {loss:.4f}")
        if crash and step == 24:
            raise RuntimeError("the disk went away")
    run.finish()


def mlflow_run(uri: str, lr: float) -> None:
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("tiny")
    with mlflow.start_run(run_name="tiny"):
        mlflow.log_params({"lr": lr, "batch_size": 16, "model.width": 8})
        for step, loss, norm in training(30, lr):
            mlflow.log_metrics({"train/loss": loss, "train/grad_norm": norm}, step=step)
            if step % 10 == 9:
                mlflow.log_metric("val_loss", loss * 1.1, step=step)


def trackio_run(name: str, lr: float) -> None:
    import trackio

    trackio.init(
        project="tiny", name=name, config={**CONFIG, "lr": lr}, auto_log_cpu=False, auto_log_gpu=False
    )
    for step, loss, norm in training(30, lr):
        row = {"train/loss": loss, "train/grad_norm": norm, "train/lr": lr}
        if step % 10 == 9:
            row["val"] = {"loss": loss * 1.1}
        trackio.log(row, step=step)
    trackio.finish()


def wandb_told() -> None:
    """An offline run with unusual values, and each item of its history as the reader of the SDK (0.22 and
    before) decodes it."""
    import wandb
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    settings = wandb.Settings(
        mode="offline", x_disable_meta=True, x_disable_stats=True, disable_git=True, disable_code=True
    )
    run = wandb.init(project="tiny", config=CONFIG, settings=settings)
    odd = [float("nan"), float("inf"), float("-inf"), 0, -1, 1e-300, 2**53, True]
    for step, (loss, value) in enumerate(
        zip([2.0, 1.5, 1.25, 1.0, 0.5, 0.25, 0.125, 0.0625], odd, strict=True)
    ):
        run.log(
            {"train/loss": loss, "odd": value, "deep": {"er": {"still": value}}, "text": "no number"},
            step=3 * step,
        )
    run.log({"late": 1.0})
    run.finish()
    wandb.teardown()
    store = DataStore()
    store.open_for_scan(str(next(Path("wandb").glob("offline-run-*/*.wandb"))))
    told = []
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            told.append(
                [[item.key or ".".join(item.nested_key), item.value_json] for item in record.history.item]
            )
    Path("told.meta").write_text(json.dumps(told))


def mlflow_told() -> None:
    """Two runs in a SQLite store and in a file store, with unusual values, and what MlflowClient tells of the
    newer one."""
    import mlflow
    from mlflow.tracking import MlflowClient

    odd = [float("nan"), float("inf"), float("-inf"), 0.0, -1.0, 1e-300, 1e300]
    for name, uri in (("mlflow.db", "sqlite:///mlflow.db"), ("mlruns", "file:./mlruns")):
        mlflow.set_tracking_uri(uri)
        mlflow.set_experiment("tiny")
        for run in ("older", "newer"):
            with mlflow.start_run(run_name=run) as active:
                mlflow.log_params({"lr": 0.05, "note": run})
                for step, value in enumerate(odd):
                    mlflow.log_metrics({"train/loss": 1.0 / (step + 1), "odd": value}, step=10 * step)
                mlflow.log_metric("twice", 1.0, step=5)
                mlflow.log_metric("twice", 2.0, step=5)
        client = MlflowClient()
        found = client.get_run(active.info.run_id).data
        metrics = {
            key: [[m.step, repr(m.value)] for m in client.get_metric_history(active.info.run_id, key)]
            for key in found.metrics
        }
        Path(f"told-{name}.meta").write_text(json.dumps({"params": found.params, "metrics": metrics}))


mode = sys.argv[1]
if mode == "wandb_told":
    wandb_told()
elif mode == "mlflow_told":
    mlflow_told()
elif mode.startswith("wandb"):
    wandb_run(1e4 if mode == "wandb_diverging" else 0.05, crash=mode == "wandb_crash")
elif mode == "trackio":
    trackio_run("diverging", 1e4)
    trackio_run("healthy", 0.05)
else:
    mlflow_run(
        "file:./mlruns" if mode == "mlflow_files" else "sqlite:///mlflow.db",
        1e4 if mode == "mlflow_sqlite" else 0.05,
    )
