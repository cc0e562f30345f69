"""benchmarks/accuracy.md and its picture, from the verdicts: every number in them is computed here."""

from __future__ import annotations

import math
import statistics
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.lab.judge import Verdict
from benchmarks.lab.metrics import Bin, Proportion, brier, mean_reciprocal_rank, reliability, wilson
from benchmarks.lab.picture import reliability_svg
from benchmarks.lab.spec import TRAINING

INTRODUCTION = """# Accuracy on the fault lab

Written by `python -m benchmarks.lab --matrix {matrix}` at commit {commit}; no number is typed by hand. {total} runs: {faulty}
with one known fault put into data, model, optimizer, schedule, precision or process (never into a log), {healthy} healthy ones,
many of odd shapes. Each was examined with the public `hrmdoc.analyze` and default settings. Intervals are Wilson's, 95 %; runs
that differ only in their seed are not independent, so the intervals are somewhat too narrow.

- *found*: the verdict of a faulty run is `warning` or `critical`. *named first*, *among three*: the true cause is the first, or
  one of the first three, faults that the diagnosis lists. Where two causes describe one defect, either counts.
- *false alarm*: a healthy run whose verdict is `warning` or `critical`.
- *learnt on*: {training}, the programs that `make calibrate` may learn rates from. Nothing is estimated from the others.
- A fault counts whether or not it did visible harm, and whether or not the program's logs can show it: some cannot be found.
"""


def write(verdicts: Sequence[Verdict], path: Path, matrix: str) -> None:
    """Writes the report to `path` and the picture beside it."""
    faulty = [v for v in verdicts if not v.spec.healthy]
    healthy = [v for v in verdicts if v.spec.healthy]
    stated, true = _claims(faulty + healthy)
    held_out = _claims([v for v in verdicts if v.spec.program not in TRAINING])
    picture = path.with_suffix(".svg")
    picture.write_text(reliability_svg(reliability(stated, true)))
    parts = [
        INTRODUCTION.format(
            matrix=matrix,
            commit=commit(),
            total=len(verdicts),
            faulty=len(faulty),
            healthy=len(healthy),
            training=", ".join(TRAINING),
        ),
        "## Summary\n\n" + _table(("programs", *_COLUMNS), _groups(verdicts)),
        "## By program\n\n"
        + _table(("program", *_COLUMNS), [(name, *_row(group)) for name, group in _by_program(verdicts).items()]),
        "## By fault\n\n"
        + _table(("program", "fault", "true cause", "verdict", "rank", "named first", "p", "shown"), _fault_rows(faulty)),
        "## False alarms\n\n" + _false_alarms(healthy),
        "## Delay\n\n" + _delays(faulty),
        "## Confusion\n\n" + _confusion(faulty),
        "## Calibration\n\n" + _calibration((stated, true), held_out, picture.name),
    ]
    path.write_text("\n\n".join(part.rstrip() for part in parts) + "\n")


def commit() -> str:
    """Short id of the commit at hand."""
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


_COLUMNS = ("faulty", "found", "named first", "among three", "MRR", "healthy", "false alarms", "per 1,000 points")


def _groups(verdicts: Sequence[Verdict]) -> list[tuple[object, ...]]:
    def row(title: str, chosen: Callable[[Verdict], bool]) -> tuple[object, ...]:
        return (title, *_row([v for v in verdicts if chosen(v)]))

    return [
        row("all", lambda _: True),
        row("learnt on", lambda v: v.spec.program in TRAINING),
        row("held out", lambda v: v.spec.program not in TRAINING),
    ]


def _row(verdicts: Sequence[Verdict]) -> tuple[object, ...]:
    faulty = [v for v in verdicts if not v.spec.healthy]
    healthy = [v for v in verdicts if v.spec.healthy]
    alarms = sum(v.detected for v in healthy)
    points = sum(v.points for v in healthy)
    serious = sum(len(v.serious) for v in healthy if v.detected)
    return (
        len(faulty),
        _share(v.detected for v in faulty),
        _share(v.rank == 1 for v in faulty),
        _share(v.rank is not None and v.rank <= 3 for v in faulty),
        f"{mean_reciprocal_rank([v.rank for v in faulty]):.2f}" if faulty else "",
        len(healthy),
        wilson(alarms, len(healthy)),
        f"{1000 * serious / points:.2f}" if points else "",
    )


def _share(hits: Iterable[bool]) -> Proportion:
    found = list(hits)
    return wilson(sum(found), len(found))


def _by_program(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for v in verdicts:
        groups[v.spec.program].append(v)
    return dict(sorted(groups.items(), key=lambda item: (item[0] not in TRAINING, item[0])))


def _fault_rows(faulty: Sequence[Verdict]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for v in sorted(faulty, key=lambda v: (v.spec.program, v.spec.fault, v.spec.seed)):
        top, p = v.faults[0] if v.faults else ("", 0.0)
        shown = ", ".join(v.serious[:4]) or ", ".join(v.shown[:3])
        rows.append(
            (v.spec.program, v.spec.fault, v.spec.causes[0], v.verdict, v.rank or "", top, f"{p:.2f}" if top else "", shown)
        )
    return rows


def _false_alarms(healthy: Sequence[Verdict]) -> str:
    counts = Counter(symptom for v in healthy if v.detected for symptom in v.serious)
    if not counts:
        return f"None in {len(healthy)} healthy runs."
    where: dict[str, Counter[str]] = defaultdict(Counter)
    for v in healthy:
        for symptom in v.serious if v.detected else ():
            where[symptom][f"{v.spec.program} {v.spec.note}".strip()] += 1
    rows = [
        (symptom, wilson(count, len(healthy)), ", ".join(f"{name} ({n})" for name, n in where[symptom].most_common(6)))
        for symptom, count in counts.most_common()
    ]
    return _table(("symptom", "healthy runs it alarms", "where"), rows)


def _delays(faulty: Sequence[Verdict]) -> str:
    rows = []
    for name, group in _by_program(faulty).items():
        found = sorted(v.delay for v in group if v.delay is not None)
        if found:
            rows.append((name, len(found), f"{statistics.median(found):g}", found[math.ceil(0.9 * len(found)) - 1]))
    text = (
        "Logged points from the first step that a fault affects to the first serious symptom; faults that begin in mid-run.\n\n"
    )
    return text + _table(("program", "runs", "median", "90th percentile"), rows)


def _confusion(faulty: Sequence[Verdict]) -> str:
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for v in faulty:
        groups[v.spec.causes[0]].append(v)
    rows = []
    for cause, group in sorted(groups.items()):
        others = Counter(v.top or "(nothing)" for v in group if v.rank != 1)
        named = ", ".join(f"{name} ({n})" for name, n in others.most_common())
        rows.append((cause, len(group), sum(v.detected for v in group), sum(v.rank == 1 for v in group), named))
    return _table(("true cause", "runs", "found", "named first", "named first instead"), rows)


def _claims(verdicts: Sequence[Verdict]) -> tuple[list[float], list[bool]]:
    """Every fault that was named, with its probability, and whether it was there."""
    pairs = [(p, cause in v.spec.causes) for v in verdicts for cause, p in v.faults]
    return [p for p, _ in pairs], [y for _, y in pairs]


def _calibration(every: tuple[list[float], list[bool]], held_out: tuple[list[float], list[bool]], picture: str) -> str:
    bins = reliability(*every)
    text = (
        f"Every fault that a diagnosis names, with its stated probability: {len(every[0])} claims, Brier score "
        f"{brier(*every):.3f} (held-out programs: {len(held_out[0])}, {brier(*held_out):.3f}; always stating the base rate "
        f"would score {_base(every[1]):.3f}).\n\n![stated probability against the share that was true]({picture})\n\n"
    )
    return text + _table(("stated", "claims", "mean stated", "true"), [_bin_row(one) for one in bins])


def _base(true: Sequence[bool]) -> float:
    rate = sum(true) / len(true) if true else 0.0
    return rate * (1 - rate)


def _bin_row(one: Bin) -> tuple[object, ...]:
    return (f"{one.low:g} to {one.high:g}", one.count, f"{one.stated:.2f}", wilson(round(one.true * one.count), one.count))


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
