"""A table of runs: rows in which settings of the model or of the data differ, or of which each shows that a
training has ended. Each row sums up a training of its own, so that a column of losses is no curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.record.series import RoleGuess, Series
from hrmdoc.roles.names import normalised

if TYPE_CHECKING:
    from hrmdoc.record.run import Run
    from hrmdoc.rulebook import Framework

FEWEST = 4
"""Rows from which values can come and go."""
_MOST = 10_000
"""Rows beyond which nobody searched."""
_FIXED = ("model.dropout", "model.hidden_size", "model.layers", "model.num_heads")
"""What no training changes on its way."""
_SELDOM = (
    "data.batch_size",
    "data.micro_batch_size",
    "optimizer.lr",
    "optimizer.weight_decay",
    "run.epochs",
)
"""What a schedule, a last batch or a counter may change, one of them at a time."""
_OTHER_WORDS = frozenset({"estimators", "filters", "hidden", "kernel", "seed", "units", "width"})
_COMPLETE = 100.0
_NO_SETTINGS = frozenset({"batch", "epoch"})
"""Short names of settings that are counters far more often."""


class Tables:
    """Tells tables of runs from curves.

    Args:
        frameworks: how programs spell their settings.
    """

    def __init__(self, frameworks: Iterable[Framework]) -> None:
        spelled = [framework.config for framework in frameworks]
        self._fixed = {name for config in spelled for name in _names(config, _FIXED)} | _OTHER_WORDS
        self._seldom = {name for config in spelled for name in _names(config, _SELDOM)} - _NO_SETTINGS

    def leave_out(self, run: Run) -> None:
        """Takes the roles from what stands in a table of runs: a source without steps or epochs, or whose
        epochs count nothing, in whose rows a setting comes and goes, or of a log that tells the trials of a
        search. Where the user says what one of its
        metrics is, that is believed.
        """
        stated = getattr(run.role_of, "stated", ())
        sources: dict[str, list[Series]] = defaultdict(list)
        for series in run.series.values():
            sources[series.key.source].append(series)
        for columns in sources.values():
            unplaced = all(one.axis == "index" or _counts_nothing(one.steps) for one in columns)
            vary = run.fact("run.searched") is not None or self._vary(columns)
            if unplaced and vary and not any(one.key.metric in stated for one in columns):
                _without_roles(run, columns)
            for ended in _ended(columns):
                if not any(one.key.metric in stated for one in ended):
                    _without_roles(run, ended)

    def _vary(self, columns: Iterable[Series]) -> bool:
        """Whether settings differ from row to row."""
        differing = [normalised(one.key.metric) for one in columns if _comes_and_goes(one)]
        return any(name in self._fixed for name in differing) or (
            sum(name in self._seldom for name in differing) > 1
        )


def _without_roles(run: Run, columns: Iterable[Series]) -> None:
    run.version += any(one.role.role for one in columns)
    for one in columns:
        one.role = RoleGuess(None)


def _ended(columns: Iterable[Series]) -> Iterator[list[Series]]:
    """What stands beside a progress of 100 % on most of its lines: of each of many trainings the end is left,
    as a notebook keeps of what is drawn again and again, and a rate that came to zero there did so by
    plan."""
    for progress in columns:
        if normalised(progress.key.metric) == "progress" and progress.axis == "index":
            full = progress.values >= _COMPLETE
            if len(full) > 1 and float(np.mean(full)) > 0.5:
                yield [one for one in columns if one.axis == "index" and len(one) == len(progress)]


def _names(config: Mapping[str, object], wanted: Iterable[str]) -> Iterator[str]:
    for key in wanted:
        for spelled in getattr(config.get(key), "keys", ()):
            yield normalised(spelled.rpartition(".")[2])


def _counts_nothing(steps: IntArray) -> bool:
    """Whether steps fall again and again to where no run begins, as the epochs do that each of many runs was
    given."""
    after = steps[1:][np.diff(steps) < 0]
    return len(after) >= FEWEST and bool(np.mean(after > 1 + steps.min()) > 0.3)


def _comes_and_goes(series: Series) -> bool:
    """Whether the values come again, as those of a grid do, neither rising nor falling throughout."""
    values = series.finite
    if not FEWEST <= len(values) <= _MOST or 2 * len(set(values.tolist())) > len(values):
        return False
    changes = np.diff(values)
    return bool((changes > 0).any()) and (bool((changes < 0).any()) or _in_blocks(values))


def _in_blocks(values: FloatArray) -> bool:
    """Whether each value stands for equally many rows, as the outermost setting of a grid does."""
    return len(set(np.unique(values, return_counts=True)[1].tolist())) == 1
