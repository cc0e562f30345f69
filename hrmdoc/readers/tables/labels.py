"""Names that stand elsewhere than in the header of a table: in the file's name, in a comment, or in a cell of
every row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.tables.keys import EPOCH_KEYS, SPLIT_KEYS, STEP_KEYS, split_named, with_split
from hrmdoc.text import patterns

_METRIC = patterns.lazy(r"loss|acc|reward|return|perplexity|ppl|grad_?norm|nll|learning_rate", re.IGNORECASE)
_TAG = patterns.lazy(r"^run-.*?-?tag-")
_DVCLIVE = patterns.lazy(r"(?:^|/)plots/metrics/(?P<metric>.+)\.tsv$")
_DOWNLOAD = ["step", "value", "wall time"]
_NO_NAME = patterns.lazy(r"(?:\d{1,3}|y|values?|data|column_?\d|unnamed: \d|0\.0)\Z", re.IGNORECASE)
"""What heads the only column of a series that a program never named: pandas counts, others say that it is a
value."""
_COUNTERS = frozenset(key.lower() for key in (*STEP_KEYS, *EPOCH_KEYS))
INDEX = frozenset({"", "x", "index", "unnamed: 0"})
_MONITOR = {"r": "episode_reward", "l": "episode_length", "t": "elapsed"}
_NAMING = ("metric", "metric_name", "name", "key", "tag", "variable")


RUN_KEYS = frozenset(
    (
        *(
            "fold",
            "kfold",
            "k_fold",
            "cv_fold",
            "fold_id",
            "fold_idx",
            "model",
            "model_name",
            "run",
            "run_id",
            "run_name",
        ),
        *(
            "experiment",
            "experiment_name",
            "exp",
            "exp_name",
            "seed",
            "trial",
            "trial_id",
            "arch",
            "architecture",
            "algorithm",
        ),
    )
)
"""Columns that say which of several runs a row belongs to, where another one counts its steps or epochs."""


def metric_of(path: str) -> str:
    """The metric that a file's name gives (`train_loss.txt`, `run-fold1-tag-val_loss.csv`), else empty."""
    stem = _TAG.sub("", PurePath(path).stem)
    return stem if _METRIC.search(stem) else ""


def renamed(names: list[str], path: str, comment: str) -> list[str]:
    """The names of a header in full: TensorBoard's download has the metric in the file's name, DVCLive a part
    of it in the folders, Gym's monitor single letters."""
    if found := _DVCLIVE.search(path.replace("\\", "/")):
        own = found["metric"].rpartition("/")[2]
        return [found["metric"] if name.strip() == own else name for name in names]
    if sorted(name.strip().lower() for name in names) == _DOWNLOAD:
        tag = _TAG.sub("", PurePath(path).stem)
        return [tag if name.strip().lower() == "value" else name for name in names]
    if comment.startswith("{") and '"t_start"' in comment:
        return [_MONITOR.get(name.strip(), name) for name in names]
    return _named_by_file(names, path)


def _named_by_file(names: list[str], path: str) -> list[str]:
    """A counter, or no name, and one column without a name of its own, whose metric the file's name gives."""
    metric = metric_of(path)
    if len(names) == 2 and metric and _NO_NAME.match(names[1].strip()):
        first = names[0].strip()
        if first.lower() in _COUNTERS:
            return [names[0], metric]
        if first.lower() in INDEX:
            return ["step", metric]
    return names


def sums(names: Sequence[str]) -> dict[str, list[int]]:
    """Columns that are parts of one loss whose whole is not logged, by a name for their sum: detectors' box,
    class and others."""
    found: dict[str, list[int]] = {}
    for split in ("train", "val"):
        parts = {
            name: at
            for at, name in enumerate(names)
            if name.startswith(f"{split}/") and name.endswith("_loss")
        }
        if f"{split}/box_loss" in parts and len(parts) > 1:
            short = "+".join(name[len(split) + 1 : -len("_loss")] for name in parts)
            found[f"{split}/{short}_loss"] = list(parts.values())
    return found


class Labels:
    """Long tables, whose rows name the part of the data (`phase`) or the metric of their one `value`.

    Args:
        names: the header.
    """

    def __init__(self, names: Sequence[str]) -> None:
        lowered = [name.lower() for name in names]
        self._value = lowered.index("value") if "value" in lowered else -1
        naming = next((lowered.index(key) for key in _NAMING if key in lowered), -1)
        self._name = naming if self._value >= 0 else -1
        self._split = next(
            (at for key in SPLIT_KEYS if key in lowered and (at := lowered.index(key)) != self._name), -1
        )
        self._rows: list[tuple[str, str]] = []

    @property
    def used(self) -> bool:
        """Whether there are columns that name what the others hold."""
        return max(self._name, self._split) >= 0

    def see(self, columns: Sequence[Sequence[str]]) -> None:
        """Takes in the cells of the rows at hand, column by column; none where all of them are numbers."""
        if not columns or not self.used:
            self._rows = []
            return
        nothing = ("",) * len(columns[0])
        splits = map(split_named, columns[self._split]) if self._split >= 0 else nothing
        names = [cell.strip() for cell in columns[self._name]] if self._name >= 0 else nothing
        self._rows = list(zip(splits, names, strict=True))

    def of(self, metric: str, at: int) -> Iterator[tuple[str, NDArray[np.bool_] | None]]:
        """The metrics that column `at` holds, each with the rows that are its own, shape [n]; None where all
        are."""
        kinds = dict.fromkeys(self._rows)
        if all(kind == ("", "") for kind in kinds):
            yield metric, None
            return
        for split, name in kinds:
            here = np.array([row == (split, name) for row in self._rows])
            yield with_split(name if name and at == self._value else metric, split), here
