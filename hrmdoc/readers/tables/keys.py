"""Which column of a row counts, which gives the time, and which part of the data a name means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# In order of trust; the first one that a row has counts its steps.
STEP_KEYS = (
    *(
        "global_step",
        "trainer/global_step",
        "train/global_step",
        "_step",
        "current_steps",
        "global_step/max_steps",
        "num_updates",
    ),
    *(
        "step",
        "Step",
        "steps",
        "iteration",
        "iter",
        "iterations",
        "update",
        "updates",
        "n_iter",
        "num_iters",
        "NumIters",
        "it",
        "train_step",
    ),
    *(
        "training_step",
        "training_iteration",
        "time/total_timesteps",
        "total_timesteps",
        "timesteps",
        "num_timesteps",
        "batch",
        "batch_idx",
        "i",
    ),
    *("episode", "Episode", "episodes", "ep", "round", "generation", "Generation", "gen"),
)
EPOCH_KEYS = ("epoch", "Epoch", "epochs", "train/epoch", "current_epoch", "epoch_num", "EPOCH")
TIME_KEYS = (
    "_timestamp",
    "timestamp",
    "wall_time",
    "Wall time",
    "created_at",
    "datetime",
    "date",
    "ts",
    "time",
    "@timestamp",
    "asctime",
)
RESTARTING = frozenset({"step", "Step", "steps", "iteration", "iter", "it", "batch", "batch_idx", "i"})
EPISODES = frozenset({"episode", "episodes"})
"""Steps of which each is a game, as trainings by reward count."""
_SPLITS = {
    **dict.fromkeys(
        ("val", "valid", "validation", "eval", "evaluation", "dev", "validate", "evaluate"), "eval"
    ),
    **dict.fromkeys(("test", "testing"), "test"),
}
SPLIT_KEYS = ("split", "phase", "mode", "stage", "subset", "set", "prefix", "tag")


def split_named(word: str) -> str:
    """`eval` or `test` when the word names such a part of the data, else empty."""
    return _SPLITS.get(word.strip().lower(), "")


def split_of(path: str) -> str:
    """The part of the data that a file's name gives (`val_log.csv` gives `eval`), else empty."""
    words = re.split(r"[^a-z]+", path.replace("\\", "/").rpartition("/")[2].lower())
    return "" if "train" in words else next((split for word in words if (split := split_named(word))), "")


def with_split(metric: str, split: str) -> str:
    """`metric` with the part of the data in front, unless it says that itself."""
    if not split:
        return metric
    first = re.split(r"[^a-z]+", metric.lower())[0]
    return metric if split_named(first) or first == "train" else f"{split}/{metric}"


class Places(NamedTuple):
    """The columns of a row that say where it belongs; each a name or None."""

    step: str | None
    epoch: str | None
    time: str | None


def places(names: Iterable[str]) -> Places:
    """Finds them among the column names."""
    present = set(names)
    return Places(
        *(next((key for key in keys if key in present), None) for keys in (STEP_KEYS, EPOCH_KEYS, TIME_KEYS))
    )
