"""Incidents of a text classifier."""

from __future__ import annotations

from hrmdoc.replay.story import Goal, Story, program

CLASSIFIER = program("classify")
_CLASSIFIER = """\
# A text classifier of 2.8 million parameters on 2,048 texts: 1,367 parameters a text.
experts: {experts}
load_balance: {balance}
d_model: 256
n_layers: 4
n_heads: 4
ff_dim: 1024
train_limit: 2048
batch_size: 16
steps: 1000
eval_every: 100
seed: 0

dropout: 0.1
lr: 3.0e-4
warmup_steps: 0
weight_decay: 0.0
label_smoothing: 0.0
early_stopping_patience: 0
augment: false
"""
_CURE = {
    "d_model: 256": "d_model: 128",
    "n_layers: 4": "n_layers: 2",
    "ff_dim: 1024": "ff_dim: 512",
    "eval_every: 100": "eval_every: 20",
    "dropout: 0.1": "dropout: 0.3",
    "warmup_steps: 0": "warmup_steps: 50",
    "weight_decay: 0.0": "weight_decay: 0.1",
    "label_smoothing: 0.0": "label_smoothing: 0.1",
    "early_stopping_patience: 0": "early_stopping_patience: 5",
    "augment: false": "augment: true",
}


def _zero_loss(name: str, kind: str, *, experts: bool = False, balance: float = 0.0) -> Story:
    """The zero-loss case for one kind of model."""
    return Story(
        name,
        f"training and validation loss reach 0; a {kind} text classifier",
        f"A {kind} text classifier with far more parameters than 2,048 texts can pin down reaches a loss "
        "of 0.0 in training and in validation. On texts that others wrote it errs all the same: it knows the "
        "words of its own by heart. hrmdoc stops it and makes every change that the case calls for.",
        _CLASSIFIER.format(experts=str(experts).lower(), balance=balance),
        _CURE,
        (
            Goal("training loss", "train_loss", bound=0.1),
            Goal("loss on texts of others", "unseen_loss", higher=False, form=".3f"),
            Goal("texts of others, right", "unseen_accuracy", form=".1%"),
        ),
        program=CLASSIFIER,
        enough_steps=220,
        sure=0.7,  # a leak of the data remains its rival, as in the case
        every=True,
    )


_WELL = """\
# A text classifier, regularised well enough for 2,048 texts.
device: cpu
d_model: 64
n_layers: 2
n_heads: 4
ff_dim: 256
train_limit: 2048
batch_size: {batch}
steps: {steps}
eval_every: 20
seed: 0

dropout: 0.3
lr: {lr}
warmup_steps: 50
weight_decay: 0.1
label_smoothing: 0.1
augment: true
"""
_GOALS = (
    Goal("loss on texts of others", "unseen_loss", higher=False, form=".3f"),
    Goal("texts of others, right", "unseen_accuracy", form=".1%", bound=0.9),
)


def _well(steps: int = 400, batch: int = 16, lr: str = "1.0e-3") -> str:
    return _WELL.format(steps=steps, batch=batch, lr=lr)


NAN_FP16 = Story(
    "nan-fp16",
    "NaN in fp16; a text classifier with a loss scale that never comes down",
    "A text classifier trains in fp16 with a constant loss scale of a million. fp16 ends at 65,504: the "
    "scaled gradients do not fit, nobody skips the step, and from the next one on everything is NaN.",
    _well(300)
    + "precision: fp16\nloss_scale: 1048576  # constant: no step is skipped when gradients overflow\n",
    {"precision: fp16": "precision: bf16"},
    _GOALS,
    program=CLASSIFIER,
    enough_steps=30,
    sure=0.5,
    seconds=50,
)
MODULE_MISSING = Story(
    "module-missing",
    "a config that names flash-attn, which is not installed",
    "The config of a text classifier was written for another machine: it names flash-attn, which is not "
    "installed here. The run ends at the import.",
    _well() + "attn_implementation: flash_attention_2\n",
    {"attn_implementation: flash_attention_2": "attn_implementation: sdpa"},
    _GOALS,
    program=CLASSIFIER,
    seconds=25,
)
DISK_FULL = Story(
    "disk-full",
    "a disk of 8 MiB fills up with checkpoints that nobody deletes",
    "A text classifier saves a checkpoint of 1.3 MB every 20 steps on a disk of 8 MiB, and keeps "
    "all of them.",
    _well() + "checkpoint_path: runs/small-disk\nsave_every: 20\nkeep_checkpoints: 1000\n",
    {"keep_checkpoints: 1000": "keep_checkpoints: 3   "},
    _GOALS,
    program=program("machine", "disk=8:runs/small-disk", "classify"),
    seconds=25,
)
OOM = Story(
    "oom",
    "out of memory, until the micro-batch fits; the ladder",
    "A text classifier takes its batch of 256 texts at once, on a machine that has 60 MiB of memory left. "
    "hrmdoc climbs the ladder: it halves the micro-batch and doubles the accumulation until the run fits, "
    "and the effective batch stays what it was.",
    _well(40, 256, "6.0e-3").replace("ff_dim: 256", "ff_dim: 1024").replace("steps: 50", "steps: 10")
    + "gradient_accumulation_steps: 1\ngradient_checkpointing: false\n",
    {
        "batch_size: 256": "batch_size: 64 ",
        "gradient_accumulation_steps: 1": "gradient_accumulation_steps: 4",
    },
    _GOALS,
    program=program("machine", "memory=60", "classify"),
    rungs=8,
    seconds=90,
)
STORIES = (
    _zero_loss("zero-loss", "dense"),
    _zero_loss("zero-loss-moe", "mixture-of-experts", experts=True),
    _zero_loss("zero-loss-moe-balanced", "load-balanced mixture-of-experts", experts=True, balance=0.01),
    NAN_FP16,
    MODULE_MISSING,
    DISK_FULL,
    OOM,
)
