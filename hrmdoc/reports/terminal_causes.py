"""The ranked causes on the terminal: what speaks for and against each, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hrmdoc.analysis import Analysis
from hrmdoc.diagnosis.diagnose import Evidence, Hypothesis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.reports.ink import Surface, Text
from hrmdoc.reports.layout import asked, place, put, safe, short
from hrmdoc.reports.verdict import likely
from hrmdoc.rulebook import Change

if TYPE_CHECKING:
    from hrmdoc.remedies.prescribe import Prescription

SHOWN, FULL, REMEDIES = 4, 2, 2
WORTH = 0.3
"""Evidence that moves the log-odds by less is left to `--verbose`."""
STRONG = 3.0
"""Log-odds: evidence that makes a cause 20 times as likely is strong."""
MOST = 9.0
LONGEST_FORMULA = 40
INDENT = " " * 10


def show_causes(analysis: Analysis, console: Surface, *, verbose: bool) -> None:
    """Prints the causes in their order; a remedy is shown with the first cause that asks for it."""
    named = list(analysis.diagnosis.hypotheses) if verbose else likely(analysis)[:SHOWN]
    if not named:
        return
    console.print(Text("\nProbable causes", style="bold"))
    offered: set[object] = set()
    before = 1.0
    for number, hypothesis in enumerate(named, 1):
        unnamed = (
            hypothesis.cause == "unknown"
        )  # stands behind the faults with a name, however probable it is
        if (
            hypothesis.probability > before and not unnamed
        ):  # what may be behind the worst finding comes first, however improbable
            console.print(Text(" behind lesser findings:", style="dim"))
        before = before if unnamed else hypothesis.probability
        tag = f"  {hypothesis.cause}" + ("  (benign)" if hypothesis.benign else "")
        lead = Text(f" {number}. {hypothesis.probability:4.0%}  ", style="bold")
        put(console, Text(hypothesis.title, style="bold").append(tag, style="not bold dim"), lead=lead)
        if verbose or (number <= FULL and not unnamed):
            _evidence(analysis, hypothesis, console, verbose=verbose)
            for prescription in _fresh(analysis, hypothesis, offered):
                show_remedy(prescription, analysis, console)


def _evidence(analysis: Analysis, hypothesis: Hypothesis, console: Surface, *, verbose: bool) -> None:
    seen = {symptom.id: symptom for symptom in analysis.symptoms if symptom.seen}
    if verbose:
        _every_evidence(hypothesis, seen, console)
        return
    for_ = [one for one in hypothesis.for_ if one.symptom in seen or not one.symptom]
    against = [one for one in hypothesis.against if abs(one.log_odds) >= WORTH]
    for word, style, evidence in (("for", "green", for_[:4]), ("against", "red", against[:3])):
        named = [
            _evidence_line(one, absent=bool(one.symptom) and one.symptom not in seen) for one in evidence
        ]
        if named:
            put(console, Text(", ").join(named), lead=Text(INDENT).append(f"{word:<9}", style=style))


def _every_evidence(hypothesis: Hypothesis, seen: Mapping[str, Symptom], console: Surface) -> None:
    """Each piece of evidence on a line of its own, with its weight and its place."""
    for sign, style, every in (("+ ", "green", hypothesis.for_), ("− ", "red", hypothesis.against)):
        for one in every:
            line = Text(safe(one.text)).append(f"  {factor(one)}", style="dim")
            if one.symptom in seen:
                line.append("  " + place(seen[one.symptom].file, seen[one.symptom].line), style="dim")
            put(console, line, lead=Text(INDENT).append(sign, style=style))


def _evidence_line(evidence: Evidence, *, absent: bool) -> Text:
    """What speaks for or against, the strongest first."""
    name = f"no {evidence.symptom}" if absent else evidence.symptom or evidence.text
    return Text(name).append(" (strong)" if abs(evidence.log_odds) >= STRONG else "", style="dim")


def factor(evidence: Evidence) -> str:
    """How many times as likely one piece of evidence makes the cause."""
    times = math.exp(min(abs(evidence.log_odds), MOST))
    said = f"{times:.2g}" if times < 100 else f"{times:,.0f}"
    return f"{said} times {'as' if evidence.log_odds >= 0 else 'less'} likely"


def _fresh(analysis: Analysis, hypothesis: Hypothesis, offered: set[object]) -> Iterator[Prescription]:
    """The first remedies of a cause that were not shown yet, neither by name nor by what they change."""
    shown = 0
    for one in analysis.prescriptions.get(hypothesis.cause, ()):
        changes = {
            change.path for change in one.changes
        }  # another value for the same key is an alternative, not more to do
        if one.remedy.id in offered or (changes and changes <= offered):
            continue
        offered |= {one.remedy.id, *changes}
        yield one
        shown += 1
        if shown == REMEDIES:
            return


def show_remedy(
    prescription: Prescription, analysis: Analysis, console: Surface, indent: str = INDENT
) -> None:
    """Prints one remedy with what it changes."""
    remedy = prescription.remedy
    put(
        console,
        Text(remedy.title).append(f"  [{asked(remedy)}]", style="dim"),
        lead=Text(indent).append("→ ", style="bold green"),
    )
    lead = indent + "    "
    for change in prescription.changes:
        changed = Text(f"{change.path}: {_spoken(change.before)} → {_spoken(change.after)}", style="green")
        put(
            console,
            changed.append(f"  {short(change.file)}" if change.file else "", style="not green dim"),
            lead=lead,
        )
    if prescription.late:
        put(console, Text(safe(prescription.obstacle), style="yellow"), lead=lead)
    elif not prescription.changes:
        for words in filter(None, (spelt(change, analysis) for change in remedy.changes)):
            put(console, Text(words, style="green"), lead=lead)
    for step in remedy.steps[:3]:
        put(console, Text(step), lead=lead)


def _spoken(value: object) -> str:
    return "not set" if value is None else safe(str(value), 60)


def spelt(change: Change, analysis: Analysis) -> str:
    """A change for a config that is not at hand, by the key that the run's program has for it; "" where the
    value follows from a long formula."""
    value = str(change.value).removeprefix("=").strip() if change.value is not None else ""
    if len(value) > LONGEST_FORMULA:
        return ""
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (("at least", change.min), ("at most", change.max))
        if bound is not None
    ]
    words = {"set": f"= {value}", "multiply": f"times {value}", "clamp": "", "remove": "removed"}[change.op]
    present = analysis.situation.facts.get(change.key)
    now = f" (now {_spoken(present)})" if present is not None else ""
    key = own_key(change.key, analysis)
    return f"{key} {words}".rstrip() + (f", {' and '.join(bounds)}" if bounds else "") + now


def own_key(key: str, analysis: Analysis) -> str:
    """The key of the run's own program for a canonical one; in runs of unknown programs the usual name."""
    known = analysis.book.frameworks
    for name in (analysis.situation.framework, "generic"):
        if name in known and key in known[name].config:
            return known[name].config[key].keys[0]
    return key.rpartition(".")[2]
