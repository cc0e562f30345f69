"""`hrmdoc analyze PATH...`"""

from __future__ import annotations

import click

from hrmdoc.cli.options import (
    console,
    fail_on_option,
    metric_roles,
    note_other_runs,
    run_options,
    stated_facts,
    status,
)


@click.command("analyze")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the diagnosis as JSON (schema hrmdoc.diagnosis/1)."
)
@click.option("-v", "--verbose", is_flag=True, help="Show every symptom, cause and unread place.")
@run_options
@fail_on_option
def command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    verbose: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
    fail_on: str | None,
) -> int:
    """Examine a run that has ended, or as it stands.

    PATH is a log, an event file, a run folder, `-` for standard input, or several of them that belong to one
    run. Of a database the newest run is read, or the one that is named behind it: `mlflow.db#first-try`.
    """
    from hrmdoc.analysis import AnalysisSession

    session = AnalysisSession(paths[0], facts=stated_facts(kind, facts), metric_roles=metric_roles(roles))
    session.try_to_read(paths)
    note_other_runs(session.other_runs)
    analysis = session.look(closed=True)
    if as_json:
        from hrmdoc.reports.as_json import dumps

        click.echo(dumps(analysis))
    else:
        from hrmdoc.reports.terminal import show

        show(analysis, console(), verbose=verbose)
    return status(analysis.verdict, fail_on or session.settings.fail_on)
