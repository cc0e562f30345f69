"""The tables of the report, each from the verdicts alone."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from benchmarks.lab.faults import NEW_FAULTS, onset_of
from benchmarks.lab.judge import Verdict
from benchmarks.lab.metrics import Bin, Proportion, brier, mean_reciprocal_rank, reliability, wilson
from benchmarks.lab.spec import BLIND, TRAINING

COLUMNS = (
    "faulty",
    "found",
    "did harm",
    "found of these",
    "named first",
    "among three",
    "MRR",
    "healthy",
    "false alarms",
    "per 1,000 points",
)
Claims = tuple[list[float], list[bool]]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def groups(verdicts: Sequence[Verdict]) -> list[tuple[object, ...]]:
    """The summary: a row a group of programs."""

    def row(title: str, chosen: Callable[[Verdict], bool]) -> tuple[object, ...]:
        return (title, *_row([v for v in verdicts if chosen(v)]))

    return [
        row("all", lambda _: True),
        row("learnt on", lambda v: v.spec.program in TRAINING),
        row("held out", lambda v: v.spec.program not in TRAINING),
        row("of these, programs that came after the rules", lambda v: v.spec.program in BLIND),
        row("of these, kinds of faults that came after the rules", lambda v: v.spec.fault in NEW_FAULTS),
    ]


def programs(verdicts: Sequence[Verdict]) -> list[tuple[object, ...]]:
    """A row a program."""
    return [(name, *_row(group)) for name, group in _by_program(verdicts).items()]


def _row(verdicts: Sequence[Verdict]) -> tuple[object, ...]:
    faulty = [v for v in verdicts if not v.spec.healthy]
    healthy = [v for v in verdicts if v.spec.healthy]
    harmful = [v for v in faulty if v.effect]
    return (len(faulty), _found(faulty), len(harmful), *_named(harmful), len(healthy), *_alarms(healthy))


def _found(verdicts: Sequence[Verdict]) -> Proportion:
    return _share(v.detected for v in verdicts)


def _named(harmful: Sequence[Verdict]) -> tuple[object, ...]:
    ranks = [v.rank for v in harmful]
    return (
        _found(harmful),
        _share(rank == 1 for rank in ranks),
        _share(rank is not None and rank <= 3 for rank in ranks),
        f"{mean_reciprocal_rank(ranks):.2f}" if ranks else "",
    )


def _alarms(healthy: Sequence[Verdict]) -> tuple[object, ...]:
    points = sum(v.points for v in healthy)
    serious = sum(len(v.serious) for v in healthy if v.detected)
    return (_found(healthy) if healthy else "", f"{1000 * serious / points:.2f}" if points else "")


def _share(hits: Iterable[bool]) -> Proportion:
    found = list(hits)
    return wilson(sum(found), len(found))


def _by_program(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    found: dict[str, list[Verdict]] = defaultdict(list)
    for v in verdicts:
        found[v.spec.program].append(v)
    return dict(sorted(found.items(), key=lambda item: (item[0] not in TRAINING, item[0] in BLIND, item[0])))


def _sorted(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda v: (v.spec.program, v.spec.fault, v.spec.seed))


def faults(faulty: Sequence[Verdict]) -> str:
    """A row a faulty run."""
    rows: list[tuple[object, ...]] = []
    for v in _sorted(faulty):
        top, p = v.faults[0] if v.faults else ("", 0.0)
        shown = ", ".join(v.serious[:4]) or ", ".join(v.shown[:3])
        did = "not compared" if v.effect is None else v.effect or "none"
        stated = f"{p:.2f}" if top else ""
        rows.append(
            (v.spec.program, v.spec.fault, v.spec.causes[0], did, v.verdict, v.rank or "", top, stated, shown)
        )
    return table(
        ("program", "fault", "true cause", "visible effect", "verdict", "rank", "named first", "p", "shown"),
        rows,
    )


def misses(faulty: Sequence[Verdict]) -> str:
    """Faults that did harm and were not found, with the reason; then those that did none."""
    missed = [v for v in _sorted(faulty) if not v.detected]
    rows = [(v.spec.program, v.spec.fault, v.verdict, v.effect, v.reason) for v in missed if v.effect]
    quiet = ", ".join(f"{v.spec.program} {v.spec.fault}" for v in missed if not v.effect)
    text = table(("program", "fault", "verdict", "visible effect", "why it was missed, by the rules"), rows)
    return text + (f"\n\nNot found, and without visible effect: {quiet}." if quiet else "")


def false_alarms(healthy: Sequence[Verdict]) -> str:
    """By symptom, where it alarmed without need."""
    counts = Counter(symptom for v in healthy if v.detected for symptom in v.serious)
    if not counts:
        return f"None in {len(healthy)} healthy runs."
    where: dict[str, Counter[str]] = defaultdict(Counter)
    for v in healthy:
        for symptom in v.serious if v.detected else ():
            where[symptom][f"{v.spec.program} {v.spec.note}".strip()] += 1
    rows = [
        (
            symptom,
            wilson(count, len(healthy)),
            ", ".join(f"{name} ({n})" for name, n in where[symptom].most_common(6)),
        )
        for symptom, count in counts.most_common()
    ]
    return table(("symptom", "healthy runs it alarms", "where"), rows)


def delays(faulty: Sequence[Verdict]) -> str:
    """By program, for faults from the start and for those that begin in mid-run; those of the process have no
    such place."""
    rows = []
    for title, early in (("in mid-run", False), ("from the start", True)):
        dated = [v for v in faulty if (onset_of(v.spec) is None) == early and v.spec.program != "process"]
        for name, group in _by_program(dated).items():
            found = sorted(v.delay for v in group if v.delay is not None)
            if found:
                rows.append(
                    (
                        title,
                        name,
                        len(found),
                        f"{statistics.median(found):g}",
                        found[math.ceil(0.9 * len(found)) - 1],
                    )
                )
    text = (
        "Logged points of the training loss from the first one that a fault affects to the first serious "
        "symptom of a metric.\n\n"
    )
    return text + table(("fault begins", "program", "runs", "median", "90th percentile"), rows)


def confusion(faulty: Sequence[Verdict]) -> str:
    """By true cause, what was named first instead."""
    found: dict[str, list[Verdict]] = defaultdict(list)
    for v in faulty:
        found[v.spec.causes[0]].append(v)
    rows = []
    for cause, group in sorted(found.items()):
        others = Counter(v.top or "(nothing)" for v in group if v.rank != 1)
        named = ", ".join(f"{name} ({n})" for name, n in others.most_common())
        harmful = sum(bool(v.effect) for v in group)
        rows.append(
            (
                cause,
                len(group),
                harmful,
                sum(v.detected for v in group),
                sum(v.rank == 1 for v in group),
                named,
            )
        )
    return table(("true cause", "runs", "did harm", "found", "named first", "named first instead"), rows)


def claims(verdicts: Iterable[Verdict]) -> Claims:
    """Every fault that was named, with its probability, and whether it was there."""
    pairs = [(p, cause in v.spec.causes) for v in verdicts for cause, p in v.faults]
    return [p for p, _ in pairs], [y for _, y in pairs]


def calibration(verdicts: Sequence[Verdict], picture: str) -> str:
    """Brier score and expected calibration error by group, and the reliability table."""
    rows = []
    for title, chosen in (
        ("all", verdicts),
        ("learnt on", [v for v in verdicts if v.spec.program in TRAINING]),
        ("held out", [v for v in verdicts if v.spec.program not in TRAINING]),
        ("came after the rules", [v for v in verdicts if v.spec.program in BLIND]),
    ):
        stated, true = claims(chosen)
        if stated:
            rows.append(
                (
                    title,
                    len(stated),
                    f"{brier(stated, true):.3f}",
                    f"{_base(true):.3f}",
                    f"{_error(stated, true):.3f}",
                )
            )
    bins = table(
        ("stated", "claims", "mean stated", "true"), [_bin_row(one) for one in reliability(*claims(verdicts))]
    )
    return (
        "Every fault that a diagnosis names, with its stated probability. *Base rate*: the Brier score "
        "of always stating the "
        "share that was true. *ECE*: mean distance between stated and true shares over the bins below, "
        "by claims.\n\n"
        + table(("programs", "claims", "Brier score", "base rate", "ECE"), rows)
        + f"\n\n![stated probability against the share that was true]({picture})\n\n{bins}"
    )


def _base(true: Sequence[bool]) -> float:
    rate = sum(true) / len(true)
    return rate * (1 - rate)


def _error(stated: Sequence[float], true: Sequence[bool]) -> float:
    return sum(one.count * abs(one.stated - one.true) for one in reliability(stated, true)) / len(stated)


def _bin_row(one: Bin) -> tuple[object, ...]:
    return (
        f"{one.low:g} to {one.high:g}",
        one.count,
        f"{one.stated:.2f}",
        wilson(round(one.true * one.count), one.count),
    )
