"""What was found before training, as a checklist: each finding with its place and the change that answers
it."""

from __future__ import annotations

from pathlib import Path

from hrmdoc.analysis import Analysis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.remedies.prescribe import Prescription, fitting
from hrmdoc.remedies.targets import targets
from hrmdoc.reports.ink import Surface, Text
from hrmdoc.reports.layout import place, put, safe, short, typed
from hrmdoc.reports.terminal_causes import show_remedy
from hrmdoc.reports.verdict import COLOURS, ICONS, SICK, counted
from hrmdoc.rulebook import Rulebook

TOLD = (
    ("data.batch_size", "batch"),
    ("run.total_steps", "steps"),
    ("model.parameters", "parameters"),
    ("data.samples", "samples"),
    ("optimizer.lr", "learning rate"),
    ("env.cpu_count", "cores"),
    ("device.kind", "device"),
)
_BEFOREHAND = ("data.", "device.", "env.")
"""Facts of these sections come from the data and the machine, which are there before a run."""


def show(analysis: Analysis, console: Surface, *, verbose: bool = False) -> None:
    """Prints the checklist, the verdict first."""
    _headline(analysis, console)
    offered: set[str] = set()
    for symptom in analysis.present:
        _finding(analysis, symptom, console, offered)
    console.print()
    _open_checks(analysis, console, verbose=verbose)
    for damage in analysis.run.damages:
        lead = Text("Not read: ", style="magenta")
        put(console, Text(f"{place(damage.file, damage.line)}: {safe(damage.what)}"), lead=lead)
    _next(analysis, console)


def _headline(analysis: Analysis, console: Surface) -> None:
    situation, verdict = analysis.situation, analysis.verdict
    passed = sum(symptom.state == "absent" for symptom in analysis.symptoms)
    counts = f"{passed} checks passed, {counted(len(analysis.present), 'finding')}"
    worst = analysis.present[0].title if verdict in SICK else ""
    said = f"{worst} ({counts})" if worst else counts
    lead = Text(f"{ICONS[verdict]} {verdict.upper()}  ", style=COLOURS[verdict])
    put(console, Text(said, style="bold"), lead=lead)
    known = [
        f"{name} {_spoken(situation.facts[key])}"
        for key, name in TOLD
        if situation.facts.get(key) is not None
    ]
    about = [situation.framework, *known] if situation.framework != "unknown" else known
    console.print()
    name = Text(short(analysis.run.path) if analysis.run.path else "this machine", style="bold")
    put(console, name.append(f"  {' · '.join(about)}" if about else "", style="not bold dim"))


def _open_checks(analysis: Analysis, console: Surface, *, verbose: bool) -> None:
    """What could be checked too, if more were given."""
    open_ = [symptom for symptom in analysis.not_evaluated if _knowable(symptom, analysis.book)]
    names = list(dict.fromkeys(name for symptom in open_ for name in symptom.missing))
    if open_:
        some = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        said = f"{counted(len(open_), 'check')} could be made, too, if these were given: {safe(some)}"
        put(console, Text(said, style="dim"))
    for symptom in open_ if verbose else ():
        lead = Text(f"   {symptom.id:<34}  ", style="dim")
        put(console, Text(", ".join(map(safe, symptom.missing)), style="dim"), lead=lead)


def _next(analysis: Analysis, console: Surface) -> None:
    lead = Text("Next: ", style="bold")
    if analysis.present:
        put(console, Text(f"hrmdoc explain {analysis.present[0].id}", style="cyan"), lead=lead)
    elif analysis.run.path:
        own = analysis.situation.framework == "hrm"
        command = f"hrmdoc train {typed(analysis.run.path)}" if own else "hrmdoc run -- COMMAND"
        what = "" if own else "   starts your training and looks after it"
        put(console, Text(command, style="cyan").append(what, style="not bold dim"), lead=lead)


def _knowable(symptom: Symptom, book: Rulebook) -> bool:
    """Whether what it lacks can be known before a run: settings, the data, the machine."""
    settings = {key for framework in book.frameworks.values() for key in framework.config}
    return all(name in settings or name.startswith(_BEFOREHAND) for name in symptom.missing)


def _finding(analysis: Analysis, symptom: Symptom, console: Surface, offered: set[str]) -> None:
    severity = analysis.severity(symptom)
    headline = Text(symptom.title, style="bold").append(f"  {symptom.id}", style="not bold dim")
    console.print()
    put(console, headline, lead=Text(f" {ICONS[severity]} ", style=COLOURS[severity]))
    where = place(symptom.file, symptom.line)
    evidence = safe(symptom.evidence) if symptom.evidence != symptom.title else ""
    if evidence or where:
        put(console, Text(evidence).append(f"  {where}" if evidence else where, style="dim"), lead="   ")
    remedy = _remedy(analysis, symptom)
    if remedy is not None and remedy.remedy.id not in offered:
        offered.add(remedy.remedy.id)
        show_remedy(remedy, analysis, console, indent="   ")


def _remedy(analysis: Analysis, symptom: Symptom) -> Prescription | None:
    """What answers a finding: of its likeliest causes the first remedy that changes this config, else the
    first step by hand."""
    book = analysis.book
    causes = sorted(book.causes.values(), key=lambda cause: -cause.produces.get(symptom.id, 0.0))
    path = analysis.run.path
    where = targets(analysis.run, analysis.situation, book, Path(path) if path else None)
    able = [
        prescription
        for cause in causes[:3]
        if not cause.benign
        for prescription in fitting(cause.remedies, analysis.situation, book, where, {symptom.id})
        if symptom.id in prescription.remedy.verify.gone
    ]
    return next((one for one in able if one.changes), able[0] if able else None)


def _spoken(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else safe(str(value), 40)
