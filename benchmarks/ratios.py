"""What each rule is worth on public logs of repositories that it was not measured on:
`python -m benchmarks.ratios FOLDER... [--write]`.

FOLDERs are samples as `benchmarks.wild` takes them; their open halves alone are read. A rule's likelihood
ratio says how much likelier a fault shows it than a run without one, shrunk to 1 where few logs tell. Each
repository is judged by the ratios of all others, so that no log counts for itself; beside it stands the
verdict that the rules give today.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.lab.metrics import wilson
from benchmarks.revision import commit
from benchmarks.wild import Judged, is_open, judge
from hrmdoc.settings import Settings

RESULT = Path(__file__).with_name("ratios.md")
FEWEST = 3
"""Logs that show a rule from which its row is printed."""
INTRODUCTION = """# Likelihood ratios of the rules

Made by `python -m benchmarks.ratios FOLDER... --write` at {commit}, on the open halves of samples of public
logs that people labelled before any program had seen them. *Loud*: the rule fired as a warning or worse,
*quiet*: as information. The logarithm of each ratio is shrunk to 0 by its variance against the spread of all
of them (empirical Bayes), so that a rule that few logs show is worth little; the range is that over all
repositories left out, one at a time. The two ways to alarm are no fair match: the rules behind the verdict
were mended while looking at these logs, while the ratios never saw the repository that they judge."""


@dataclass(frozen=True, slots=True)
class Log:
    """One log of a repository, and the signs that it shows: rules, with how loudly they fired."""

    repo: str
    judged: Judged

    @property
    def signs(self) -> frozenset[tuple[str, str]]:
        """Rule and loudness."""
        one = self.judged
        return frozenset((name, "loud" if name in one.loud else "quiet") for name in one.fired)


@dataclass(frozen=True)
class Counts:
    """How many faults and other logs there are, and how many of each show a sign."""

    faults: int
    others: int
    on_faults: Counter[tuple[str, str]]
    on_others: Counter[tuple[str, str]]

    @classmethod
    def of(cls, logs: Iterable[Log]) -> Counts:
        """The counts of these logs."""
        groups: tuple[list[Log], list[Log]] = ([], [])
        for log in logs:
            groups[not log.judged.fault].append(log)
        on_faults, on_others = (Counter(sign for log in group for sign in log.signs) for group in groups)
        return cls(len(groups[0]), len(groups[1]), on_faults, on_others)

    def ratio(self, sign: tuple[str, str]) -> float:
        """The likelihood ratio of a sign, shrunk to 1."""
        log, variance = self._raw(sign)
        return math.exp(log * self.spread / (self.spread + variance))

    @cached_property
    def spread(self) -> float:
        """Variance of the true log ratios over all signs, by moments: what their scatter leaves behind their
        errors, each sign weighing as much as it is known."""
        raw = [self._raw(sign) for sign in self.on_faults | self.on_others]
        weights = sum(1 / variance for _, variance in raw)
        return max(0.0, sum((log**2 - v) / v for log, v in raw) / weights) if raw else 0.0

    def _raw(self, sign: tuple[str, str]) -> tuple[float, float]:
        """The log ratio and its variance; half a log is added to each count, so that none is zero."""
        hit, false = self.on_faults[sign] + 0.5, self.on_others[sign] + 0.5
        log = math.log(hit / (self.faults + 1)) - math.log(false / (self.others + 1))
        return log, 1 / hit - 1 / (self.faults + 1) + 1 / false - 1 / (self.others + 1)

    def probability(self, signs: Iterable[tuple[str, str]]) -> float:
        """That a log which shows these has a fault, were they independent."""
        odds = (self.faults + 1) / (self.others + 1) * math.prod(map(self.ratio, signs))
        return odds / (1 + odds)


def left_out(logs: Sequence[Log]) -> dict[str, Counts]:
    """Repository -> the counts of all others."""
    return {repo: Counts.of(log for log in logs if log.repo != repo) for repo in {log.repo for log in logs}}


def ordered(stated: Sequence[float], faults: Sequence[bool]) -> float:
    """The share of pairs of a fault and another log in which the fault has the higher number (the area under
    the ROC curve); NaN without a pair."""
    ill = [p for p, fault in zip(stated, faults, strict=True) if fault]
    well = [p for p, fault in zip(stated, faults, strict=True) if not fault]
    won = sum((p > q) + 0.5 * (p == q) for p in ill for q in well)
    return won / (len(ill) * len(well)) if ill and well else math.nan


def row(title: str, alarmed: Sequence[bool], faults: Sequence[bool], stated: Sequence[float]) -> str:
    """How right a way to alarm is."""
    found = sum(a and f for a, f in zip(alarmed, faults, strict=True))
    ill, said = sum(faults), sum(alarmed)
    recall, precision = wilson(found, ill), wilson(found, said)
    false = wilson(said - found, len(faults) - ill)
    return f"| {title} | {recall} | {precision} | {false} | {ordered(stated, faults):.2f} |"


def report(logs: Sequence[Log]) -> Iterable[str]:
    """The page of results."""
    by_repo = left_out(logs)
    faults = [log.judged.fault for log in logs]
    stated = [by_repo[log.repo].probability(log.signs) for log in logs]
    alarmed = [log.judged.alarmed for log in logs]
    yield INTRODUCTION.format(commit=commit())
    yield f"\n{len(logs)} logs of {len(by_repo)} repositories.\n"
    yield "| alarm | recall | precision | false alarms | faults above others |\n|---|---|---|---|---|"
    yield row("the verdict", alarmed, faults, [float(a) for a in alarmed])
    yield row("the ratios of other repositories", [p >= 0.5 for p in stated], faults, stated)
    yield "\n| rule | fired | on faults | on others | ratio | range |\n|---|---|---:|---:|---:|---|"
    yield from _rules(Counts.of(logs), list(by_repo.values()))


def _rules(whole: Counts, parts: Sequence[Counts]) -> Iterable[str]:
    """One row a sign that enough logs show, the most telling first."""
    seen = whole.on_faults + whole.on_others
    for sign in sorted((s for s in seen if seen[s] >= FEWEST), key=lambda s: (-whole.ratio(s), s)):
        ratios = [part.ratio(sign) for part in parts]
        yield (
            f"| {sign[0]} | {sign[1]} | {whole.on_faults[sign]}/{whole.faults} "
            f"| {whole.on_others[sign]}/{whole.others} | {whole.ratio(sign):.1f} "
            f"| {min(ratios):.1f} to {max(ratios):.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true", help=f"keep the page as {RESULT.name}")
    options = parser.parse_args()
    logs: list[Log] = []
    for folder in options.folders:
        with (folder / "manifest.csv").open(newline="") as file:
            rows = [one for one in csv.DictReader(file) if is_open(one["repo"])]
        logs += [Log(one["repo"].lower(), judge(folder, one, Settings())) for one in rows]
    page = "\n".join(report(logs)) + "\n"
    sys.stdout.write(page)
    if options.write:
        RESULT.write_text(page)


if __name__ == "__main__":
    main()
