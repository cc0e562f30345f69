"""The incidents, by name. Each ends with a healed run that its own metric shows to be healthy."""

from __future__ import annotations

from hrmdoc.replay import rewards, texts
from hrmdoc.replay.story import Goal, Story

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
STORIES = {one.name: one for one in (*texts.STORIES, *rewards.STORIES, LR_TOO_HIGH)}
