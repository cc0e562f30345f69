"""Optimizers, the learning rate schedule, the moving average."""
