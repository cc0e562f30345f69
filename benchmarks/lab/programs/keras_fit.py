"""Keras on the torch backend: `model.fit` with CSVLogger, one line an epoch."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import torch
from numpy.typing import NDArray

CLASSES, INPUTS = 6, 20
DEFAULTS: dict[str, Any] = {
    "lr": 3e-3,
    "epochs": 14,
    "batch_size": 32,
    "samples": 800,
    "eval_samples": 200,
    "hidden": 48,
    "dropout": 0.1,
    "noise": 1.3,
    "decay": False,
    "optimizer": "adam",
}
FAULTS: dict[str, dict[str, Any]] = {
    "eval-is-train": {"samples": 150, "hidden": 256, "dropout": 0.0, "noise": 1.5, "epochs": 30},
    "lr-too-high": {"lr": 3.0},
    "lr-too-low": {"lr": 1e-6},
    "memorize": {"samples": 60, "hidden": 256, "dropout": 0.0, "noise": 1.5, "epochs": 60},
    "no-clip": {"optimizer": "sgd", "lr": 3.0},
    "too-long": {"samples": 150, "hidden": 128, "dropout": 0.0, "noise": 1.6, "epochs": 60},
    "too-small": {"hidden": 1},
}

Array = NDArray[np.float32]


def samples(count: int, seed: int, settings: dict[str, Any], fault: str) -> tuple[Array, NDArray[np.int64]]:
    """Noisy clusters, and their labels; `fault` spoils them."""
    centres = np.random.default_rng(5).normal(size=(CLASSES, INPUTS))
    random = np.random.default_rng(seed)
    y = random.integers(CLASSES, size=count)
    x = (centres[y] + settings["noise"] * random.normal(size=(count, INPUTS))).astype(np.float32)
    if fault == "wrong-targets":
        random.shuffle(y)
    if fault == "malformed":
        x[::150] = np.nan
    if fault == "leakage":
        x[:, :CLASSES] = 4 * np.eye(CLASSES)[y]
    if fault == "label-out-of-range":
        y[count // 2] = CLASSES + 3
    if fault == "unshuffled":
        order = np.argsort(y)
        x, y = x[order], y[order]
    return x, y


def model(settings: dict[str, Any], fault: str) -> keras.Model:
    """A net of two hidden layers."""
    net = keras.Sequential(
        [
            keras.Input((INPUTS,)),
            keras.layers.Dense(settings["hidden"], activation="relu"),
            keras.layers.Dropout(settings["dropout"]),
            keras.layers.Dense(settings["hidden"], activation="relu"),
            keras.layers.Dense(CLASSES),
        ]
    )
    if fault == "frozen":
        for layer in net.layers:
            layer.trainable = False
    if fault == "bad-init":
        for layer in net.layers:
            layer.set_weights([30 * weight for weight in layer.get_weights()])
    return net


def main() -> None:
    """Reads the specification and trains."""
    spec = json.loads(sys.argv[1])
    fault, seed = spec["fault"], spec["seed"]
    settings = {**DEFAULTS, **spec["settings"], **FAULTS.get(fault, {})}
    keras.utils.set_random_seed(seed)
    torch.set_num_threads(1)
    x, y = samples(settings["samples"], seed, settings, fault)
    spoilt = fault if fault in ("wrong-targets", "leakage") else ""
    held_out = (
        (x, y) if fault == "eval-is-train" else samples(settings["eval_samples"], seed + 1, settings, spoilt)
    )
    if fault == "bad-eval-sample":
        held_out[0][3, 0] = np.nan
    if fault == "shape-mismatch":
        x = x[:, :-1]
    rate: Any = settings["lr"]
    if settings["decay"]:
        rate = keras.optimizers.schedules.CosineDecay(
            rate, settings["epochs"] * (settings["samples"] // settings["batch_size"])
        )
    kinds = {"adam": keras.optimizers.Adam, "sgd": keras.optimizers.SGD}
    net = model(settings, fault)
    net.compile(
        optimizer=kinds[settings["optimizer"]](rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=fault != "no-logits"),
        metrics=["accuracy"],
    )
    net.fit(
        x,
        y,
        batch_size=settings["batch_size"],
        epochs=settings["epochs"],
        validation_data=held_out,
        shuffle=fault != "unshuffled",
        verbose=2,
        callbacks=[keras.callbacks.CSVLogger("history.csv")],
    )


if __name__ == "__main__":
    main()
