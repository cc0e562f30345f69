"""Faults of the small programs by name; they reach into data, model, schedule and process, never into what is
logged."""

from __future__ import annotations

import toy_data
import toy_model
import toy_process
from toy_base import Fault

__all__ = ["FAULTS", "Fault"]

FAULTS: dict[str, type[Fault]] = {
    "all-detached": toy_model.AllDetached,
    "bad-batch": toy_data.BadBatch,
    "bad-eval-sample": toy_data.BadEvalSample,
    "bad-init": toy_model.BadInit,
    "batch-too-small": toy_model.BatchTooSmall,
    "bf16-weights": toy_model.Bf16Weights,
    "corrupt-checkpoint": toy_process.CorruptCheckpoint,
    "dead-flow": toy_model.DeadFlow,
    "eval-is-train": toy_data.EvalIsTrain,
    "fp16-overflow": toy_model.Fp16Overflow,
    "frozen": toy_model.Frozen,
    "killed": toy_process.Killed,
    "label-out-of-range": toy_data.LabelOutOfRange,
    "labels-remapped": toy_data.LabelsRemapped,
    "leakage": toy_data.Leakage,
    "lr-decays-too-fast": toy_model.LrDecaysTooFast,
    "lr-too-high": toy_model.LrTooHigh,
    "lr-too-low": toy_model.LrTooLow,
    "lr-zero": toy_model.LrZero,
    "malformed": toy_data.Malformed,
    "masked": toy_data.Masked,
    "memorize": toy_data.Memorize,
    "memory-leak": toy_process.MemoryLeak,
    "metric-misaligned": toy_process.MetricMisaligned,
    "metric-over-counted": toy_process.MetricOverCounted,
    "no-clip": toy_model.NoClip,
    "no-warmup": toy_model.NoWarmup,
    "other-shape": toy_process.OtherShape,
    "resume-lost-weights": toy_process.ResumeLostWeights,
    "resume-no-optimizer": toy_process.ResumeNoOptimizer,
    "resume-replay": toy_process.ResumeReplay,
    "saturated": toy_model.Saturated,
    "scale-collapse": toy_model.ScaleCollapse,
    "shape-mismatch": toy_process.ShapeMismatch,
    "shift": toy_data.Shift,
    "slow-loader": toy_process.SlowLoader,
    "slowdown": toy_process.Slowdown,
    "token-out-of-range": toy_data.TokenOutOfRange,
    "too-long": toy_data.TooLong,
    "too-small": toy_model.TooSmall,
    "unscaled": toy_model.Unscaled,
    "unshuffled": toy_data.Unshuffled,
    "warmup-never-ends": toy_model.WarmupNeverEnds,
    "weak-regularization": toy_data.WeakRegularization,
    "weight-decay": toy_model.WeightDecay,
    "wrong-targets": toy_data.WrongTargets,
}
