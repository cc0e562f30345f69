"""The incidents, by name. Each ends with a healed run that its own metric shows to be healthy."""

from __future__ import annotations

from hrmdoc.replay.story import CLASSIFIER, Goal, Story

UNSEEN = "puzzles that it never saw, solved"
LR_TOO_HIGH = Story(
    "lr-too-high",
    "a learning rate of 1.0 where 1e-3 was meant; 4x4 Sudoku",
    "HRM, the Hierarchical Reasoning Model, is a small network that thinks in rounds: one part plans, "
    "another computes, until a third says that it is done. A tiny one now learns 4x4 Sudoku on this machine, "
    "really, but somebody mistyped its learning rate. hrmdoc watches the run, stops it, says why it fails, "
    "mends one line of the config and trains again. That takes about a minute.",
    """\
# A tiny HRM on 4x4 Sudoku. Somebody mistyped the learning rate.
data_path: builtin:sudoku-4x4
global_batch_size: 32
epochs: 160
eval_interval: 16
max_steps: 2500
log_interval: 10

lr: 1.0              # meant to be 1e-3
lr_warmup_steps: 100
lr_min_ratio: 0.05
puzzle_emb_lr: 1e-3
weight_decay: 0.1

arch:
  hidden_size: 32
  H_layers: 1
  L_layers: 1
  num_heads: 2
  expansion: 2
  pos_encodings: learned
""",
    {"lr: 1.0  ": "lr: 1e-3 "},
    (Goal("loss", "train.loss", higher=False), Goal(UNSEEN, "eval.exact_accuracy", form=".0%")),
    enough_steps=520,
)
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


STORIES = {
    one.name: one
    for one in (
        _zero_loss("zero-loss", "dense"),
        _zero_loss("zero-loss-moe", "mixture-of-experts", experts=True),
        _zero_loss("zero-loss-moe-balanced", "load-balanced mixture-of-experts", experts=True, balance=0.01),
        LR_TOO_HIGH,
    )
}
