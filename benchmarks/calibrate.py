"""`make calibrate`: writes rules/rates.yaml, the measured `leak` of symptoms and `w` of causes, and benchmarks/calibration.md.

Learns from the lab's training programs alone (`benchmarks.lab.spec.TRAINING`), from what the last `python -m benchmarks.lab`
examined. Every rate starts at the value written in its rule and moves with the counts; how fast is chosen by leaving out one
training program after the other. Runs that differ only in their seed count as one, since they are not independent.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ruamel.yaml import YAML

from benchmarks.lab.judge import Examined, Verdict, load_examined, verdict_of
from benchmarks.lab.metrics import brier, mean_reciprocal_rank, wilson
from benchmarks.lab.report import commit
from benchmarks.lab.spec import TRAINING, Spec
from hrmdoc import rulebook
from hrmdoc.calibrate import STRENGTHS, Prior, estimate
from hrmdoc.rulebook import RATES, Rate, Rulebook

ROOT = Path(__file__).parents[1]
REPORT = Path(__file__).with_name("calibration.md")
HEADER = (
    "Written by `make calibrate` from measured runs; do not edit. It takes the place of the rates in the rules of the same names."
)

FAMILIES_NEEDED = 2
"""What was seen on a single program is not carried over to others."""

Run = tuple[Spec, Examined]
Counts = dict[str, tuple[int, int]]
"""By family of programs: hits, and kinds of runs in which the symptom could be evaluated."""
Key = tuple[str, ...]
"""A symptom, or a cause and a symptom."""


def main() -> int:
    """Estimates, writes, and tells how the held-out programs fare before and after."""
    runs = load_examined()
    training = [run for run in runs if run[0].program in TRAINING]
    held_out = [run for run in runs if run[0].program not in TRAINING]
    before = rulebook.load(measured=False)
    leaks = measured_leaks(training, before)
    weights = measured_weights(training, before)
    path = ROOT / "rules" / RATES
    write_rates(path, leaks, weights)
    after = rulebook.load()
    parts = [("learnt on", training), ("held out", held_out)]
    rows = [(name, figures(group, before), figures(group, after)) for name, group in parts]
    REPORT.write_text(report(rows, leaks, weights, before, training))
    print("\n".join(f"{name}: before {first}; after {second}" for name, first, second in rows))
    return 0


def measured_leaks(runs: Sequence[Run], book: Rulebook) -> dict[str, Rate]:
    """How often each symptom shows on a healthy run on which nothing harmless explains it."""
    healthy = [run for run in runs if run[0].healthy]
    excused, can_show = _excused(book), _shown_anywhere(runs)
    written: dict[Key, float] = {
        (name,): book.symptoms[name].leak.p for name in can_show & book.symptoms.keys() - _good_signs(book)
    }
    counts: dict[Key, Counts] = {
        key: found
        for key in written
        if (found := _count(healthy, lambda one, name=key[0]: _shows(one, name, excused)))  # type: ignore[misc]
    }
    rates = _estimates(counts, written, "kinds of healthy runs")
    return {name: rate for (name,), rate in rates.items()}


def measured_weights(runs: Sequence[Run], book: Rulebook) -> dict[str, dict[str, Rate]]:
    """How often each cause showed each symptom that it is said to produce."""
    can_show = _shown_anywhere(runs)
    written: dict[Key, float] = {}
    counts: dict[Key, Counts] = {}
    for name, cause in book.causes.items():
        sick = [run for run in runs if name == next(iter(run[0].causes), "")]
        for symptom in cause.produces.keys() & can_show:
            if found := _count(sick, lambda one, symptom=symptom: _shows(one, symptom, {})):  # type: ignore[misc]
                written[name, symptom], counts[name, symptom] = cause.produces[symptom], found
    weights: dict[str, dict[str, Rate]] = defaultdict(dict)
    for (name, symptom), rate in _estimates(counts, written, "kinds of runs with this fault").items():
        weights[name][symptom] = rate
    return dict(weights)


def _shown_anywhere(runs: Iterable[Run]) -> set[str]:
    """Symptoms that showed in some run: of others, the lab cannot tell how often they show elsewhere."""
    return {symptom.id for _, one in runs for symptom in one.symptoms if symptom.seen}


def _estimates(counts: dict[Key, Counts], written: dict[Key, float], what: str) -> dict[Key, Rate]:
    usable = {key: found for key, found in counts.items() if 0 < written[key] < 1 and len(found) >= FAMILIES_NEEDED}
    strength = strength_across_programs(usable, written)
    rates = {}
    for key, found in usable.items():
        hits, total = (sum(column) for column in zip(*found.values(), strict=True))
        basis = f"{hits} of {total} {what}; the written {written[key]:g} counts as {strength:g}"
        rates[key] = _rounded(estimate(hits, total, Prior(written[key], strength), basis))
    return rates


def strength_across_programs(counts: dict[Key, Counts], written: dict[Key, float]) -> float:
    """How many runs a written rate is worth, so that rates learnt on some programs foretell another best.

    Each family of training programs is left out in turn and its counts are foretold from the others; the strength under which
    they are likeliest wins. Programs, not runs, are what rates must carry over.
    """

    def foretold(strength: float) -> float:
        total = 0.0
        for key, found in counts.items():
            for program, (hits, runs) in found.items():
                others = [pair for name, pair in found.items() if name != program]
                before = estimate(sum(h for h, _ in others), sum(r for _, r in others), Prior(written[key], strength), "")
                total += hits * math.log(before.p) + (runs - hits) * math.log1p(-before.p)
        return total

    return max(STRENGTHS, key=foretold)


def _good_signs(book: Rulebook) -> set[str]:
    """Info symptoms that benign causes alone produce, such as `learns-well`: no findings, and so no leaks."""
    by_real = {symptom for cause in book.causes.values() if not cause.benign for symptom in cause.produces}
    by_benign = {symptom for cause in book.causes.values() if cause.benign for symptom in cause.produces}
    return {name for name in by_benign - by_real if name in book.symptoms and book.symptoms[name].severity == "info"}


def _excused(book: Rulebook) -> dict[str, set[str]]:
    """Symptom -> the good signs in whose presence a benign cause explains it; then it is no leak."""
    good = _good_signs(book)
    signs: dict[str, set[str]] = defaultdict(set)
    for cause in book.causes.values():
        for name in cause.produces.keys() - good if cause.benign else ():
            signs[name] |= good & cause.produces.keys()
    return signs


def _shows(one: Examined, name: str, excused: dict[str, set[str]]) -> bool | None:
    """Whether a symptom shows in a run; None where it could not be evaluated, or where something harmless explains it."""
    states = [symptom for symptom in one.symptoms if symptom.id == name and symptom.state != "not_evaluated"]
    if not states:
        return None
    if not any(symptom.seen for symptom in states):
        return False
    good = excused.get(name, set())
    return None if any(symptom.seen and symptom.id in good for symptom in one.symptoms) else True


def _count(runs: Iterable[Run], shows: Callable[[Examined], bool | None]) -> Counts:
    """By family, hits and kinds of runs; a kind (what is done to a program) counts once, by the share of its seeds."""
    kinds: dict[str, dict[tuple[str, ...], list[bool]]] = defaultdict(lambda: defaultdict(list))
    for spec, one in runs:
        if (seen := shows(one)) is not None:
            what = (spec.program, spec.fault, spec.note, str(sorted(spec.settings.items())))
            kinds[family(spec.program)][what].append(seen)
    return {name: (round(sum(sum(seen) / len(seen) for seen in found.values())), len(found)) for name, found in kinds.items()}


def family(program: str) -> str:
    """Programs that share their code, such as the sizes of the reference patient, are one when rates are to carry over."""
    return program.split("-")[0]


def _rounded(rate: Rate) -> Rate:
    return Rate(round(rate.p, 4), round(rate.low, 4), round(rate.high, 4), rate.basis)


def write_rates(path: Path, leaks: dict[str, Rate], weights: dict[str, dict[str, Rate]]) -> None:
    """The data file, sorted."""

    def plain(rate: Rate) -> dict[str, object]:
        return {"p": rate.p, "low": rate.low, "high": rate.high, "basis": rate.basis}

    data = {
        "leaks": {name: plain(rate) for name, rate in sorted(leaks.items())},
        "weights": {
            cause: {name: plain(rate) for name, rate in sorted(found.items())} for cause, found in sorted(weights.items())
        },
    }
    yaml = YAML(typ="safe", pure=True)
    yaml.width = 200
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    with path.open("w") as stream:
        stream.write(f"# {HEADER}\n")
        yaml.dump(data, stream)


def figures(runs: Sequence[Run], book: Rulebook) -> str:
    """How good the diagnoses by the rates of `book` are, in a line."""
    verdicts = [verdict_of(spec, one, book) for spec, one in runs]
    faulty = [v for v in verdicts if not v.spec.healthy]
    healthy = [v for v in verdicts if v.spec.healthy]
    stated, true = _claims(verdicts)
    return ", ".join(
        (
            f"named first {wilson(sum(v.rank == 1 for v in faulty), len(faulty))}",
            f"among three {wilson(sum(v.rank is not None and v.rank <= 3 for v in faulty), len(faulty))}",
            f"MRR {mean_reciprocal_rank([v.rank for v in faulty]):.3f}",
            f"false alarms {wilson(sum(v.detected for v in healthy), len(healthy))}",
            f"Brier {brier(stated, true):.4f}",
        )
    )


def _claims(verdicts: Sequence[Verdict]) -> tuple[list[float], list[bool]]:
    pairs = [(p, cause in v.spec.causes) for v in verdicts for cause, p in v.faults]
    return [p for p, _ in pairs], [y for _, y in pairs]


def report(
    rows: Sequence[tuple[str, str, str]],
    leaks: dict[str, Rate],
    weights: dict[str, dict[str, Rate]],
    before: Rulebook,
    training: Sequence[Run],
) -> str:
    """benchmarks/calibration.md: figures before and after, and the rates that moved most."""
    moved = sorted(leaks.items(), key=lambda item: -abs(item[1].p - before.symptoms[item[0]].leak.p))[:15]
    pairs = [(cause, name, rate) for cause, found in weights.items() for name, rate in found.items()]
    pairs.sort(key=lambda item: -abs(item[2].p - before.causes[item[0]].produces[item[1]]))
    lines = [
        "# Calibration",
        "",
        f"Written by `make calibrate` from {len(training)} runs of {', '.join(TRAINING)} at commit {commit()}:",
        f"{len(leaks)} leaks and {len(pairs)} weights. Held-out programs were never used for an estimate.",
        "",
        "| programs | rates as written in the rules | rates as measured |",
        "|---|---|---|",
        *(f"| {name} | {first} | {second} |" for name, first, second in rows),
        "",
        "## Leaks that moved most",
        "",
        "| symptom | written | measured | counts |",
        "|---|---|---|---|",
        *(f"| {name} | {before.symptoms[name].leak.p:g} | {_interval(rate)} | {rate.basis} |" for name, rate in moved),
        "",
        "## Weights that moved most",
        "",
        "| cause | symptom | written | measured | counts |",
        "|---|---|---|---|---|",
        *(f"| {c} | {s} | {before.causes[c].produces[s]:g} | {_interval(rate)} | {rate.basis} |" for c, s, rate in pairs[:25]),
    ]
    return "\n".join(lines) + "\n"


def _interval(rate: Rate) -> str:
    return f"{rate.p:.3f} ({rate.low:.3f} to {rate.high:.3f})"


if __name__ == "__main__":
    sys.exit(main())
