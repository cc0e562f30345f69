"""Faults by program: what is put in, and the causes that a diagnosis should name."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.lab import authored
from benchmarks.lab.case import Case
from benchmarks.lab.spec import Spec, Value

CAUSES: dict[str, tuple[str, ...]] = {
    "all-detached": ("gradient-flow-broken",),
    "bad-batch": ("bad-data-batch",),
    "bad-init": ("bad-initialization",),
    "batch-too-small": ("batch-too-small-noisy",),
    "corrupt-checkpoint": ("checkpoint-incompatible", "checkpoint-damaged"),
    "dead-flow": ("gradient-flow-broken",),
    "fp16-overflow": ("half-precision-range",),
    "frozen": ("frozen-parameters",),
    "killed": ("scheduler-killed", "host-memory-exhausted"),
    "label-out-of-range": ("label-out-of-range",),
    "leakage": ("data-leakage",),
    "lr-decays-too-fast": ("lr-schedule-misconfigured",),
    "lr-too-high": ("learning-rate-too-high",),
    "lr-too-low": ("learning-rate-too-low",),
    "lr-zero": ("lr-schedule-misconfigured",),
    "malformed": ("malformed-or-empty-samples",),
    "masked": ("labels-masked",),
    "memorize": ("memorization",),
    "memory-leak": ("host-memory-exhausted",),
    "metric-misaligned": ("metric-computed-wrong",),
    "metric-over-counted": ("metric-computed-wrong",),
    "no-clip": ("gradient-clipping-missing",),
    "no-warmup": ("warmup-too-short",),
    "other-shape": ("checkpoint-incompatible",),
    "resume-no-optimizer": ("resume-incomplete",),
    "resume-replay": ("data-order-or-replay",),
    "saturated": ("numeric-saturation",),
    "scale-collapse": ("half-precision-range",),
    "shape-mismatch": ("code-error",),
    "shift": ("distribution-shift",),
    "slow-loader": ("input-pipeline-bound",),
    "slowdown": ("thermal-or-noisy-neighbour",),
    "token-out-of-range": ("token-index-out-of-range",),
    "too-small": ("model-too-small",),
    "unscaled": ("unscaled-loss-terms",),
    "warmup-never-ends": ("lr-schedule-misconfigured",),
    "weak-regularization": ("regularization-too-weak",),
    "weight-decay": ("weight-decay-too-high",),
    "wrong-targets": ("wrong-targets",),
    "bad-eval-sample": ("malformed-or-empty-samples", "metric-computed-wrong"),
    "bf16-weights": ("mixed-precision-misuse", "half-precision-range"),
    "eval-is-train": ("data-leakage",),
    "labels-remapped": ("distribution-shift", "wrong-targets"),
    "resume-lost-weights": ("resume-incomplete", "checkpoint-incompatible"),
    "too-long": ("training-too-long", "memorization", "late-overfitting"),
    "unshuffled": ("data-order-or-replay",),
}
"""Causes of the supervised programs' faults."""

NEW_FAULTS = (
    "bad-eval-sample",
    "bf16-weights",
    "eval-is-train",
    "labels-remapped",
    "resume-lost-weights",
    "too-long",
    "unshuffled",
)
"""Kinds that came after the rules; never put into a program that anything is learnt on."""

_SOME = ("token-out-of-range", "label-out-of-range", "masked", "metric-misaligned", "metric-over-counted")
_EVERY = [name for name in CAUSES if name not in _SOME and name not in NEW_FAULTS]
_GPT_NOT = (
    "all-detached",
    "killed",
    "malformed",
    "leakage",
    "too-small",
    "no-clip",
    "batch-too-small",
    "resume-replay",
    "shape-mismatch",
    "weak-regularization",
)
_REGRESSION_NOT = ("saturated", "slow-loader", "too-small", "killed", "resume-replay", "dead-flow")
_CLASSIFIER_NOT = ("slow-loader", "slowdown", "memory-leak", "killed", "scale-collapse")
"""Left out where the fault does no harm to that program, or where its logs cannot show it."""


def _toy(program: str, names: list[str], **settings: Value) -> list[Case]:
    onsets: dict[tuple[str, str], int] = {("regression", "lr-zero"): 150, ("classifier", "lr-zero"): 240}
    strengths = {
        ("gpt", "lr-too-high"): 100.0,
        ("regression", "lr-too-high"): 300.0,
        ("gpt", "unscaled"): 1.0,
        ("gpt", "bad-init"): 60.0,
        ("gpt", "no-warmup"): 15.0,
        ("gpt", "slow-loader"): 0.05,
        ("gpt", "slowdown"): 20.0,
        ("regression", "fp16-overflow"): 2e5,
        ("regression", "no-clip"): 25.0,
        ("regression", "no-warmup"): 60.0,
        ("classifier", "lr-too-high"): 200.0,
    }
    strengths |= {(program, "resume-no-optimizer"): 25.0}
    return [
        Case(name, CAUSES[name], strengths.get((program, name)), onsets.get((program, name)), settings)
        for name in names
    ]


def _named(*names: str, onset: int | None = None, settings: Mapping[str, Value] | None = None) -> list[Case]:
    return [Case(name, CAUSES[name], onset=onset, settings=settings or {}) for name in names]


def _hrm(*names: tuple[str, float | None, int | None, str]) -> list[Case]:
    return [Case(name, tuple(cause.split("|")), strength, onset) for name, strength, onset, cause in names]


_RL = {
    "cap-too-low": ("completion-cap-too-low",),
    "clip-too-tight": ("clipping-too-aggressive",),
    "kl-blow-up": ("policy-diverged-from-reference",),
    "length-hacking": ("reward-hacking-by-length",),
    "lr-too-high": ("learning-rate-too-high",),
    "lr-too-low": ("learning-rate-too-low",),
    "mode-collapse": ("mode-collapse",),
    "no-advantage": ("no-advantage-signal",),
    "reward-zero": ("reward-function-broken",),
    "stale-samples": ("stale-off-policy-samples",),
    "task-too-hard": ("task-too-hard",),
    "too-random": ("sampling-too-random",),
}

_PROCESS = {
    "bad-sample": ("malformed-or-empty-samples", "data-pipeline-broken"),
    "config-choice": ("config-invalid",),
    "config-syntax": ("config-invalid",),
    "disk-full": ("disk-exhausted",),
    "dtype-mismatch": ("code-error", "mixed-precision-misuse"),
    "file-limit": ("disk-exhausted",),
    "inplace": ("code-error",),
    "killed": ("scheduler-killed", "host-memory-exhausted"),
    "missing-module": ("dependency-missing",),
    "old-checkpoint": ("checkpoint-incompatible",),
    "out-of-memory": ("host-memory-exhausted",),
    "port-in-use": ("rendezvous-misconfigured",),
    "preempted": ("preempted", "scheduler-killed"),
    "ranks-bad-label": ("label-out-of-range",),
    "ranks-exception": ("code-error",),
    "ranks-hung": ("process-hung", "slow-collective-or-straggler"),
    "ranks-killed": ("scheduler-killed", "host-memory-exhausted"),
    "ranks-uneven": ("rank-desync",),
    "shape-mismatch": ("code-error",),
    "worker-killed": ("host-memory-exhausted", "shared-memory-too-small"),
}

_REFERENCE = _hrm(
    ("bad-batch", None, 200, "bad-data-batch"),
    ("fp16-overflow", None, 100, "half-precision-range"),
    ("frozen-params", None, None, "frozen-parameters"),
    ("halt-bias-zero", None, None, "halting-head-miscalibrated|halting-head-collapsed"),
    ("lr-too-high", None, None, "learning-rate-too-high"),
    ("lr-too-low", None, None, "learning-rate-too-low"),
    ("lr-zero", None, 100, "lr-schedule-misconfigured"),
    ("memorize", None, None, "memorization|late-overfitting"),
    ("nan-weights", None, 100, "numeric-saturation"),
    ("no-clip-explosion", None, None, "gradient-clipping-missing"),
    ("slow-loader", None, None, "input-pipeline-bound"),
    ("wrong-labels", None, None, "wrong-targets"),
    ("zero-labels", None, None, "labels-masked"),
)

LIBRARY_FAULTS: dict[str, list[Case]] = {
    "keras": [
        *_named(
            "bad-eval-sample",
            "bad-init",
            "eval-is-train",
            "frozen",
            "label-out-of-range",
            "leakage",
            "lr-too-high",
        ),
        *_named(
            "lr-too-low",
            "malformed",
            "memorize",
            "no-clip",
            "shape-mismatch",
            "too-long",
            "too-small",
            "unshuffled",
        ),
        *_named("wrong-targets"),
    ],
    "lightning": [
        *_named(
            "bad-eval-sample",
            "bad-init",
            "bf16-weights",
            "corrupt-checkpoint",
            "dead-flow",
            "eval-is-train",
            "frozen",
        ),
        *_named(
            "label-out-of-range", "lr-decays-too-fast", "lr-too-high", "lr-too-low", "malformed", "masked"
        ),
        *_named(
            "memorize",
            "no-clip",
            "other-shape",
            "too-long",
            "too-small",
            "unshuffled",
            "weight-decay",
            "wrong-targets",
        ),
        *_named("killed", "labels-remapped", "shift", onset=120),
        *_named("bad-batch", "lr-zero", onset=120, settings={"noise": 1.8}),
        *_named("leakage", settings={"noise": 1.8}),
        Case("bad-sample", ("malformed-or-empty-samples", "data-pipeline-broken")),
        Case("file-limit", ("disk-exhausted",)),
        Case("hang", ("process-hung",), onset=120, settings={"limit_s": 60}),
        Case("no-device", ("config-invalid", "driver-mismatch", "unsupported-on-device")),
        Case("no-such-setting", ("config-invalid",)),
        Case("worker-killed", ("host-memory-exhausted", "shared-memory-too-small", "scheduler-killed")),
        Case("wrong-monitor", ("config-invalid",)),
    ],
    "trl-dpo": [
        *_named("lr-too-high", "lr-too-low", "memorize", "wrong-targets"),
        Case("missing-column", ("config-invalid", "data-pipeline-broken", "code-error")),
        Case("no-such-setting", ("config-invalid",)),
        Case("same-pairs", ("wrong-targets",)),
    ],
    "trl-grpo": [
        *(Case(name, _RL[name]) for name in ("cap-too-low", "lr-too-high", "lr-too-low", "no-advantage")),
        *(Case(name, _RL[name]) for name in ("reward-zero", "task-too-hard", "too-random")),
        Case("length-hacking", _RL["length-hacking"], settings={"max_completion_length": 40}),
        Case("indivisible", ("config-invalid",)),
        Case("no-such-setting", ("config-invalid",)),
        Case("reward-exception", ("reward-function-broken", "code-error")),
    ],
    "trl-sft": [
        *_named(
            "bf16-weights",
            "corrupt-checkpoint",
            "frozen",
            "lr-too-high",
            "lr-too-low",
            "memorize",
            "token-out-of-range",
        ),
        *_named("too-long", "warmup-never-ends", "wrong-targets"),
        *_named("lr-zero", onset=60),
        Case("cut-off", ("samples-cut-off", "labels-masked")),
        Case("malformed", ("malformed-or-empty-samples", "labels-masked")),
        Case("nan-weights", ("numeric-saturation",), onset=60),
        Case("no-eval-data", ("config-invalid",)),
        Case("no-such-setting", ("config-invalid",)),
    ],
}

_NOVICE = [
    Case(
        "class-imbalance",
        ("class-imbalance",),
        settings={"classes": 2, "noise": 1.8, "dropout": 0.3, "hidden": 16},
    ),
    Case("constant-labels", ("class-imbalance", "wrong-targets")),
    Case("dropout-in-evaluation", ("dropout-in-evaluation",), settings={"dropout": 0.5}),
    Case("double-softmax", ("loss-misapplied",)),
    Case("double-softmax", ("loss-misapplied",), settings={"classes": 3}),
    Case("nll-of-scores", ("loss-misapplied",)),
    Case("nll-of-softmax", ("loss-misapplied",)),
    Case("no-zero-grad", ("gradients-never-cleared",)),
    Case(
        "no-zero-grad",
        ("gradients-never-cleared",),
        settings={"optimizer": "sgd", "lr": 0.005, "momentum": 0.0},
    ),
    Case("rate-of-ten", ("learning-rate-too-high",)),
    Case("rate-of-thirty", ("learning-rate-too-high",)),
    Case("sorted-labels", ("data-order-or-replay",)),
    Case("sorted-labels", ("data-order-or-replay",), settings={"every": 5}),
    Case("squared-error-of-labels", ("loss-misapplied", "wrong-targets")),
    Case("validation-is-training", ("data-leakage",)),
]
"""Faults of a first training loop and of its data."""

FAULTS: dict[str, list[Case]] = {
    "novice": _NOVICE,
    "adversaries": [
        Case(name, ("discriminator-too-strong",)) for name in ("discriminator-wins", "ranges-differ")
    ],
    "hrm-small": [
        *_REFERENCE,
        *_hrm(
            ("attention-layout-wrong", None, None, "attention-layout-wrong"),
            ("no-warmup", None, None, "warmup-too-short"),
            ("kill", None, 60, "scheduler-killed|host-memory-exhausted"),
            ("leak-memory", None, None, "host-memory-exhausted"),
            ("disk-full", None, None, "disk-exhausted"),
        ),
    ],
    "hrm-easy": [
        case
        for case in _REFERENCE
        if case.fault in ("lr-too-high", "wrong-labels", "zero-labels", "lr-zero", "nan-weights")
    ],
    "trm": [
        case
        for case in _REFERENCE
        if case.fault
        in (
            "lr-too-high",
            "lr-too-low",
            "wrong-labels",
            "zero-labels",
            "lr-zero",
            "nan-weights",
            "frozen-params",
            "bad-batch",
        )
    ],
    "gpt": _toy(
        "gpt",
        [*(n for n in _EVERY if n not in _GPT_NOT), "token-out-of-range", "label-out-of-range", "masked"],
    ),
    "classifier": [
        *_toy(
            "classifier",
            [
                *(n for n in _EVERY if n not in _CLASSIFIER_NOT),
                "label-out-of-range",
                "metric-misaligned",
                "metric-over-counted",
            ],
        ),
        *(
            Case(name, CAUSES[name], settings={"logger": "lines"})
            for name in (
                "lr-too-high",
                "bad-batch",
                "masked",
                "no-clip",
                "frozen",
                "all-detached",
                "scale-collapse",
                "malformed",
            )
        ),
    ],
    "regression": _toy("regression", [*(n for n in _EVERY if n not in _REGRESSION_NOT), *NEW_FAULTS]),
    "grpo": [Case(name, causes) for name, causes in _RL.items()],
    "process": [
        *(Case(name, causes) for name, causes in _PROCESS.items()),
        Case("hang", ("process-hung",), settings={"limit_s": 20}),
    ],
    "hf-trainer": [
        *(
            Case(name, CAUSES[name])
            for name in (
                "lr-too-high",
                "lr-too-low",
                "memorize",
                "masked",
                "token-out-of-range",
                "wrong-targets",
            )
        ),
        Case("no-such-setting", ("config-invalid",)),
    ],
    **LIBRARY_FAULTS,
    **authored.FAULTS,
}

ONSETS = {
    "all-detached": 100,
    "bad-batch": 200,
    "corrupt-checkpoint": 200,
    "fp16-overflow": 100,
    "killed": 150,
    "label-out-of-range": 100,
    "labels-remapped": 300,
    "lr-zero": 100,
    "malformed": 100,
    "other-shape": 200,
    "resume-lost-weights": 300,
    "resume-no-optimizer": 300,
    "resume-replay": 300,
    "saturated": 100,
    "scale-collapse": 60,
    "shape-mismatch": 100,
    "shift": 300,
    "slowdown": 200,
    "token-out-of-range": 100,
}
"""First step affected by a fault of the supervised programs that begins in mid-run, where the case gives no
other."""


def onset_of(spec: Spec) -> int | None:
    """First step that the fault of a run affects, None when it is there from the start."""
    if spec.onset is not None:
        return spec.onset
    return ONSETS.get(spec.fault) if spec.program in ("gpt", "classifier", "regression") else None
