"""A classifier trained by skorch; prints its table and saves its history."""

from __future__ import annotations

import numpy as np
import torch
from skorch import NeuralNetClassifier

torch.set_num_threads(1)
torch.manual_seed(0)
inputs = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")
labels = (inputs.sum(1) > 0).astype("int64")
network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
classifier = NeuralNetClassifier(network, criterion=torch.nn.CrossEntropyLoss, max_epochs=6, lr=0.5)
classifier.fit(inputs, labels)
classifier.history.to_file("history.json")
