"""How right the alarms are on logs that people left in public:
`python -m benchmarks.wild FOLDER... [--write]`.

Each FOLDER holds `manifest.csv` (id, file, level, repo; level is what a person said who saw the file alone)
and the files. Alarmed is a run whose verdict is warning or critical. The samples are halved by repository:
rules are learnt from the open halves, of which the base rates of each rule and of each family (the rules of
one group) are shown, and where one is loud alone; of the closed halves there are totals.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lab.metrics import Z_95, wilson
from benchmarks.revision import commit
from hrmdoc.analysis import analyze
from hrmdoc.errors import HrmdocError
from hrmdoc.rulebook import load
from hrmdoc.settings import Settings

RESULT = Path(__file__).with_name("wild.md")
ALARMING = ("warning", "critical")
COLUMNS = (
    *("rule", "severity", "leak in the rule", "in the wild", "on faults", "on the rest"),
    *("alarms, faults + rest", "alone, faults + rest", "likelihood ratio"),
)
INTRODUCTION = """# Public logs

Made by `python -m benchmarks.wild FOLDER... --write` at {commit}. Samples of training logs from public
repositories, labelled by eye before any program had seen them, are halved by repository. Rules are learnt
from the open halves alone; of the closed halves nobody sees more than their totals. A log is alarmed when its
verdict is warning or critical; *alone*: no other rule alarms, or none of another family. Intervals are
95 %."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One log: whether a person saw a fault in it, what hrmdoc said, and which rules fired, which of them
    loudly."""

    name: str
    fault: bool
    verdict: str
    fired: frozenset[str]
    loud: frozenset[str]

    @property
    def alarmed(self) -> bool:
        return self.verdict in ALARMING


def is_open(repo: str) -> bool:
    """The half that rules may be learnt from; the halves share no repository."""
    return int(hashlib.sha256(repo.lower().encode()).hexdigest(), 16) % 2 == 0


def judge(folder: Path, row: dict[str, str], settings: Settings) -> Judged:
    """Analyses one log of the sample; one that cannot be read fires nothing."""
    fault = row["level"] in ALARMING
    try:
        analysis = analyze(folder / row["file"], settings=settings)
    except HrmdocError:
        return Judged(row["id"], fault, "no_data", frozenset(), frozenset())
    present = analysis.present
    loud = frozenset(symptom.id for symptom in present if analysis.severity(symptom) in ALARMING)
    return Judged(row["id"], fault, analysis.verdict, frozenset(s.id for s in present), loud)


def totals(logs: Sequence[Judged]) -> str:
    """Recall, precision and false alarms, with intervals."""
    faults = [log for log in logs if log.fault]
    found, false = sum(log.alarmed for log in faults), sum(log.alarmed and not log.fault for log in logs)
    return (
        f"| {len(logs)} | {wilson(found, len(faults))} | {wilson(found, found + false)} "
        f"| {wilson(false, len(logs) - len(faults))} |"
    )


def likelihood_ratio(on_faults: int, faults: int, on_rest: int, rest: int) -> tuple[float, float, float]:
    """How much likelier a fault shows the rule than a run without one, with the interval of the log method.

    Half a log is added to each count, so that none is zero.
    """
    a, b = on_faults + 0.5, on_rest + 0.5
    ratio = (a / (faults + 1)) / (b / (rest + 1))
    spread = Z_95 * math.sqrt(1 / a - 1 / (faults + 1) + 1 / b - 1 / (rest + 1))
    return ratio, ratio * math.exp(-spread), ratio * math.exp(spread)


def base_rates(logs: Sequence[Judged]) -> Iterable[str]:
    """One row a rule that fired: how often, on what, and what that makes of it."""
    book = load()
    faults = [log for log in logs if log.fault]
    rest = [log for log in logs if not log.fault]
    fired = Counter(name for log in logs for name in log.fired)
    for name, count in sorted(fired.items(), key=lambda pair: (-pair[1], pair[0])):
        hit, false = (sum(name in log.fired for log in part) for part in (faults, rest))
        loud, alone = _alarms(name, [(log.fault, log.loud) for log in logs])
        ratio, low, high = likelihood_ratio(hit, len(faults), false, len(rest))
        rule = book.symptoms[name]
        yield (
            f"| {name} | {rule.severity} | {rule.leak:g} | {count / len(logs):.1%} | {hit}/{len(faults)} "
            f"| {false}/{len(rest)} | {loud} | {alone} | {ratio:.1f} ({low:.1f} to {high:.1f}) |"
        )


def _alarms(name: str, loud: Sequence[tuple[bool, frozenset[str]]]) -> tuple[str, str]:
    """How often `name` is loud, and how often nothing else is, each on faults and on the rest."""

    def on(part: bool, *, alone: bool) -> int:
        return sum(
            fault is part and name in names and not (alone and len(names) > 1) for fault, names in loud
        )

    often, alone = (f"{on(True, alone=one)} + {on(False, alone=one)}" for one in (False, True))
    return often, alone


def families(logs: Sequence[Judged]) -> Iterable[str]:
    """One row a family that alarmed: rules of one group are graded answers to one question."""
    groups = {name: rule.group or name for name, rule in load().symptoms.items()}
    loud = [(log.fault, frozenset(groups[name] for name in log.loud)) for log in logs]
    often = Counter(name for _, names in loud for name in names)
    for name in sorted(often, key=lambda one: (-often[one], one)):
        yield f"| {name} | {' | '.join(_alarms(name, loud))} |"


def report(opened: Sequence[Judged], closed: Sequence[Judged]) -> Iterable[str]:
    """The page of results."""
    yield INTRODUCTION.format(commit=commit())
    yield "\n| half | logs | recall | precision | false alarms |\n|---|---:|---|---|---|"
    yield f"| open {totals(opened)}"
    yield f"| closed {totals(closed)}"
    yield "\n## Families of rules that alarm on the open halves\n"
    yield "| family | alarms, faults + rest | alone, faults + rest |\n|---|---:|---:|"
    yield from families(opened)
    yield "\n## Base rates on the open halves\n"
    yield f"| {' | '.join(COLUMNS)} |\n|---|---|---:|---:|---:|---:|---:|---:|---|"
    yield from base_rates(opened)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--half", choices=("open", "closed", "both"), default="both")
    parser.add_argument("--write", action="store_true", help=f"keep the page as {RESULT.name}")
    options = parser.parse_args()
    halves: dict[str, list[Judged]] = {"open": [], "closed": []}
    settings = Settings()
    for folder in options.folders:
        with (folder / "manifest.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            half = "open" if is_open(row["repo"]) else "closed"
            if options.half in (half, "both"):
                halves[half].append(judge(folder, row, settings))
    page = "\n".join(report(halves["open"], halves["closed"])) + "\n"
    sys.stdout.write(page)
    if options.write:
        RESULT.write_text(page)


if __name__ == "__main__":
    main()
