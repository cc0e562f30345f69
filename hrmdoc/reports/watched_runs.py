"""Runs that are watched together as a table, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from hrmdoc.reports.layout import cut, safe
from hrmdoc.reports.verdict import COLOURS, ICONS, PROBABLE, SEVEREST, SICK

if TYPE_CHECKING:
    from rich.console import Console

    from hrmdoc.live.many.entry import Entry

MOST = 200
"""Rows in all; every sick run is shown."""
NAMED = 3


def show_runs(entries: Sequence[Entry], console: Console) -> None:
    """Prints the table, and in a line how many runs stand how."""
    shown = [one for one in entries if one.state not in ("elsewhere", "old")]
    ranked = sorted(shown, key=lambda one: (SEVEREST.index(one.severity), one.name))
    sick = sum(one.severity in SICK for one in ranked)
    rows = ranked[: max(MOST, sick)]
    if rows:
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("run", overflow="fold", ratio=3)
        table.add_column("verdict", no_wrap=True)
        table.add_column("step", justify="right", no_wrap=True)
        table.add_column("state", no_wrap=True)
        table.add_column("open, and the first cause", overflow="fold", ratio=4)
        for entry in rows:
            table.add_row(*_row(entry))
        console.print(table)
    if len(ranked) > len(rows):
        console.print(f"and {len(ranked) - len(rows):,} more runs without a finding", style="dim")
    console.print(summed_up(entries), style="dim")


def summed_up(entries: Sequence[Entry]) -> str:
    """How many runs stand how: `1,000 runs: 3 critical, 12 warning, 985 healthy; 950 running, 50 ended`."""
    mine = [one for one in entries if one.state not in ("elsewhere", "old")]
    verdicts = Counter(one.severity for one in mine if one.state != "new")
    states = Counter(one.state for one in mine)
    words = ", ".join(f"{verdicts[name]:,} {name.replace('_', ' ')}" for name in SEVEREST if verdicts[name])
    stand = ", ".join(f"{number:,} {state}" for state, number in states.most_common())
    said = f"{len(mine):,} {'run' if len(mine) == 1 else 'runs'}"
    parts = [": ".join(filter(None, (said, words))), stand]
    elsewhere = sum(one.state == "elsewhere" for one in entries)
    old = sum(one.state == "old" for one in entries)
    parts.append(f"{elsewhere:,} followed by another watcher" if elsewhere else "")
    parts.append(f"{old:,} not written for a day (hrmdoc triage examines them)" if old else "")
    return "; ".join(filter(None, parts))


def _row(entry: Entry) -> tuple[Text, ...]:
    severity = entry.severity
    verdict = "" if entry.state == "new" else f"{ICONS[severity]} {severity.replace('_', ' ')}"
    found = [one.symptom for one in sorted(entry.open, key=lambda one: one.severity != "critical")]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    words = ", ".join(found[:NAMED]) + more
    if entry.cause not in ("", "unknown") and entry.probability >= PROBABLE and severity in SICK:
        words += f"{'; ' if words else ''}{entry.cause} ({entry.probability:.0%})"
    return (
        Text(safe(entry.name)),
        Text(verdict, style=COLOURS[severity]),
        Text("" if entry.step is None else f"{entry.step:,}"),
        Text(entry.state),
        Text(cut(safe(entry.why), 200) if entry.why else words),
    )
