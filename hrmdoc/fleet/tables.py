"""A triage as a table on the terminal, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console

from hrmdoc import __version__
from hrmdoc.fleet.results import plain
from hrmdoc.fleet.summary import Summary
from hrmdoc.fleet.triage import Changes, Fleet, Group
from hrmdoc.record.records import Damage
from hrmdoc.reports.ink import Text
from hrmdoc.reports.layout import cell, cut, put, safe, short, typed
from hrmdoc.reports.runs_table import spelt
from hrmdoc.reports.verdict import COLOURS, ICONS, SEVEREST, counted
from hrmdoc.text.clean import duration

SCHEMA = "hrmdoc.triage/1"
ALIKE = 3
"""Runs of one failure mode that are shown; the others are counted."""
NAMED = 4
COLUMNS = (
    "run", "verdict", "headline", "cause", "probability", "step", "since", "first_step", "last_step",
    "planned", "lost_steps", "lost_seconds", "lost_gpu_hours", "failure_mode", "state", "host", "user",
    "framework", "kind",
)  # fmt: skip


def show(fleet: Fleet, console: Console, *, verbose: bool = False, quiet: bool = False) -> None:
    """Prints the runs, the worst first; those that fail alike are folded and healthy ones are counted, unless
    `verbose`. `quiet`: the counts alone."""
    runs = fleet.runs
    if not runs:
        put(console, Text(f"None of {counted(fleet.examined, 'run')} is one of those asked for"))
        return
    counts = Counter(run.verdict for run in runs)
    verdicts = ", ".join(f"{counts[name]:,} {spelt(name).lower()}" for name in SEVEREST if counts[name])
    verdict = worst(runs, fleet.problems)
    lead = Text(f"{ICONS[verdict]} {spelt(verdict)}  ", style=COLOURS[verdict])
    put(console, lead.append(f"{counted(len(runs), 'run')}: {verdicts}", style="not dim bold"))
    if fleet.changes is not None:
        put(console, Text(_changed(fleet.changes)))
    if quiet:
        return
    console.print()
    letters = {group.name: _letter(place) for place, group in enumerate(fleet.failure_modes)}
    names = min(48, max(len(short(run.path)) for run in runs))
    shown: Counter[str] = Counter()
    for run in runs:
        if not verbose and _folded(run, shown):
            continue
        _line(run, letters.get(run.failure_mode, ""), names, console)
    _others(fleet, letters, console, verbose=verbose)
    for separation in fleet.separations:
        put(
            console,
            Text(safe(_in(separation.folder) + separation.said)),
            lead=Text("Separates: ", style="bold"),
        )
    if runs[0].sick and runs[0].path != "-":
        put(
            console,
            Text(f"hrmdoc analyze {typed(runs[0].path)}", style="cyan"),
            lead=Text("Next: ", style="bold"),
        )


def worst(runs: Sequence[Summary], problems: Iterable[Damage] = ()) -> str:
    """The verdict over all; runs without data count where there is no other. What could not be looked into,
    by a row of its own or by the `problems`, may hold the fault that the others have not."""
    judged = [run.verdict for run in runs if run.verdict != "no_data"] or ["no_data"]
    missing = any(run.fault for run in runs) or any(one.incomplete for one in problems)
    return min([*judged, *(["incomplete"] if missing else [])], key=SEVEREST.index)


def _folded(run: Summary, shown: Counter[str]) -> bool:
    """Whether a run is counted rather than shown: a healthy one, or one more of a kind."""
    if run.verdict in ("healthy", "info"):
        return True
    name = run.failure_mode or f"{run.verdict}/{run.headline}"
    shown[name] += 1
    return shown[name] > ALIKE


def _line(run: Summary, letter: str, names: int, console: Console) -> None:
    lead = Text(f"{ICONS[run.verdict]} {spelt(run.verdict):<9} ", style=COLOURS[run.verdict])
    lead.append(f"{letter:<2} ", style="not bold default")
    lead.append(short(run.path).ljust(names) + "  ", style="bold default")
    said = "; ".join(filter(None, (run.headline, run.blame, _cost(run))))
    room = max(24, console.width - lead.cell_len)
    lead.append(cut(said, room) if console.is_terminal else said, style="not bold default")
    console.print(lead, soft_wrap=True)


def _cost(run: Summary) -> str:
    """How far the run came, and what it lost."""
    if not run.sick or run.last_step is None:
        return ""
    of = f" of {run.planned:,}" if run.planned else ""
    lost = [f"{run.account.lost_steps:,} steps"] if run.account.lost_steps else []
    if run.lost_hours:
        lost.append(f"{run.lost_hours:.3g} GPU h")
    elif run.account.lost_seconds >= 1:
        lost.append(duration(run.account.lost_seconds))
    return f"at {run.last_step:,}{of}" + (f", lost {', '.join(lost)}" if lost else "")


def _others(fleet: Fleet, letters: dict[str, str], console: Console, *, verbose: bool) -> None:
    """What the table leaves out, and what the letters stand for."""
    console.print()
    several = [group for group in fleet.failure_modes if len(group.runs) > 1]
    for group in several[:20]:
        more = f", lost {group.lost_steps:,} steps" if group.lost_steps else ""
        more += f" and {group.lost_hours:.3g} GPU h" if group.lost_hours else ""
        body = Text(f"{len(group.runs):,} alike: {group.name}{more}")
        put(console, body, lead=Text(f"{letters[group.name]:<3}", style="bold"))
    rest = len(several) - 20
    if rest > 0:
        put(console, Text(f"and {rest:,} more groups; --json lists all"))
    calm = sum(run.verdict in ("healthy", "info") for run in fleet.runs)
    if calm and not verbose:
        put(console, Text(f"{calm:,} without a fault are not listed; --verbose shows all", style="dim"))


def _letter(place: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    name = ""
    place += 1
    while place:
        place, digit = divmod(place - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def _in(folder: str) -> str:
    return f"in {short(folder)}: " if folder else ""


def _changed(found: Changes) -> str:
    """One line of what is different."""
    parts = [
        f"{len(paths):,} {words}: {_some(paths)}"
        for words, paths in (
            ("newly sick", found.sick),
            ("recovered", found.recovered),
            ("fail in another way", found.otherwise),
            ("can no longer be read", found.unread),
            ("new", found.new),
            ("gone", found.gone),
        )
        if paths
    ]
    ago = duration(max(0.0, time.time() - found.since))
    return f"Since the last triage {ago} ago: {'; '.join(parts) or 'nothing changed'}"


def _some(paths: Sequence[str]) -> str:
    more = " ..." if len(paths) > NAMED else ""
    return ", ".join(short(path) for path in paths[:NAMED]) + more


def show_groups(groups: Sequence[Group], by: str, console: Console) -> None:
    """Prints a line for each group."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(safe(by, 40), overflow="fold")
    for column in ("runs", "sick", "share", "lost steps", "GPU h"):
        table.add_column(column, justify="right")
    table.add_column("most often", overflow="fold")
    for group in groups:
        causes = Counter(run.cause.title for run in group.runs if run.cause is not None)
        most = "".join(f"{title} ({count})" for title, count in causes.most_common(1))
        share = f"{group.sick / len(group.runs):.0%}"
        numbers = (f"{len(group.runs):,}", f"{group.sick:,}", share, f"{group.lost_steps:,}")
        hours = f"{group.lost_hours:.3g}" if group.lost_hours else ""
        table.add_row(safe(group.name, 60), *numbers, hours, most)
    console.print(table)


def as_json(fleet: Fleet, groups: Sequence[Group], by: str) -> str:
    """Everything as JSON, schema `hrmdoc.triage/1`; `groups` are what was asked for by `--group-by`."""
    changes = fleet.changes
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "runs": [plain(run) for run in fleet.runs],
        "failure_modes": [_group(group) for group in fleet.failure_modes],
        "separations": [msgspec.to_builtins(one) for one in fleet.separations],
        "changes": None if changes is None else {name: getattr(changes, name) for name in _CHANGES},
        "groups": {"by": by, "groups": [_group(group) for group in groups]} if by else None,
        "passed_over": [{"file": safe(one.file), "what": safe(one.what)} for one in fleet.problems],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


_CHANGES = ("since", "new", "gone", "sick", "recovered", "otherwise", "unread")


def _group(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "runs": [run.path for run in group.runs],
        "sick": group.sick,
        "lost_steps": group.lost_steps,
        "lost_gpu_hours": group.lost_hours,
    }


def as_csv(runs: Sequence[Summary]) -> str:
    """A row for each run. A cell that a spreadsheet would take for a formula is led by an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in runs:
        writer.writerow([_cell(value) for value in _cells(run)])
    return out.getvalue()


def groups_as_csv(groups: Sequence[Group], by: str) -> str:
    """A row for each group."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(by), "runs", "sick", "lost_steps", "lost_gpu_hours"])
    for one in groups:
        row = (one.name, len(one.runs), one.sick, one.lost_steps, one.lost_hours)
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cells(run: Summary) -> Iterator[object]:
    cause = run.cause
    yield from (run.path, run.verdict, run.headline)
    yield from (None, None) if cause is None else (cause.cause, cause.probability)
    yield from (run.step, run.since, run.first_step, run.last_step, run.planned)
    timed = run.account.duration is not None
    yield from (run.account.lost_steps, run.account.lost_seconds if timed else None, run.lost_hours)
    yield from (run.failure_mode, run.state, run.host, run.user, run.framework, run.kind)


def _cell(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else ""
    if isinstance(value, str):
        return cell(safe(value))
    return "" if value is None else value
