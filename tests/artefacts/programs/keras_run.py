"""A classifier trained by Keras on torch: `keras_run.py bars|lines|diverging`."""

from __future__ import annotations

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

mode = sys.argv[1]
torch.set_num_threads(1)
keras.utils.set_random_seed(0)
inputs = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")
labels = (inputs.sum(1) > 0).astype("int32")
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(2)])
model.compile(
    keras.optimizers.SGD(float("inf") if mode == "diverging" else 0.1),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    inputs,
    labels,
    batch_size=16,
    epochs=4,
    validation_split=0.25,
    verbose=1 if mode == "bars" else 2,
    callbacks=[
        keras.callbacks.CSVLogger("training.csv"),
        keras.callbacks.ReduceLROnPlateau(patience=1, verbose=1),
    ],
)
