"""The events of a run, in order of arrival. What a log reports again and again, a checkpoint at every step,
is kept by column: an event takes its numbers, and the words around them are kept once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, overload

from hrmdoc.record.records import Event

_REPEATED: Literal["checkpoint"] = "checkpoint"
_MOST = 4096
"""Words of reports that are kept once; reports in other words are kept each as it is."""
_NONE = -(2**63)
"""Stands for an unknown step or line."""

_Words = tuple[str, int | None, str, str | None]
"""File, rank, and the words before and behind the step; None behind where the step is not among them."""


class Events(Sequence[Event]):
    """A list to which events are added at its end."""

    __slots__ = ("_known", "_lines", "_order", "_others", "_steps", "_times", "_which", "_words")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._order = array("q")
        """For each event its place among the repeated ones, or ~ its place among the others."""
        self._others: list[Event] = []
        self._words: list[_Words] = []
        self._known: dict[_Words, int] = {}
        self._which, self._steps, self._lines = array("i"), array("q"), array("q")
        self._times = array("d")
        for event in events:
            self.append(event)

    def append(self, event: Event) -> None:
        """Adds one event."""
        which = self._words_of(event) if event.kind == _REPEATED else None
        if which is None:
            self._order.append(~len(self._others))
            self._others.append(event)
            return
        self._order.append(len(self._which))
        self._which.append(which)
        self._steps.append(_NONE if event.step is None else event.step)
        self._lines.append(_NONE if event.line is None else event.line)
        self._times.append(event.time)

    def _words_of(self, event: Event) -> int | None:
        """The number of its words; None where there are too many different ones."""
        before, found, behind = event.detail, "", ""
        if event.step is not None:
            before, found, behind = before.partition(str(event.step))
        words = (event.file, event.rank, before, behind if found else None)
        which = self._known.get(words)
        if which is None and len(self._words) < _MOST:
            which = self._known[words] = len(self._words)
            self._words.append(words)
        return which

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of some kinds."""
        if _REPEATED in kinds:
            return (event for event in self if event.kind in kinds)
        return (event for event in self._others if event.kind in kinds)

    def moments(self, kind: str) -> Iterator[tuple[int | None, float]]:
        """Step and time of the events of a kind."""
        for place in self._order:
            if place < 0:
                event = self._others[~place]
                if event.kind == kind:
                    yield event.step, event.time
            elif kind == _REPEATED:
                yield _or_none(self._steps[place]), self._times[place]

    @property
    def ranks(self) -> set[int | None]:
        """Every rank that an event names."""
        return {event.rank for event in self._others} | {rank for _, rank, _, _ in self._words}

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Event]:
        return map(self._at, self._order)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        """One event, or a list of some."""
        chosen = self._order[index]
        return self._at(chosen) if isinstance(chosen, int) else list(map(self._at, chosen))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Events | list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def _at(self, place: int) -> Event:
        if place < 0:
            return self._others[~place]
        file, rank, before, behind = self._words[self._which[place]]
        step, time = _or_none(self._steps[place]), self._times[place]
        detail = before if behind is None else f"{before}{step}{behind}"
        return Event(_REPEATED, file, _or_none(self._lines[place]), step, time, rank, detail)


def _or_none(number: int) -> int | None:
    return None if number == _NONE else number
