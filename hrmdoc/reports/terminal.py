"""An analysis on the terminal: the verdict, the curves with marked steps, what was found, the ranked causes,
what to type next.

All text from the run passes through `clean` and `redact`, and is never read as markup.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hrmdoc.analysis import Analysis
from hrmdoc.diagnosis.hypotheses import chance
from hrmdoc.examination.symptom import Symptom
from hrmdoc.reports.ink import Surface, Text
from hrmdoc.reports.layout import cut, place, put, safe, short, typed, width
from hrmdoc.reports.terminal_curves import show_curves
from hrmdoc.reports.verdict import (
    COLOURS,
    ICONS,
    PROBABLE,
    SICK,
    blame,
    checked,
    counted,
    likely,
    of_ranks,
    only_settings,
    sentence,
)

if TYPE_CHECKING:
    from hrmdoc.live.incidents import Incident
    from hrmdoc.live.taken import TakenAction

SYMPTOMS = 10
KINDS = {"rl.": "rl", "act.": "hrm", "dpo.": "preference"}
"""Metrics that only runs of one kind have; other runs do not miss them."""


def show(
    analysis: Analysis,
    console: Surface,
    *,
    verbose: bool = False,
    quiet: bool = False,
    config: Path | None = None,
) -> None:
    """Prints the whole analysis: the verdict first, and on a terminal, where the first lines scroll away, at
    the end too; `quiet`: the verdict alone; `config`: what the user named as such, which further commands
    need as well."""
    _verdict(analysis, console)
    if quiet:
        return
    _headline(analysis, console)
    show_curves(analysis, console)
    _symptoms(analysis, console, verbose=verbose)
    if analysis.verdict in SICK or verbose:
        from hrmdoc.reports.terminal_causes import show_causes

        show_causes(analysis, console, verbose=verbose)
    _coverage(analysis, console, verbose=verbose)
    _next(analysis, console, config)
    if console.is_terminal:
        console.print()
        put(console, Text(sentence(analysis), style="bold"), lead=_mark(analysis))


def show_incident(incident: Incident, console: Surface, run: str = "") -> None:
    """Prints one incident as `watch` reports it; `run`: its name, where several are watched."""
    over = incident.change == "resolved"
    icon, colour = ("✓", "green") if over else (ICONS[incident.severity], COLOURS[incident.severity])
    at = time.strftime("%H:%M:%S", time.localtime(incident.at))
    lead = Text(f"{at}  ", style="dim").append(f"{icon} {incident.change:<9}", style=colour)
    body = Text(f"{safe(run)}: " if run else "").append(incident.symptom, style="bold")
    body.append("" if incident.step is None else f" at step {incident.step}", style="not bold")
    if not over:
        body.append(f": {cut(safe(incident.evidence or incident.title), 200)}", style="not bold")
    if incident.cause not in ("", "unknown") and incident.probability >= PROBABLE and not over:
        guess = f"; {chance(incident.probability)} {incident.cause} ({incident.probability:.0%})"
        body.append(guess, style="not bold dim")
    put(console, body, lead=lead)


def show_action(action: TakenAction, console: Surface, run: str = "") -> None:
    """Prints what was done to a run, and what became of it, as `watch --act` reports it; `run`: which of
    several."""
    went = action.status in ("done", "written", "helped")
    icon, colour = ("✓", "green") if went else ("!", "yellow")
    at = time.strftime("%H:%M:%S", time.localtime(action.at))
    lead = Text(f"{at}  ", style="dim").append(f"{icon} {action.status:<11}", style=colour)
    body = Text(f"{safe(run)}: {action.remedy}" if run else action.remedy, style="bold").append(
        f": {safe(action.what)}, for {action.reason}", style="not bold"
    )
    body.append("" if action.step is None else f", at step {action.step}", style="not bold")
    body.append(f": {safe(action.why)}" if action.why else "", style="not bold")
    if action.status == "written":
        back = "; ".join(f"hrmdoc apply {typed(file)} --undo" for file in action.files)
        body.append(f"; to take it back: {back}", style="not bold dim")
    elif action.gone and action.status in ("helped", "ineffective"):
        verb = "is" if len(action.gone) == 1 else "are"
        body.append(
            f"; {', '.join(action.gone)} {verb} {'over' if went else 'not over'}", style="not bold dim"
        )
    put(console, body, lead=lead)


def _headline(analysis: Analysis, console: Surface) -> None:
    run, situation = analysis.run, analysis.situation
    parts = [name for name in dict.fromkeys((situation.framework, situation.kind)) if name != "unknown"]
    series = run.best("train.loss")
    if series is not None:
        unit = {"index": "point", "epoch": "epoch", "sample": "sample"}.get(series.axis, "step")
        first, last = int(series.steps.min()), int(series.steps.max())
        parts.append(f"{unit} {first}" if first == last else f"{unit}s {first}–{last}")
    parts += [counted(run.points, "value")] if run.points else []
    parts += [counted(run.line_count, "line")] if run.line_count else []
    parts += [f"{len(run.ranks)} ranks"] if len(run.ranks) > 1 else []
    parts += [analysis.state] if analysis.state != "unknown" else []
    console.print()
    name = Text(short(run.path) if run.path != "-" else "standard input", style="bold")
    put(console, name.append(f"  {' · '.join(parts)}" if parts else "", style="not bold dim"))


def _mark(analysis: Analysis) -> Text:
    verdict = analysis.verdict
    return Text(f"{ICONS[verdict]} {verdict.replace('_', ' ').upper()}  ", style=COLOURS[verdict])


def _verdict(analysis: Analysis, console: Surface) -> None:
    lead = _mark(analysis)
    put(console, Text(sentence(analysis), style="bold"), lead=lead)
    for said in filter(None, (blame(analysis), of_ranks(analysis))):
        put(console, Text(said), lead=" " * lead.cell_len)
    if analysis.unread and analysis.verdict in SICK:
        put(console, Text("part of the evidence could not be read; see below"), lead=" " * lead.cell_len)
    for note in analysis.notes:
        put(console, Text(safe(note)), lead=Text("Note: ", style="yellow"))


def _told(analysis: Analysis) -> set[str]:
    """The symptoms that are shown even where they are information: those that the leading causes cite, and
    what says of which run all else is said."""
    cited = {e.symptom for h in likely(analysis)[:2] for e in (*h.for_[:4], *h.against[:3])}
    return cited | {rule.id for rule in analysis.book.symptoms.values() if rule.scope}


def _symptoms(analysis: Analysis, console: Surface, *, verbose: bool) -> None:
    told = _told(analysis)
    shown = [s for s in analysis.present if analysis.severity(s) != "info" or s.id in told]
    if verbose:
        shown = analysis.present
    elif analysis.verdict not in SICK:
        shown = analysis.findings
    if not shown:
        return
    console.print(Text("\nWhat shows", style="bold"))
    for symptom in shown if verbose else shown[:SYMPTOMS]:
        put(
            console,
            _found(symptom, width(console), verbose=verbose),
            lead=_bullet(analysis.severity(symptom)),
        )
        if symptom.id in analysis.acknowledged:
            put(
                console,
                Text(f"acknowledged: {safe(analysis.acknowledged[symptom.id])}", style="dim"),
                lead="   ",
            )
    if not verbose and len(shown) > SYMPTOMS:
        console.print(Text(f"   and {len(shown) - SYMPTOMS} more (--verbose)", style="dim"))


def _bullet(severity: str) -> Text:
    return Text(f" {ICONS[severity]} ", style=COLOURS[severity])


def _found(symptom: Symptom, room: int, *, verbose: bool) -> Text:
    said = safe(symptom.evidence or symptom.title)
    headline = Text(symptom.id, style="bold").append(
        f"  {said if verbose else cut(said, 2 * room - 40)}", style="not bold"
    )
    if symptom.state == "resolved":
        headline.append("  (over)", style="not bold dim")
    where = place(symptom.file, symptom.line)
    if not where and symptom.first_step is not None and symptom.unit not in said:
        where = f"from {symptom.unit} {symptom.first_step}"
    return headline.append(f"  {where}", style="not bold dim") if where else headline


def _needs(analysis: Analysis, missing: Sequence[Symptom]) -> str:
    """How many rules lack something, and what most of them lack."""
    other = tuple(prefix for prefix, kind in KINDS.items() if kind != analysis.situation.kind)
    every = (name for symptom in missing for name in symptom.missing)
    passed = ("run.", "config.", *other)  # what a run tells of itself is nothing that it could log besides
    wanted = Counter(name for name in every if " " not in name and not name.startswith(passed))
    most = ", ".join(name for name, _ in wanted.most_common(5))
    rules = counted(len(missing), "more rule needs", "more rules need")
    return f"{rules} what this run does not log" + (f": {most}, …" if most else "")


def _coverage(analysis: Analysis, console: Surface, *, verbose: bool) -> None:
    """What was checked and what could not be: silence is no health."""
    console.print()
    if analysis.verdict == "healthy":
        put(console, Text(", ".join(checked(analysis)), style="dim"), lead=Text("Checked: ", style="dim"))
    missing = [s for s in analysis.not_evaluated if not any("another kind" in name for name in s.missing)]
    if missing and analysis.verdict != "no_data":
        headline = _needs(analysis, missing)
        put(console, Text(headline, style="dim"))
    if verbose:
        for symptom in missing:
            lead = Text(f"   {symptom.id:<32}  ", style="dim")
            put(console, Text(", ".join(map(safe, symptom.missing)), style="dim"), lead=lead)
    _damages(analysis, console, verbose=verbose)


def _damages(analysis: Analysis, console: Surface, *, verbose: bool) -> None:
    """What could not be read, and where; not again what the headline says."""
    told = analysis.verdict == "no_data" and sentence(analysis).startswith("nothing could be read: ")
    every = analysis.run.damages[1:] if told else analysis.run.damages
    damages = every if verbose else every[:3]
    for damage in damages:
        put(
            console,
            Text(f"{place(damage.file, damage.line)}: {safe(damage.what)}"),
            lead=Text("Not read: ", style="magenta"),
        )
    if len(damages) < len(every):
        put(
            console,
            Text(f"… and {len(every) - len(damages)} more places (--verbose)", style="magenta"),
        )


def _commands(analysis: Analysis, config: Path | None) -> Iterator[tuple[str, str]]:
    """What to type next, and what it does."""
    path, named = typed(analysis.run.path), analysis.run.path != "-"
    leading = next((h for h in likely(analysis) if not h.benign and h.cause != "unknown"), None)
    if named and any(one.changes for offered in analysis.prescriptions.values() for one in offered):
        named_config = "" if config is None else f" --config {typed(str(config))}"
        yield f"hrmdoc apply {path}{named_config}", "shows the patch; --write writes it"
    if leading is not None:
        yield f"hrmdoc explain {leading.cause}", "what it is, how to make sure"
    if named:
        yield f"hrmdoc report {path}", "a page to keep or to send"


def _next(analysis: Analysis, console: Surface, config: Path | None) -> None:
    """What to find out and what to type."""
    if analysis.verdict == "no_data":
        command = (
            f"hrmdoc preflight {typed(analysis.run.path)}" if only_settings(analysis) else "hrmdoc formats"
        )
        what = "checks them" if only_settings(analysis) else "lists what can be read"
        put(console, Text(f"{command}   {what}"), lead=Text("Next: ", style="bold"))
    if analysis.verdict not in SICK:
        return
    if analysis.diagnosis.next_check:
        put(console, Text(safe(analysis.diagnosis.next_check, 600)), lead=Text("To be sure: ", style="bold"))
    commands = list(_commands(analysis, config))
    wide = max((len(command) for command, _ in commands), default=0)
    lead = "Next: "
    for command, what in commands:
        fits = len(lead) + wide + 3 + len(what) <= width(console)
        line = Text(lead, style="bold").append(
            command.ljust(wide) if fits else command, style="not bold cyan"
        )
        console.print(line.append(f"   {what}", style="not bold dim") if fits else line, soft_wrap=True)
        lead = " " * len(lead)
