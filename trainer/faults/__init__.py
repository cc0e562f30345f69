"""The fault lab's defects, by name. Put one into a run with `fault=<name>[:strength][@step]`.

The first word of a fault's docstring is the cause that a diagnosis should name.
"""

from __future__ import annotations

from . import data, model, process
from .base import Fault, parse

FAULTS: dict[str, type[Fault]] = {
    "attention-layout-wrong": model.AttentionLayoutWrong,
    "bad-batch": data.BadBatch,
    "corrupt-checkpoint": process.CorruptCheckpoint,
    "disk-full": process.DiskFull,
    "fp16-overflow": model.Fp16Overflow,
    "frozen-params": model.FrozenParams,
    "halt-bias-zero": model.HaltBiasZero,
    "hang": process.Hang,
    "kill": process.Kill,
    "leak-memory": data.LeakData,
    "lr-too-high": model.LrTooHigh,
    "lr-too-low": model.LrTooLow,
    "lr-zero": model.LrZero,
    "memorize": data.Memorize,
    "nan-weights": model.NanWeights,
    "no-clip-explosion": model.NoClipExplosion,
    "no-warmup": model.NoWarmup,
    "slow-loader": data.SlowLoader,
    "wrong-labels": data.WrongLabels,
    "zero-labels": data.ZeroLabels,
}


def fault_of(text: str | None) -> Fault:
    """The fault that `text` names; None is one that does nothing."""
    return Fault() if text is None else parse(text, FAULTS)
