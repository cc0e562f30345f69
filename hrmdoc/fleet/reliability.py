"""How reliable a team's training was: from summaries of runs to the figures of the field.

Definitions, as the papers that use them have them:

- ETTR, the effective training time ratio: productive time over wall-clock time. Productive is what is neither
  lost to restarts, gaps and waits nor trained twice or lost (Kokolis et al., "Revisiting Reliability in
  Large-Scale Machine Learning Research Clusters", 2024, arXiv:2410.21680). Time in the queue stands in no log
  of a run: it is not counted.
- Goodput of steps: steps that were kept over steps that were trained, the share of accelerator work that made
  progress which lasted (Google's ML Goodput Measurement).
- MTBF, the mean time between failures: time of all runs over their interruptions. MTTR, the mean time to
  repair: from an interruption to the next point, of those that the run came back from.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from hrmdoc.fleet.ranking import ranked
from hrmdoc.fleet.separation import Separation, separations
from hrmdoc.fleet.summary import Summary

KINDS = {
    "restart": "restarts",
    "replay": "work done twice",
    "gap": "gaps without a record",
    "after": "training on after a critical finding",
    "unsaved": "work that was never saved",
    "wait": "waiting before the end",
    "start": "starting",
}
MOST = 12


class Share(Struct, frozen=True):
    """What one thing cost: runs, seconds, steps, GPU hours as far as known."""

    name: str
    runs: int
    seconds: float
    steps: int
    hours: float


class Week(Struct, frozen=True):
    """The runs that ended in one week, which is named by its Monday; `ettr` is None where none has times."""

    monday: str
    runs: int
    sick: int
    interruptions: int
    ettr: float | None


class Action(Struct, frozen=True):
    """What somebody should do: the first remedy of a cause, for whom, and the runs that say so."""

    what: str
    cause: str
    owners: tuple[str, ...]
    runs: tuple[str, ...]
    more: int
    steps: int
    hours: float


class Reliability(Struct, frozen=True):
    """The figures of a review. None where no record says.

    Attributes:
        duration, lost: seconds of the runs that carry times, of which there are `timed`.
        repaired: interruptions after which the run went on.
    """

    runs: int
    sick: int
    timed: int
    duration: float
    lost: float
    hours: float
    steps: int
    lost_steps: int
    interruptions: int
    repaired: int
    ettr: float | None
    goodput: float | None
    mtbf: float | None
    mttr: float | None
    kinds: tuple[Share, ...]
    causes: tuple[Share, ...]
    weeks: tuple[Week, ...]
    offenders: tuple[Separation, ...]
    actions: tuple[Action, ...]
    unjudged: tuple[str, ...]


def reliability(summaries: Iterable[Summary]) -> Reliability:
    """Adds up what the runs spent, and to what it was lost."""
    runs = ranked(summaries)
    timed = [run for run in runs if run.account.duration]
    duration = sum(run.account.duration or 0.0 for run in timed)
    lost = sum(run.account.lost_seconds for run in timed)
    steps = sum(run.account.steps for run in runs)
    lost_steps = sum(run.account.lost_steps for run in runs)
    repairs = [seconds for run in runs for seconds in run.account.repairs]
    return Reliability(
        runs=len(runs),
        sick=sum(run.sick for run in runs),
        timed=len(timed),
        duration=duration,
        lost=lost,
        hours=sum(run.lost_hours or 0.0 for run in runs),
        steps=steps,
        lost_steps=lost_steps,
        interruptions=sum(run.account.interruptions for run in runs),
        repaired=len(repairs),
        ettr=_rest(lost, duration),
        goodput=_rest(lost_steps, steps),
        mtbf=_mean(duration, sum(run.account.interruptions for run in timed)),
        mttr=_mean(sum(repairs), len(repairs)),
        kinds=_kinds(runs),
        causes=_causes(runs),
        weeks=_weeks(runs),
        offenders=(*_hosts(runs), *separations(runs)),
        actions=_actions(runs),
        unjudged=_unjudged(runs),
    )


def _rest(part: float, whole: float) -> float | None:
    return 1.0 - part / whole if whole else None


def _mean(total: float, count: int) -> float | None:
    return total / count if count else None


def _kinds(runs: Sequence[Summary]) -> tuple[Share, ...]:
    """By what kind of thing it was lost to; each second and step counts for one of them."""
    seconds: dict[str, float] = defaultdict(float)
    steps: dict[str, int] = defaultdict(int)
    hours: dict[str, float] = defaultdict(float)
    where: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for one in run.account.lost:
            seconds[one.kind] += one.seconds or 0.0
            steps[one.kind] += one.steps
            hours[one.kind] += (one.seconds or 0.0) * (run.devices or 0) / 3600.0
            where[one.kind].add(run.path)
    found = (Share(KINDS[k], len(where[k]), seconds[k], steps[k], hours[k]) for k in KINDS if k in where)
    return tuple(sorted(found, key=lambda one: (-one.hours, -one.seconds, -one.steps)))


def _causes(runs: Sequence[Summary]) -> tuple[Share, ...]:
    by = _by(runs, lambda run: run.cause.title if run.cause is not None else "")
    return tuple(sorted((_share(*pair) for pair in by), key=_cost)[:MOST])


def _by(runs: Sequence[Summary], key: Callable[[Summary], str]) -> list[tuple[str, list[Summary]]]:
    found: dict[str, list[Summary]] = defaultdict(list)
    for run in runs:
        if name := key(run):
            found[name].append(run)
    return list(found.items())


def _share(name: str, runs: Sequence[Summary]) -> Share:
    return Share(
        name,
        len(runs),
        sum(run.account.lost_seconds for run in runs),
        sum(run.account.lost_steps for run in runs),
        sum(run.lost_hours or 0.0 for run in runs),
    )


def _cost(one: Share) -> tuple[float, float, int, int]:
    return (-one.hours, -one.seconds, -one.steps, -one.runs)


def _weeks(runs: Sequence[Summary]) -> tuple[Week, ...]:
    found = []
    for monday, members in sorted(_by(runs, _monday))[-26:]:
        spent = sum(run.account.duration or 0.0 for run in members)
        lost = sum(run.account.lost_seconds for run in members if run.account.duration)
        broken = sum(run.account.interruptions for run in members)
        sick = sum(run.sick for run in members)
        found.append(Week(monday, len(members), sick, broken, 1.0 - lost / spent if spent else None))
    return tuple(found)


def _monday(run: Summary) -> str:
    if run.ended is None or not 1e8 < run.ended < 1e11:
        return ""
    day = time.gmtime(run.ended)
    return time.strftime("%Y-%m-%d", time.gmtime(run.ended - 86_400 * day.tm_wday))


def _hosts(runs: Sequence[Summary]) -> list[Separation]:
    """Hosts whose runs are sick more often than others', beyond chance."""
    known = [structs.replace(run, settings={"host": run.host}, path="x") for run in runs if run.host]
    return [one for one in separations(known) if " = " in one.cut]


def _actions(runs: Sequence[Summary]) -> tuple[Action, ...]:
    """What to do about each leading cause, the dearest first."""
    found = []
    for title, members in _by(runs, lambda run: run.cause.title if run.cause is not None else ""):
        what = next((run.remedy for run in members if run.remedy), "") or "Find out why; no remedy is known"
        owners = tuple(sorted({run.user for run in members if run.user}))[:5]
        share = _share(title, members)
        paths = tuple(run.path for run in members[:3])
        found.append(
            (share, Action(what, title, owners, paths, len(members) - len(paths), share.steps, share.hours))
        )
    return tuple(action for _, action in sorted(found, key=lambda pair: _cost(pair[0]))[:MOST])


def _unjudged(runs: Sequence[Summary]) -> tuple[str, ...]:
    """What could not be said, and why, in sentences."""
    silent = [run for run in runs if run.verdict in ("no_data", "incomplete")]
    untimed = sum(run.account.duration is None for run in runs)
    unknown = sum(run.devices is None for run in runs)
    rules = sum(run.rules for run in runs)
    open_ = sum(run.unjudged for run in runs)
    missing = Counter(name for run in runs for name in run.missing)
    said = [f"{len(silent):,} runs have no verdict: {_some(silent)}"] if silent else []
    said += [f"{untimed:,} runs carry no times: their steps are counted alone"] if untimed else []
    said += [f"of {unknown:,} runs the number of accelerators is not known: no GPU hours"] if unknown else []
    if open_:
        needed = ", ".join(name for name, _ in missing.most_common(5))
        said.append(
            f"{open_ / max(1, rules):.0%} of the rules could not be evaluated; most often missing: {needed}"
        )
    said.append("time in the queue of a scheduler, which no log of a run holds")
    return tuple(said)


def _some(runs: Sequence[Summary]) -> str:
    return ", ".join(run.path for run in runs[:3]) + (" ..." if len(runs) > 3 else "")
