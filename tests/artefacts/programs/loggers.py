"""The same tiny training, told to an experiment tracker: `loggers.py wandb|wandb_crash|mlflow_files|mlflow_sqlite|trackio`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

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

    settings = wandb.Settings(mode="offline", x_disable_meta=True, x_disable_stats=True, disable_git=True, disable_code=True)
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

    trackio.init(project="tiny", name=name, config={**CONFIG, "lr": lr}, auto_log_cpu=False, auto_log_gpu=False)
    for step, loss, norm in training(30, lr):
        row = {"train/loss": loss, "train/grad_norm": norm, "train/lr": lr}
        if step % 10 == 9:
            row["val"] = {"loss": loss * 1.1}
        trackio.log(row, step=step)
    trackio.finish()


mode = sys.argv[1]
if mode.startswith("wandb"):
    wandb_run(1e4 if mode == "wandb_diverging" else 0.05, crash=mode == "wandb_crash")
elif mode == "trackio":
    trackio_run("diverging", 1e4)
    trackio_run("healthy", 0.05)
else:
    mlflow_run("file:./mlruns" if mode == "mlflow_files" else "sqlite:///mlflow.db", 1e4 if mode == "mlflow_sqlite" else 0.05)
