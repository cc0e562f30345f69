"""`hrmdoc triage PATH...`"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.fleet import fleet_options, named
from hrmdoc.cli.shared.forms import chosen, format_option, put
from hrmdoc.cli.shared.options import console, fail_on_option, quiet_option, run_options, stated, status
from hrmdoc.errors import UsageError
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from hrmdoc.settings import Settings

_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
VERDICTS = ("critical", "warning", "no_data", "incomplete", "info", "healthy")


@click.command("triage")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema hrmdoc.triage/1).")
@format_option
@click.option("--csv", "as_csv", is_flag=True, help="Print a row for each run, or group, as CSV.")
@click.option("--group-by", "by", metavar="KEY", help="Sum up by cause, host, user, framework, or a setting.")
@click.option("--verdict", "verdicts", multiple=True, type=click.Choice(VERDICTS), help="Show these alone.")
@click.option("--cause", "causes", multiple=True, metavar="CAUSE", help="Show runs with this leading cause.")
@click.option("--since", metavar="WHEN", help="Only runs written since: 12h, 2d, 1w, 2027-01-31.")
@click.option("-v", "--verbose", is_flag=True, help="Show every run, healthy and alike ones too.")
@quiet_option
@fleet_options
@run_options
@fail_on_option
def command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    form: str | None,
    as_csv: bool,
    by: str | None,
    verdicts: tuple[str, ...],
    causes: tuple[str, ...],
    since: str | None,
    verbose: bool,
    quiet: bool,
    engine: str,
    jobs: int | None,
    fresh: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
    fail_on: str | None,
) -> int:
    """Examine many runs and show which are sick, why, since when, and what they cost; the worst first.

    PATH is a folder of runs, a pattern, or a place in object storage (s3://, gs://, hf://). Runs that fail in
    the same way share a letter. Where a setting separates sick runs from healthy ones by more than chance, it
    is named. What was found is kept: a second call examines what changed since.
    """
    from hrmdoc import settings as own_settings
    from hrmdoc.cli.shared.options import progress
    from hrmdoc.fleet import tables
    from hrmdoc.fleet.store import Store
    from hrmdoc.fleet.triage import Asked, Triage, grouped
    from hrmdoc.fleet.work import Request

    form = chosen(form, json=as_json, csv=as_csv)
    if by and form not in ("text", "json", "csv"):
        raise UsageError(f"--group-by goes with the table, --json and --csv, not with --format {form}")
    settings = own_settings.load(Path.cwd())
    asked = Asked(verdicts, _meant(causes, settings), _moment(since))
    request = Request(settings, stated(kind, facts, roles), "", os.getcwd())
    store = Store(kept=not fresh)
    with ExitStack() as stack:
        stack.callback(store.close)

        def counted(total: int) -> Callable[[str], None]:
            return stack.enter_context(progress("examined", total))

        triage = Triage(paths, request, store, engine=named(engine), jobs=jobs)
        fleet = triage.run(asked, counted)
    for problem in fleet.problems:
        click.echo(f"hrmdoc: passed over: {clean(problem.file)}: {clean(problem.what)}", err=True)
    groups = grouped(fleet.runs, by) if by else []
    threshold = fail_on or settings.fail_on
    code = status(tables.worst(fleet.runs, fleet.problems), threshold) if fleet.runs else 0
    if form == "json":
        click.echo(tables.as_json(fleet, groups, by or ""))
    elif form == "csv":
        click.echo(tables.groups_as_csv(groups, by) if by else tables.as_csv(fleet.runs), nl=False)
    elif form != "text":
        from hrmdoc.fleet.results import of_summary

        put(form, [of_summary(run) for run in fleet.runs], threshold)
    elif by:
        tables.show_groups(groups, by, console())
    else:
        tables.show(fleet, console(), verbose=verbose, quiet=quiet)
    return code


def _moment(text: str | None) -> float:
    """A time span before now, or a date, as Unix seconds.

    Raises:
        UsageError: it is neither.
    """
    if text is None:
        return float("-inf")
    if text[-1:] in _UNITS and text[:-1].replace(".", "", 1).isdigit():
        return time.time() - float(text[:-1]) * _UNITS[text[-1]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise UsageError(f"--since wants 12h, 2d, 1w or a date such as 2027-01-31, not {text!r}") from error


def _meant(causes: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """The causes that are named, under their present ids; rules are loaded where there are any."""
    if not causes:
        return ()
    from hrmdoc import rulebook

    book = rulebook.load(Path(folder) for folder in settings.rules)
    return tuple(one for name in causes for one in rulebook.named(name, "cause", book, book.causes))
