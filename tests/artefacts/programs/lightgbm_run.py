"""Boosted trees by LightGBM, with its printed evaluations."""

from __future__ import annotations

import lightgbm
import numpy as np

generator = np.random.default_rng(0)
inputs = generator.normal(size=(400, 4))
labels = (inputs.sum(1) + generator.normal(size=400) * 0.3 > 0).astype(int)
train = lightgbm.Dataset(inputs[:300], labels[:300])
lightgbm.train(
    {"objective": "binary", "metric": ["binary_logloss", "auc"], "num_leaves": 4, "num_threads": 1},
    train,
    num_boost_round=40,
    valid_sets=[train, lightgbm.Dataset(inputs[300:], labels[300:], reference=train)],
    valid_names=["train", "valid"],
    callbacks=[lightgbm.log_evaluation(2), lightgbm.early_stopping(10)],
)
