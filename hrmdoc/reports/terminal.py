"""An analysis on the terminal: the verdict, the curves with marked steps, the ranked causes, what to do next.

All text from the run passes through `clean` and `redact`, and is never read as markup.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from hrmdoc.analysis import Analysis
from hrmdoc.diagnose import Hypothesis
from hrmdoc.incidents import Incident
from hrmdoc.prescribe import Prescription
from hrmdoc.reports.sparkline import marks, sparkline
from hrmdoc.run import Series
from hrmdoc.symptom import Symptom
from hrmdoc.text import clean, redact

COLOURS = {"critical": "bold red", "warning": "yellow", "info": "cyan", "healthy": "bold green", "no_data": "magenta"}
ICONS = {"critical": "✗", "warning": "!", "info": "·", "healthy": "✓", "no_data": "?"}
CURVES = (
    "train.loss",
    "eval.loss",
    "rl.reward",
    "grad_norm",
    "lr",
    "train.exact_accuracy",
    "eval.exact_accuracy",
    "eval.accuracy",
    "act.steps",
    "rl.entropy",
    "rl.kl",
)
WIDTH = 44
NAMED = 0.05
"""Causes below this probability are named only when they lead."""


def show(analysis: Analysis, console: Console, *, verbose: bool = False) -> None:
    """Prints the whole analysis."""
    console.print(_headline(analysis), soft_wrap=True)
    for line in _verdict(analysis):
        console.print(line)
    _curves(analysis, console)
    _causes(analysis, console, verbose=verbose)
    _symptoms(analysis, console, verbose=verbose)
    _footer(analysis, console, verbose=verbose)


def incident_line(incident: Incident) -> Text:
    """One incident as `watch` tells it."""
    over = incident.change == "resolved"
    icon, colour = ("✓", "green") if over else (ICONS[incident.severity], COLOURS[incident.severity])
    step = "" if incident.step is None else f" step {incident.step}"
    line = Text(time.strftime("%H:%M:%S", time.localtime(incident.at)), style="dim").append(
        f"  {icon} {incident.change}", style=colour
    )
    line.append(f"{step}  ").append(incident.symptom, style="bold").append(f"  {safe(incident.evidence or incident.title)}")
    if incident.cause and not over:
        line.append(f"\n          most probably {incident.cause} ({incident.probability:.0%})", style="dim")
    return line


def safe(text: str, limit: int = 300) -> str:
    """Text from a run as it may be shown to a person: one printable line, secrets removed."""
    return redact(clean(text, limit))


def short(file: str) -> str:
    """A path as a person would type it here: relative to the working folder where that is shorter."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        relative = file
    return safe(min(file, relative, key=len), 120)


def _headline(analysis: Analysis) -> Text:
    run, situation = analysis.run, analysis.situation
    parts = [situation.framework, situation.kind] if situation.framework != "unknown" else [situation.kind]
    series = run.best("train.loss")
    if series is not None:
        parts.append(f"steps {int(series.steps.min())}–{int(series.steps.max())}")
    parts += [f"{run.points:,} points", f"{run.line_count:,} lines" if run.line_count else "", analysis.state]
    if len(run.ranks) > 1:
        parts.append(f"{len(run.ranks)} ranks")
    return Text(safe(run.path), style="bold").append("  " + " · ".join(part for part in parts if part), style="dim")


def _verdict(analysis: Analysis) -> Iterator[Text]:
    verdict = analysis.verdict
    words = {
        "healthy": "nothing is wrong as far as this run can tell",
        "info": f"nothing is wrong; {len(analysis.present)} oddities (--verbose shows them)",
        "no_data": "nothing could be read as metrics or log lines",
    }
    leading = next((h for h in analysis.diagnosis.hypotheses if not h.benign), None)
    if verdict in words:
        said = words[verdict]
    elif leading is not None:
        said = f"{leading.title} ({leading.probability:.0%})"
    else:
        said = ""
    yield Text(f"{ICONS[verdict]} {verdict.replace('_', ' ').upper()}  ", style=COLOURS[verdict]).append(said, style="bold")


def _curves(analysis: Analysis, console: Console) -> None:
    curves = [series for role in CURVES if (series := analysis.run.best(role)) is not None]
    shown = curves[:6]
    if not shown:
        return
    console.print()
    wide = max(len(safe(series.key.metric, 28)) for series in shown)
    for series in shown:
        name = safe(series.key.metric, 28).ljust(wide)
        ends = f" {_number(series.values[0])} → {_number(series.values[-1])}"
        console.print(Text(f"  {name}  ").append(sparkline(series.values, WIDTH), style="cyan").append(ends, style="dim"))
        told = _marked(analysis, series)
        if told:
            at = [symptom.first_step for symptom in told if symptom.first_step is not None]
            labels = ", ".join(f"{symptom.id} at {symptom.first_step}" for symptom in told[:3])
            line = marks(series.steps, at, WIDTH).ljust(min(WIDTH, len(series)))
            console.print(Text(" " * (wide + 4)).append(line, style="red").append(f" {labels}", style="dim"))


def _marked(analysis: Analysis, series: Series) -> list[Symptom]:
    return [
        symptom
        for symptom in analysis.present
        if symptom.metric == series.key.metric and symptom.first_step is not None and analysis.severity(symptom) != "info"
    ]


def _number(value: float) -> str:
    return str(value) if not math.isfinite(value) else f"{value:.4g}"


def _causes(analysis: Analysis, console: Console, *, verbose: bool) -> None:
    if analysis.verdict in ("healthy", "info", "no_data") and not verbose:
        return
    likely = [h for h in analysis.diagnosis.hypotheses if h.rank == 1 or h.probability >= NAMED]
    if not likely:
        return
    console.print(Text("\nProbable causes", style="bold"))
    for hypothesis in likely if verbose else likely[:4]:
        _cause(analysis, hypothesis, console, full=verbose or hypothesis.rank <= 2)


def _cause(analysis: Analysis, hypothesis: Hypothesis, console: Console, *, full: bool) -> None:
    tag = "  (benign)" if hypothesis.benign else ""
    line = Text(f" {hypothesis.rank}. {hypothesis.probability:4.0%}  ", style="bold").append(hypothesis.title, style="bold")
    console.print(line.append(f"  {hypothesis.cause}{tag}", style="dim"))
    if not full:
        return
    for sign, style, evidence in (("+", "green", hypothesis.for_[:4]), ("−", "red", hypothesis.against[:2])):
        for one in evidence:
            told = Text(f"{sign} ", style=style).append(safe(one.text)).append(f"  {one.log_odds:+.1f}", style="dim")
            console.print(Padding(told.append(_place(analysis, one.symptom), style="dim"), (0, 0, 0, 9)))
    for prescription in analysis.prescriptions.get(hypothesis.cause, ())[:2]:
        _remedy(prescription, console)


def _place(analysis: Analysis, symptom_id: str) -> str:
    symptom = next((s for s in analysis.symptoms if s.id == symptom_id and s.seen), None)
    if symptom is None or not symptom.file:
        return ""
    return f"  {short(symptom.file)}" + (f":{symptom.line}" if symptom.line is not None else "")


def _remedy(prescription: Prescription, console: Console) -> None:
    remedy = prescription.remedy
    head = Text("→ ", style="bold green").append(remedy.title).append(f"  [{remedy.risk}]", style="dim")
    console.print(Padding(head, (0, 0, 0, 9)))
    for change in prescription.changes:
        told = Text(f"{change.path}: {change.before} → {change.after}", style="green")
        console.print(Padding(told.append(f"  {short(change.file)}", style="dim"), (0, 0, 0, 11)))
    if not prescription.changes and prescription.overrides:
        console.print(Padding(Text(prescription.overrides, style="green"), (0, 0, 0, 11)))
    for step in remedy.steps[:3]:
        console.print(Padding(Text(step, style="green"), (0, 0, 0, 11)))


def _symptoms(analysis: Analysis, console: Console, *, verbose: bool) -> None:
    shown = [s for s in analysis.present if verbose or analysis.severity(s) != "info"]
    if not shown:
        return
    console.print(Text("\nSymptoms", style="bold"))
    for symptom in shown if verbose else shown[:10]:
        severity = analysis.severity(symptom)
        over = "  (over)" if symptom.state == "resolved" else ""
        line = Text(f" {ICONS[severity]} ", style=COLOURS[severity]).append(symptom.id, style="bold")
        line.append(f"  {safe(symptom.evidence or symptom.title)}").append(over, style="dim")
        console.print(line)
    if not verbose and len(shown) > 10:
        console.print(Text(f"   and {len(shown) - 10} more (--verbose)", style="dim"))


def _footer(analysis: Analysis, console: Console, *, verbose: bool) -> None:
    console.print()
    missing = analysis.not_evaluated
    if missing:
        names = sorted({name for symptom in missing for name in symptom.missing if " " not in name})
        what = f" for want of {', '.join(names[:6])}{' …' if len(names) > 6 else ''}" if names else ""
        console.print(Text(f"{len(missing)} of {len(analysis.symptoms)} rules could not be evaluated{what}", style="dim"))
    for damage in analysis.run.damages if verbose else analysis.run.damages[:3]:
        place = safe(damage.file, 120) + (f":{damage.line}" if damage.line is not None else "")
        console.print(Text(f"not read: {place}: {safe(damage.what)}", style="magenta"))
    if analysis.diagnosis.next_check and analysis.verdict in ("warning", "critical"):
        console.print(Text("Next check: ", style="bold").append(safe(analysis.diagnosis.next_check, 600)))
    leading = next((h for h in analysis.diagnosis.hypotheses if not h.benign), None)
    if leading is not None and analysis.verdict in ("warning", "critical"):
        patched = any(p.changes for p in analysis.prescriptions.get(leading.cause, ()))
        path = safe(analysis.run.path)
        follow = f"hrmdoc apply {path}   " if patched else ""
        console.print(Text(f"Next: {follow}hrmdoc explain {leading.cause}", style="dim"))
