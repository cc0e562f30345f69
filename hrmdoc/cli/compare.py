"""`hrmdoc compare SICK HEALTHY`"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hrmdoc.cli.shared.options import console, note_other_runs, run_options, stated

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.reports.compare import Comparison


@click.command("compare")
@click.argument("sick")
@click.argument("healthy")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@run_options
def command(
    sick: str,
    healthy: str,
    *,
    as_json: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
) -> int:
    """Tell what differs between a SICK and a HEALTHY run: config, environment, and the first step where
    curves part."""
    from hrmdoc.reports.compare import compare

    known = stated(kind, facts, roles)
    found = compare(_examined(sick, known), _examined(healthy, known))
    if as_json:
        from hrmdoc.reports.as_json import plain

        click.echo(
            json.dumps(
                {"schema": "hrmdoc.comparison/1", **plain(asdict(found))}, indent=2, ensure_ascii=False
            )
        )
    else:
        _show(found)
    return 0


def _examined(path: str, known: Mapping[str, Any]) -> Analysis:
    """One of the two; of a folder of runs the newest, and the others are named."""
    from hrmdoc.analysis import AnalysisSession

    session = AnalysisSession(path, **known)
    session.read([path])
    note_other_runs(session.other_runs)
    return session.diagnose(closed=True)


def _show(found: Comparison) -> None:
    from rich.table import Table
    from rich.text import Text

    from hrmdoc.reports.layout import safe

    out = console()
    first = found.first_parting
    if first is None:
        out.print(Text("no shared metric parts for good", style="bold"))
    else:
        parting = (
            f"{first.role} parts first, at step {first.step}: {first.sick:.4g} against {first.healthy:.4g}"
        )
        out.print(Text(parting, style="bold").append(f"  (noise {first.noise:.2g})", style="dim"))
    for one in found.partings:
        if one.step is not None and one is not first:
            out.print(Text(f"  {one.role} from step {one.step}: {one.sick:.4g} against {one.healthy:.4g}"))
    if found.only_sick:
        out.print(Text("only the first run shows: ", style="bold").append(", ".join(found.only_sick)))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "key", "first run", "second run"):
        table.add_column(column, overflow="fold")
    for difference in found.differences:
        table.add_row(
            difference.section,
            safe(difference.key, 80),
            safe(str(difference.sick), 80),
            safe(str(difference.healthy), 80),
        )
    if found.differences:
        out.print(table)
    else:
        out.print(Text("no fact that both runs state differs", style="dim"))
