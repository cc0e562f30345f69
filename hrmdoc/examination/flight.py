"""Compares the flight records of all ranks: which collective some wait in, and which ranks never came to it.

A rank is missing from a collective that others wait in when it has not enqueued it, by number and process
group. Source: the checks of torch/distributed/flight_recorder (analyser) on sequence, operation and size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct, field

from hrmdoc.record.records import Fact, Line, Record
from hrmdoc.record.run import Run

_SHOWN = 16


class _Seen(Struct):
    """What the dump of one rank tells of one group."""

    file: str
    fields: dict[str, int | str] = field(default_factory=dict)

    def number(self, what: str) -> int:
        value = self.fields.get(what, -1)
        return value if isinstance(value, int) else -1


def compare(run: Run) -> Iterator[Record]:
    """Lines that signatures match, and facts `fr.missing_ranks`, `fr.collective`, `fr.sequence`, `fr.group`,
    of the first group in which ranks are apart. Yields nothing when no dump was read, or all ranks stand at
    the same point.
    """
    groups, members = _gather(run)
    apart = (list(_apart(name, ranks, members.get(name))) for name, ranks in sorted(groups.items()))
    yield from next(filter(None, apart), [])


def _apart(name: str, ranks: dict[int, _Seen], members: list[int] | None) -> Iterator[Record]:
    """What sets the ranks of one group apart: some never came to the first collective that others wait in, or
    they wait in different ones."""
    waiting = {rank: number for rank, seen in ranks.items() if (number := seen.number("waiting")) >= 0}
    if not waiting:
        return
    sequence = min(waiting.values())
    rank = min(rank for rank, number in waiting.items() if number == sequence)
    expected = members or sorted(ranks)
    absent = [one for one in expected if one not in ranks or ranks[one].number("enqueued") < sequence]
    if absent:
        yield from _missing(name, rank, ranks[rank], absent, ranks)
    else:
        yield from _different(name, sequence, ranks, waiting)


def _gather(run: Run) -> tuple[dict[str, dict[int, _Seen]], dict[str, list[int]]]:
    """Group -> rank -> what its dump tells; group -> the ranks that belong to it."""
    groups: dict[str, dict[int, _Seen]] = defaultdict(dict)
    members: dict[str, list[int]] = {}
    for (scope, key), fact in run.facts.items():
        if scope != "run" or not key.startswith("fr."):
            continue
        if key.startswith("fr.members."):
            members[key.removeprefix("fr.members.")] = [int(one) for one in str(fact.value).split(",")]
        elif key.count(".") >= 3 and isinstance(fact.value, int | str):
            rank, _, rest = key.removeprefix("fr.").partition(".")
            name, _, what = rest.rpartition(".")
            groups[name].setdefault(int(rank), _Seen(fact.file)).fields[what] = fact.value
    return groups, members


def _missing(
    name: str, rank: int, seen: _Seen, absent: list[int], ranks: dict[int, _Seen]
) -> Iterator[Record]:
    sequence, operation = seen.number("waiting"), str(seen.fields.get("operation") or "a collective")
    silent = [one for one in absent if one not in ranks]
    named = ", ".join(str(one) for one in absent[:_SHOWN]) + (", ..." if len(absent) > _SHOWN else "")
    last = max((ranks[one].number("completed") for one in absent if one in ranks), default=-1)
    tail = f"; the last that they completed is number {last}" if last >= 0 else ""
    tail += f"; no dump of rank {', '.join(str(one) for one in silent[:_SHOWN])}" if silent else ""
    text = (
        f"Flight recorder: rank {named} did not enter collective {sequence} ({operation}) of group {name}, "
        f"in which rank {rank} waits {seen.fields.get('place', '')}".rstrip()
    )
    yield Line(text + tail, seen.file, 1, rank=rank)
    yield Fact("fr.missing_ranks", named, "run", seen.file)
    yield Fact("fr.collective", operation, "run", seen.file)
    yield Fact("fr.sequence", sequence, "run", seen.file)
    yield Fact("fr.group", name, "run", seen.file)


def _different(
    name: str, sequence: int, ranks: dict[int, _Seen], waiting: dict[int, int]
) -> Iterator[Record]:
    """Ranks that wait at the same number in another operation, or in one of another size."""
    forms: dict[tuple[str, str], int] = {}
    for rank in sorted(rank for rank, number in waiting.items() if number == sequence):
        fields = ranks[rank].fields
        forms.setdefault((str(fields.get("operation")), str(fields.get("sizes"))), rank)
    if len(forms) < 2:
        return
    (one, first), (other, second) = list(forms.items())[:2]
    text = (
        f"Flight recorder: ranks {first} and {second} issue different collectives as number {sequence} "
        f"of group {name}: "
        f"{one[0]} [{one[1]}] against {other[0]} [{other[1]}]"
    )
    yield Line(text, ranks[first].file, 1, rank=first)
    yield Fact("fr.sequence", sequence, "run", ranks[first].file)
    yield Fact("fr.group", name, "run", ranks[first].file)
