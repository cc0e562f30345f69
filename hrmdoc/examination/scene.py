"""What a rule may look at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field

from hrmdoc.examination.signatures import SignatureMatch
from hrmdoc.examination.symptom import State
from hrmdoc.examination.tracks import Rewinds, begins_anew, beside, counts_lines, launched, rewinds
from hrmdoc.record.records import Fact, Line
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series
from hrmdoc.rulebook.schema.typical import Typical

T = TypeVar("T")


class Finding(Struct, frozen=True):
    """How one condition stands; the fields are those of `Symptom`."""

    state: State
    role: str = ""
    metric: str = ""
    first_step: int | None = None
    last_step: int | None = None
    first_time: float | None = None
    count: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int | None = None
    rank: int | None = None
    missing: tuple[str, ...] = ()
    score: float | None = None


class Scene(Struct, eq=False):
    """What a node may look at: the run, its canonical facts and where they stand, matched log lines, other
    symptoms' findings and which of them form a group. `usual`: the tables that say which outcome is well."""

    run: Run
    facts: Mapping[str, Any] = field(default_factory=dict)
    matches: Mapping[str, Sequence[tuple[Line, SignatureMatch]]] = field(default_factory=dict)
    found: Callable[[str], Finding | None] = lambda _: None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    closed: bool = False
    places: Mapping[str, Fact] = field(default_factory=dict)
    usual: Sequence[Typical] = ()
    _falls: dict[int, Rewinds] = field(default_factory=dict)
    _known: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, computed once for all rules that ask for it by this key."""
        if key not in self._known:
            self._known[key] = compute()
        known: T = self._known[key]
        return known

    def forget(self) -> None:
        """Lets go what was computed: some of it holds the scene itself, so that curves as long as the run
        would wait for the collector of cycles."""
        self._known.clear()
        self._falls.clear()

    def best(self, role: str, rank: int | None = None) -> Series | None:
        """The best series of `role`, of one rank where it is asked for; None where there is none."""
        return self.run.best(role) if rank is None else self.of_ranks(role).get(rank)

    def of_ranks(self, role: str) -> dict[int, Series]:
        """The best series of `role` on each rank that has one."""
        return self.once(("series of ranks", role), lambda: self.run.of_ranks(role))

    def falls(self, series: Series) -> Rewinds:
        """Where the steps of `series` fall back, or another launch begins; found once for all rules."""
        if id(series) not in self._falls:
            found = rewinds(series.steps, series.values, epochs=series.axis == "epoch")
            launches = self._launches(series)
            found = launched(found, series.steps, launches) if launches else found
            self._falls[id(series)] = beside(found, len(series), self._begun_beside(series))
        return self._falls[id(series)]

    def _begun_beside(self, series: Series) -> list[int]:
        """Index of the first point behind each place of its file at which the training loss begins anew: the
        counter of evaluations may go on there."""
        lead = self.run.best("train.loss")
        if lead is None or lead is series or len(lead.files) != 1 or lead.files != series.files:
            return []
        fresh = [at for at in self.falls(lead).fresh if begins_anew(lead.values, at)]
        lines = [line for at in fresh if (line := lead.place(at)[1]) is not None]
        return [series.behind(line - 1) for line in lines]

    def _launches(self, series: Series) -> list[tuple[int, bool]]:
        """Index of the first point behind each launch in its file, and whether steps go on over it."""
        if len(series.files) != 1:
            return []
        file = series.files[0]
        begun = [event for event in self.run.events.of("launch") if event.file == file]
        lines = [event.line for event in begun if event.line is not None]
        if not lines:
            return []
        beside = [one for one in self.run.series.values() if one.files == [file] and one.axis != "epoch"]
        counted = any(counts_lines(one.steps) for one in beside)
        return [(series.behind(line), counted and series.axis != "epoch") for line in lines]
