"""What lines state about the whole run, each fact once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from hrmdoc.readers.log.lines.frameworks import FRAMEWORKS
from hrmdoc.readers.log.state.sink import LeftOut, Mark, Sink
from hrmdoc.record.records import Fact, Value

Scope = Literal["config", "env", "version", "run"]
_MOST = 20_000
_SEARCH = 4
"""Mappings of settings, each with other values, that make a search."""


class Facts:
    """All facts so far; a later line that says otherwise replaces one.

    Attributes:
        stated: how many times a line stated one, known or new.
        changed: how many times that was another than before.
    """

    def __init__(self, sink: Sink, left_out: LeftOut) -> None:
        self.stated = 0
        self.changed = 0
        self._sink = sink
        self._left_out = left_out
        self._known: dict[tuple[Scope, str], Value] = {}
        self._tried: set[tuple[tuple[str, Value], ...]] = set()
        self._words = FRAMEWORKS

    def add(self, key: str, value: Value, scope: Scope, mark: Mark) -> None:
        """Adds a fact."""
        self.stated += 1
        place = (scope, key)
        if place in self._known and self._known[place] == value:
            return
        if len(self._known) >= _MOST and place not in self._known:
            self._left_out.add("facts", mark)
            return
        self._sink.asked()
        self._known[place] = value
        self.changed += 1
        self._sink.record(Fact(key, value, scope, self._sink.file, mark.line))

    def tried(self, settings: Iterable[tuple[str, Value]], mark: Mark) -> None:
        """A line printed the settings of a training in one mapping: where they were others several times,
        what is told below them are the trials of a search."""
        if len(self._tried) < _SEARCH:
            self._tried.add(tuple(settings))
            if len(self._tried) == _SEARCH:
                self.add("run.searched", True, "run", mark)

    def changes(self, key: str, value: Value) -> bool:
        """Whether a setting was stated before with another value."""
        return self._known.get(("config", key), value) != value

    def known(self, key: str) -> Value:
        """What is known of the run under a key."""
        return self._known.get(("run", key))

    def totals(self, totals: Iterable[tuple[str, int]], mark: Mark) -> None:
        """Adds what the totals of counters state."""
        for key, total in totals:
            self.add(key, total, "run", mark)

    def reached(self, begun: int, *, midway: bool) -> None:
        """Adds how far a log came that says how many epochs were planned."""
        if ("run", "run.epochs") in self._known:
            for key, value in (("run.epochs_begun", begun), ("run.epoch_open", midway)):
                self._sink.record(Fact(key, value, "run", self._sink.file))

    def steps_per_epoch(self) -> float | None:
        """By the steps and the epochs in all, where both are known."""
        steps, epochs = self._known.get(("run", "run.total_steps")), self._known.get(("run", "run.epochs"))
        return steps / epochs if isinstance(steps, int) and isinstance(epochs, int) and epochs > 0 else None

    def see_framework(self, text: str, mark: Mark) -> None:
        """A line may hold a word of a framework."""
        if not self._words:
            return
        lower = text.lower()
        found = [one for one in self._words if one[0] in lower and f"{one[0]}[" not in lower]  # no history
        if found:
            _, name, certain = max(found, key=lambda one: one[2])
            self._words = tuple(one for one in self._words if one[2] > certain)
            self.add("run.framework", name, "run", mark)
