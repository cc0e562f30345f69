"""`make calibrate`: measures the `leak` of symptoms and `w` of causes, and tells in benchmarks/calibration.md
whether they help.

Learns from the lab's training programs alone (`benchmarks.lab.spec.TRAINING`), from what the last `python -m
benchmarks.lab` examined. Every rate is the mean of a Beta distribution that starts at the value written in
its rule, worth some number of runs, and moves with the counts. That number, and whether leaks, weights or
both are measured, is chosen by leaving out one family of training programs after the other and diagnosing it
by the rates of the others. The result goes to rules/rates.yaml only if the programs that were never learnt
from are diagnosed better by it, in the logarithmic and in the Brier score; else there is no such file. Runs
that differ only in their seed count as one, since they are not independent.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

from ruamel.yaml import YAML

from benchmarks.beta import Prior, estimate
from benchmarks.calibration_scores import HEADINGS, Run, Scores, scores
from benchmarks.lab.judge import Examined, load_examined
from benchmarks.lab.spec import TRAINING
from benchmarks.revision import commit
from hrmdoc import rulebook
from hrmdoc.rulebook import RATES, Rate, Rulebook, with_rates

ROOT = Path(__file__).parents[1]
REPORT = Path(__file__).with_name("calibration.md")
HEADER = "Written by `make calibrate` from measured runs; do not edit. It takes the place of the rates in the rules of the same names."

FAMILIES_NEEDED = 2
"""What was seen on a single program is not carried over to others."""
WORTHS = (4.0, 16.0, 64.0)
"""How many runs a written rate may be worth."""
USUAL_WORTH = 16.0

What = Literal["leaks", "weights", "both"]
Leaks = dict[str, Rate]
Weights = dict[str, dict[str, Rate]]
Counts = dict[str, tuple[int, int]]
"""By family of programs: hits, and kinds of runs in which the symptom could be evaluated."""
Key = tuple[str, ...]
"""A symptom, or a cause and a symptom."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is measured, how much a written rate is worth, and how programs that were left out fare by it."""

    what: What
    worth: float
    left_out: Scores


def main() -> int:
    """Estimates, judges, writes."""
    runs = load_examined()
    training = [run for run in runs if run[0].program in TRAINING]
    held_out = [run for run in runs if run[0].program not in TRAINING]
    written = rulebook.load(measured=False)
    before, choices = across_programs(training, written)
    best = min(choices, key=lambda choice: choice.left_out.log)
    leaks, weights = rates(training, written, best.what, best.worth)
    measured = with_rates(written, leaks, weights)
    rows = [
        ("each training program by the others, as written", before),
        (f"each training program by the others, {_words(best)}", best.left_out),
        ("held out, as written", (first := scores(held_out, written))),
        (f"held out, {_words(best)}", (second := scores(held_out, measured))),
    ]
    helps = second.better_than(first) and best.left_out.better_than(before)
    path = ROOT / "rules" / RATES
    if helps:
        write_rates(path, leaks, weights)
    else:
        path.unlink(missing_ok=True)
    REPORT.write_text(report(rows, choices, helps, leaks, weights, written, len(training)))
    print("\n".join(f"{name}: {one}" for name, one in rows))
    print("installed" if helps else "not installed: it would not help")
    return 0


def across_programs(training: Sequence[Run], book: Rulebook) -> tuple[Scores, list[Choice]]:
    """How programs that were left out fare by the written rates, and by those measured on the others."""
    families = sorted({family(spec.program) for spec, _ in training})
    parts = [
        (
            [run for run in training if family(run[0].program) != one],
            [run for run in training if family(run[0].program) == one],
        )
        for one in families
    ]
    before = pooled(
        [scores(left_out, book) for _, left_out in parts], [len(left_out) for _, left_out in parts]
    )
    whats: tuple[What, ...] = ("leaks", "weights", "both")
    choices = []
    for what, worth in product(whats, WORTHS):
        books = [with_rates(book, *rates(others, book, what, worth)) for others, _ in parts]
        found = [scores(left_out, learnt) for learnt, (_, left_out) in zip(books, parts, strict=True)]
        choices.append(Choice(what, worth, pooled(found, [len(left_out) for _, left_out in parts])))
    return before, choices


def pooled(parts: Sequence[Scores], sizes: Sequence[int]) -> Scores:
    """Scores over several sets of runs taken together; the calibration error is their mean."""

    def mean(values: Iterable[float]) -> float:
        return sum(value * size for value, size in zip(values, sizes, strict=True)) / sum(sizes)

    return Scores(
        log=mean(one.log for one in parts),
        brier=mean(one.brier for one in parts),
        error=mean(one.error for one in parts),
        ranks=tuple(rank for one in parts for rank in one.ranks),
        false=(sum(one.false[0] for one in parts), sum(one.false[1] for one in parts)),
        found=(sum(one.found[0] for one in parts), sum(one.found[1] for one in parts)),
    )


def rates(runs: Sequence[Run], book: Rulebook, what: What, worth: float) -> tuple[Leaks, Weights]:
    """What these runs tell of the rates of `book`, where a written rate is worth so many runs."""
    leaks = measured_leaks(runs, book, worth) if what != "weights" else {}
    return leaks, measured_weights(runs, book, worth) if what != "leaks" else {}


def measured_leaks(runs: Sequence[Run], book: Rulebook, worth: float = USUAL_WORTH) -> Leaks:
    """How often each symptom shows where nothing that is there is said to produce it: in healthy runs, and in
    other faults.

    Faults count as well, since what they bring about beyond their list is what would otherwise be taken for a
    second fault.
    """
    excused, can_show = _excused(book), _shown_anywhere(runs)
    written: dict[Key, float] = {
        (name,): book.symptoms[name].leak.p
        for name in can_show & book.symptoms.keys() - rulebook.good_signs(book)
    }
    counts: dict[Key, Counts] = {}
    for key in written:
        name = key[0]
        others = [
            run
            for run in runs
            if not any(name in book.causes[one].produces for one in run[0].causes if one in book.causes)
        ]
        if found := _count(others, lambda one, name=name: _shows(one, name, excused)):  # type: ignore[misc]
            counts[key] = found
    found_rates = _estimates(counts, written, worth, "kinds of runs without a cause of it")
    return {name: rate for (name,), rate in found_rates.items()}


def measured_weights(runs: Sequence[Run], book: Rulebook, worth: float = USUAL_WORTH) -> Weights:
    """How often each cause showed each symptom that it is said to produce."""
    can_show = _shown_anywhere(runs)
    written: dict[Key, float] = {}
    counts: dict[Key, Counts] = {}
    for name, cause in book.causes.items():
        sick = [run for run in runs if name == next(iter(run[0].causes), "")]
        for symptom in cause.produces.keys() & can_show:
            if found := _count(sick, lambda one, symptom=symptom: _shows(one, symptom, {})):  # type: ignore[misc]
                written[name, symptom], counts[name, symptom] = cause.produces[symptom], found
    weights: Weights = defaultdict(dict)
    for (name, symptom), rate in _estimates(counts, written, worth, "kinds of runs with this fault").items():
        weights[name][symptom] = rate
    return dict(weights)


def _shown_anywhere(runs: Iterable[Run]) -> set[str]:
    """Symptoms that showed in some run: of others, the lab cannot tell how often they show elsewhere."""
    return {symptom.id for _, one in runs for symptom in one.symptoms if symptom.seen}


def _estimates(
    counts: dict[Key, Counts], written: dict[Key, float], worth: float, what: str
) -> dict[Key, Rate]:
    usable = {
        key: found for key, found in counts.items() if 0 < written[key] < 1 and len(found) >= FAMILIES_NEEDED
    }
    rates = {}
    for key, found in usable.items():
        hits, total = (sum(column) for column in zip(*found.values(), strict=True))
        basis = f"{hits} of {total} {what}; the written {written[key]:g} counts as {worth:g}"
        rates[key] = _rounded(estimate(hits, total, Prior(written[key], worth), basis))
    return rates


def _excused(book: Rulebook) -> dict[str, set[str]]:
    """Symptom -> the good signs in whose presence a benign cause explains it; then it is no leak."""
    good = rulebook.good_signs(book)
    signs: dict[str, set[str]] = defaultdict(set)
    for cause in book.causes.values():
        for name in cause.produces.keys() - good if cause.benign else ():
            signs[name] |= good & cause.produces.keys()
    return signs


def _shows(one: Examined, name: str, excused: dict[str, set[str]]) -> bool | None:
    """Whether a symptom shows in a run; None where it could not be evaluated, or where something harmless
    explains it."""
    states = [symptom for symptom in one.symptoms if symptom.id == name and symptom.state != "not_evaluated"]
    if not states:
        return None
    if not any(symptom.seen for symptom in states):
        return False
    good = excused.get(name, set())
    return None if any(symptom.seen and symptom.id in good for symptom in one.symptoms) else True


def _count(runs: Iterable[Run], shows: Callable[[Examined], bool | None]) -> Counts:
    """By family, hits and kinds of runs; a kind (what is done to a program) counts once, by the share of its
    seeds."""
    kinds: dict[str, dict[tuple[str, ...], list[bool]]] = defaultdict(lambda: defaultdict(list))
    for spec, one in runs:
        if (seen := shows(one)) is not None:
            what = (spec.program, spec.fault, spec.note, str(sorted(spec.settings.items())))
            kinds[family(spec.program)][what].append(seen)
    return {
        name: (round(sum(sum(seen) / len(seen) for seen in found.values())), len(found))
        for name, found in kinds.items()
    }


def family(program: str) -> str:
    """Programs that share their code, such as the sizes of the reference patient, are one when rates are to
    carry over."""
    return program.split("-")[0]


def _rounded(rate: Rate) -> Rate:
    return Rate(round(rate.p, 4), round(rate.low, 4), round(rate.high, 4), rate.basis)


def write_rates(path: Path, leaks: Leaks, weights: Weights) -> None:
    """The data file, sorted."""

    def plain(rate: Rate) -> dict[str, object]:
        return {"p": rate.p, "low": rate.low, "high": rate.high, "basis": rate.basis}

    data = {
        "leaks": {name: plain(rate) for name, rate in sorted(leaks.items())},
        "weights": {
            cause: {name: plain(rate) for name, rate in sorted(found.items())}
            for cause, found in sorted(weights.items())
        },
    }
    yaml = YAML(typ="safe", pure=True)
    yaml.width = 200
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    with path.open("w") as stream:
        stream.write(f"# {HEADER}\n")
        yaml.dump(data, stream)


def _words(choice: Choice) -> str:
    measured = {
        "leaks": "leaks measured",
        "weights": "weights measured",
        "both": "leaks and weights measured",
    }[choice.what]
    return f"{measured}, a written rate worth {choice.worth:g} runs"


def report(
    rows: Sequence[tuple[str, Scores]],
    choices: Sequence[Choice],
    helps: bool,
    leaks: Leaks,
    weights: Weights,
    written: Rulebook,
    learnt_on: int,
) -> str:
    """benchmarks/calibration.md: scores before and after, what was tried, and the rates that moved most."""
    moved = sorted(leaks.items(), key=lambda item: -abs(item[1].p - written.symptoms[item[0]].leak.p))[:15]
    pairs = [(cause, name, rate) for cause, found in weights.items() for name, rate in found.items()]
    pairs.sort(key=lambda item: -abs(item[2].p - written.causes[item[0]].produces[item[1]]))
    verdict = (
        "and are installed"
        if helps
        else "and are **not** installed, since programs not learnt from would not be diagnosed better"
    )
    lines = [
        "# Calibration",
        "",
        f"Written by `make calibrate` at commit {commit()} from {learnt_on} runs of {', '.join(TRAINING)}:",
        f"{len(leaks)} leaks and {len(pairs)} weights were measured, {verdict}.",
        "Scores are means over runs; the log and Brier scores look at all causes, lower is better.",
        "",
        "| runs, rates | " + " | ".join(HEADINGS) + " |",
        "|---" * (len(HEADINGS) + 1) + "|",
        *(f"| {name} | {one} |" for name, one in rows),
        "",
        "## What was tried, each training program diagnosed by the rates of the others",
        "",
        "| measured | " + " | ".join(HEADINGS) + " |",
        "|---" * (len(HEADINGS) + 1) + "|",
        *(f"| {_words(choice)} | {choice.left_out} |" for choice in choices),
        "",
        "## Leaks that moved most",
        "",
        "| symptom | written | measured | counts |",
        "|---|---|---|---|",
        *(
            f"| {name} | {written.symptoms[name].leak.p:g} | {_interval(rate)} | {rate.basis} |"
            for name, rate in moved
        ),
        "",
        "## Weights that moved most",
        "",
        "| cause | symptom | written | measured | counts |",
        "|---|---|---|---|---|",
        *(
            f"| {c} | {s} | {written.causes[c].produces[s]:g} | {_interval(rate)} | {rate.basis} |"
            for c, s, rate in pairs[:25]
        ),
    ]
    return "\n".join(lines) + "\n"


def _interval(rate: Rate) -> str:
    return f"{rate.p:.3f} ({rate.low:.3f} to {rate.high:.3f})"


if __name__ == "__main__":
    sys.exit(main())
