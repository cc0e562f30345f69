"""Several runs on the terminal: one line a run, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hrmdoc.reports.ink import Surface, Text
from hrmdoc.reports.layout import cut, put, short, typed
from hrmdoc.reports.verdict import COLOURS, ICONS, SEVEREST


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `named`: the user named it, not only a folder that it lies in."""

    path: str
    verdict: str
    said: str
    named: bool


def worst(rows: Sequence[Row], *, missing: bool = False) -> str:
    """The verdict over several runs. One without data counts where the user named it, or where no other has
    any: a folder may hold a note beside its runs. `missing`: not all could be looked into, which may hold the
    fault that the others have not."""
    counted = [row.verdict for row in rows if row.named or row.verdict != "no_data"] or ["no_data"]
    return min([*counted, *(["incomplete"] if missing else [])], key=SEVEREST.index)


def show_runs(rows: Sequence[Row], verdict: str, console: Surface, *, quiet: bool = False) -> None:
    """Prints the table, with the verdict over all at both ends; `quiet`: that verdict alone."""
    ranked = sorted(rows, key=lambda one: (SEVEREST.index(one.verdict), one.path))
    counts = Counter(one.verdict for one in rows)
    verdicts = ", ".join(f"{counts[name]} {spelt(name).lower()}" for name in SEVEREST if counts[name])
    headline = Text(f"{ICONS[verdict]} {spelt(verdict)}  ", style=COLOURS[verdict])
    headline.append(f"{len(rows)} runs: {verdicts}", style="not dim bold")
    put(console, headline)
    if quiet:
        return
    console.print()
    names = max(len(short(one.path)) for one in rows)
    for one in ranked:
        lead = Text(f"{ICONS[one.verdict]} {spelt(one.verdict):<9} ", style=COLOURS[one.verdict])
        lead.append(short(one.path).ljust(names) + "  ", style="bold default")
        room = max(24, console.width - lead.cell_len)
        said = cut(one.said, room) if console.is_terminal else one.said
        console.print(lead.append(said, style="not bold default"), soft_wrap=True)
    console.print()
    lead = Text("Next: ", style="bold")
    put(console, Text(f"hrmdoc analyze {typed(ranked[0].path)}", style="cyan"), lead=lead)
    if console.is_terminal:
        put(console, headline)


def spelt(verdict: str) -> str:
    """The verdict as people read it."""
    return verdict.replace("_", " ").upper()
