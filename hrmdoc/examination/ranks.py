"""What the records of several ranks tell together: who failed first, who fell silent, who wrote nothing, who
is behind or slow.

Clocks of nodes differ, so times decide only where they are further apart than `SKEW`; closer than that, an
error that another process brought about (a closed connection, a watchdog, a signal) comes after one that it
did not. A process that was killed or hangs says nothing: where others miss a peer and nobody has an error of
his own, the first to fail is among the silent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from hrmdoc.examination.signatures import SignatureMatch
from hrmdoc.examination.tracebacks import rank_of
from hrmdoc.record.records import Fact, Line
from hrmdoc.record.run import Run
from hrmdoc.text import patterns

SKEW = 30.0
"""Seconds that the clocks of two nodes may be apart; NTP keeps them within much less."""
_SHOWN = 64
_MOST_RANKS = 65_536
_CASCADE = patterns.lazy(
    r"closed by peer|reset by peer|broken pipe|watchdog|remote ?error|connection "
    r"(?:closed|refused|was)|SIGTERM|SignalException"
    r"|ChildFailedError|timed? ?out|abort|heartbeat",
    re.IGNORECASE,
)

Matches = Mapping[str, Sequence[tuple[Line, SignatureMatch]]]
"""Symptom -> the lines that its signatures matched."""


class LastWord(NamedTuple):
    """The error that a rank ended with. `cascade`: another process brought it about."""

    rank: int
    cascade: bool
    time: float
    file: str
    line: int | None


def facts(run: Run, matches: Matches, launchers: Collection[str] = ()) -> Iterator[Fact]:
    """What the records show of the ranks, as facts; lists are comma-separated.

    `ranks.first_failed`, `ranks.missing` (none of their records is here), `ranks.behind`, and
    `ranks.silent` (they ended without an error while others miss a peer) with `ranks.bereft`, how many
    those others are.

    Args:
        launchers: the symptoms whose lines are those of a launcher, not of any rank.
    """
    words = last_words(run, matches)
    silent = silent_ranks(run, words, {name: matches.get(name, ()) for name in launchers})
    named = _launchers_word(matches)
    if named in silent:
        silent = [named]
    first = _first_to_fail(words, silent, named)
    if first is not None:
        file, line = _last_place(run, words, first)
        yield Fact("ranks.first_failed", first, "run", file, line)
    if silent:
        yield Fact("ranks.silent", _listed(silent), "run", *_last_place(run, words, silent[0]))
        yield Fact("ranks.bereft", len(words), "run")
    seen = run.ranks
    if len(seen) > 1 and len(seen) < (size := _world(run)):
        yield Fact("ranks.missing", _listed(sorted(set(range(size)) - set(seen))), "run")
    if late := behind(run):
        yield Fact("ranks.behind", _listed(late), "run")


def last_words(run: Run, matches: Matches) -> dict[int, LastWord]:
    """Rank -> the error that it ended with, its own before one that others brought about."""
    fatal = _fatal_lines(run, matches)
    first: dict[int, LastWord] = {}
    for word in chain(_of_lines(fatal), _of_events(run, fatal)):
        if word.rank not in first or _order(word) < _order(first[word.rank]):
            first[word.rank] = word
    return first


def _fatal_lines(run: Run, matches: Matches) -> list[tuple[Line, bool]]:
    """The lines that may have ended a rank, each with whether another process brought it about."""
    return [
        (line, match.signature.role == "cascade" or _is_cascade(line.text))
        for found in matches.values()
        for line, match in found
        if match.signature.fatal and match.signature.role in ("root", "cascade") and not run.outlived(line)
    ]


def _of_lines(fatal: Iterable[tuple[Line, bool]]) -> Iterator[LastWord]:
    for line, cascade in fatal:
        rank = rank_of(line)
        if rank is not None:
            yield LastWord(rank, cascade, line.time, line.file, line.line)


def _of_events(run: Run, fatal: Iterable[tuple[Line, bool]]) -> Iterator[LastWord]:
    """The exceptions of ranks; one that a line reports too is a cascade where that line is."""
    known: dict[tuple[str, int | None], bool] = {(line.file, line.line): cascade for line, cascade in fatal}
    for event in run.events.of("exception"):
        if event.rank is not None and not run.outlived(event):
            cascade = known.get((event.file, event.line), _is_cascade(event.detail))
            yield LastWord(event.rank, cascade, event.time, event.file, event.line)


def silent_ranks(run: Run, words: Mapping[int, LastWord], launched: Matches) -> list[int]:
    """Ranks that wrote no error, where others miss a peer and nobody has an error of his own.

    A log that holds the words of all ranks tells of those, too, that wrote nothing at all. None where the
    silent are more than the others, or where an exception might be that of any rank; those among `launched`
    are of none.
    """
    bereft = bool(words) and all(word.cascade for word in words.values())
    if not bereft or _rankless_exception(run, launched):
        return []
    seen = run.ranks
    if len(words) > 1 and len({word.file for word in words.values()}) == 1:
        seen = list(range(max(_world(run), max(words) + 1, *(rank + 1 for rank in seen))))
    silent = [rank for rank in seen if rank not in words]
    return silent if len(silent) <= len(words) else []


def _rankless_exception(run: Run, launched: Matches) -> bool:
    """Whether an exception might be that of any rank."""
    launchers = {(line.file, line.line) for found in launched.values() for line, _ in found}
    return any(
        one.rank is None and (one.file, one.line) not in launchers for one in run.events.of("exception")
    )


def levels(run: Run, role: str) -> dict[int, float]:
    """Median of the last 50 finite values of `role` on each rank that has at least 5 of them."""
    found = {}
    for rank, series in run.of_ranks(role).items():
        values = series.values[-50:]
        values = values[np.isfinite(values)]
        if len(values) >= 5:
            found[rank] = float(np.median(values))
    return found


def behind(run: Run) -> list[int]:
    """Ranks whose last training step is more than two records before that of the others; each must log the
    same metric."""
    last: dict[int, int] = {}
    stride = 1
    for rank, series in run.of_ranks("train.loss").items():
        if len(series) > 1:
            steps = series.steps
            last[rank] = int(steps[-1])
            stride = max(stride, int(steps[-1] - steps[-2]))
    top = max(last.values(), default=0)
    return [rank for rank, step in last.items() if top - step > 2 * stride] if len(last) > 1 else []


def _launchers_word(matches: Matches) -> int | None:
    """The rank that a launcher names: the last of a summary, which ends with the root cause, else the first
    that it saw fail."""
    stated = [match.groups for found in matches.values() for _, match in found]
    summed = [rank for groups in stated if isinstance(rank := groups.get("summed_rank"), int)]
    failed = [rank for groups in stated if isinstance(rank := groups.get("failed_rank"), int)]
    return next(iter([*summed[-1:], *failed[:1]]), None)


def _first_to_fail(words: Mapping[int, LastWord], silent: Sequence[int], named: int | None) -> int | None:
    """Who failed first: the only one that is silent, else who had an error of his own, else the one that the
    launcher names.

    None where several are silent, or where all lost a peer at about the same time.
    """
    if silent:
        return silent[0] if len(silent) == 1 else None
    if named is not None and named not in words and all(word.cascade for word in words.values()):
        return named
    earliest = min((_time(word) for word in words.values()), default=math.inf)
    near = [word for word in words.values() if _time(word) <= earliest + SKEW or not math.isfinite(word.time)]
    first = min(near, key=_order, default=None)
    return None if first is None or (first.cascade and len(near) > 1) else first.rank


def _last_place(run: Run, words: Mapping[int, LastWord], rank: int) -> tuple[str, int | None]:
    """Where the last word of `rank` stands, or its last point, if it said nothing."""
    if rank in words:
        return words[rank].file, words[rank].line
    series = run.with_role("train.loss", rank)
    return series[0].place(-1) if series else ("", None)


def _order(word: LastWord) -> tuple[bool, float, int]:
    return word.cascade, _time(word), word.rank


def _is_cascade(text: str) -> bool:
    return _CASCADE.search(text[:2000]) is not None


def _time(word: LastWord) -> float:
    return word.time if math.isfinite(word.time) else math.inf


def _world(run: Run) -> int:
    """How many ranks there are by the run's own word, 0 where it does not say."""
    size = run.fact("world_size")
    return size.value if size is not None and isinstance(size.value, int) and size.value <= _MOST_RANKS else 0


def _listed(ranks: Sequence[int]) -> str:
    """`3, 32-39`: neighbours as a range."""
    ranges: list[list[int]] = []
    for rank in ranks:
        if ranges and rank == ranges[-1][1] + 1:
            ranges[-1][1] = rank
        else:
            ranges.append([rank, rank])
    stated = [str(low) if low == high else f"{low}-{high}" for low, high in ranges[:_SHOWN]]
    return ", ".join(stated) + (", ..." if len(ranges) > _SHOWN else "")
