"""`hrmdoc analyze PATH...`"""

from __future__ import annotations

import json
from pathlib import Path

import click

from hrmdoc.cli.shared.options import (
    answered,
    console,
    fail_on_option,
    note_other_runs,
    one_run_option,
    quiet_option,
    run_options,
    stated,
    status,
)
from hrmdoc.cli.shared.runs import Runs, add_config
from hrmdoc.errors import UsageError
from hrmdoc.text.clean import clean


@click.command("analyze")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the diagnosis as JSON (schema hrmdoc.diagnosis/1)."
)
@click.option("-v", "--verbose", is_flag=True, help="Show every symptom, cause and unread place.")
@click.option(
    "--verdict", "restart", is_flag=True, help="Add whether to start it again; exit as `hrmdoc verdict` does."
)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The config of the run, where it lies elsewhere.",
)
@quiet_option
@one_run_option
@run_options
@fail_on_option
def command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    verbose: bool,
    restart: bool,
    config: Path | None,
    quiet: bool,
    one_run: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
    fail_on: str | None,
) -> int:
    """Examine a run that has ended, or as it stands; of several runs, each in a line, the worst first.

    PATH is a log, an event file, a run folder, or `-` for standard input. A folder of runs, a database of
    runs and several paths are several runs, unless their names say that they are parts of one, such as the
    logs of its ranks; `--one-run` joins them all. A run inside a database is named behind it:
    `mlflow.db#first-try`.
    """
    if restart and as_json:
        raise UsageError("--verdict and --json exclude each other", hint="hrmdoc verdict --json RUN")
    runs = Runs(paths, one_run=one_run, stated=stated(kind, facts, roles))
    if runs.several:
        if restart or config is not None:
            option = "--verdict" if restart else "--config"
            raise UsageError(f"{option} is about one run", hint="--one-run joins all paths")
        return _several(runs, as_json=as_json, quiet=quiet, fail_on=fail_on)
    session = runs.only()
    if config is not None:
        add_config(session, config)
    note_other_runs("" if quiet else session.other_runs)
    analysis = session.look(closed=True)
    code = status(analysis.verdict, fail_on or session.settings.fail_on)
    if restart:
        from hrmdoc.supervision.verdict import verdict

        found = verdict(analysis)
        code = answered(found.status)
    if as_json:
        from hrmdoc.reports.as_json import dumps

        click.echo(dumps(analysis))
    else:
        from hrmdoc.reports.terminal import show

        show(analysis, console(), verbose=verbose, quiet=quiet, config=config)
    if restart:
        click.echo(found.line if quiet else f"\n{found.line}")
    return code


def _several(runs: Runs, *, as_json: bool, quiet: bool, fail_on: str | None) -> int:
    """One line a run, or one JSON document a run in the list `runs`; the exit status is that of the worst."""
    from hrmdoc.reports.as_json import dumps_runs
    from hrmdoc.reports.runs_table import Row, show_runs, worst

    rows, documents = [], []
    for group, done in runs.examined("document" if as_json else ""):
        found = done.summary
        said = "; ".join(filter(None, (found.headline, found.blame)))
        rows.append(Row(group.folder, found.verdict, said, runs.named(group)))
        if done.extra:
            documents.append(json.loads(done.extra))
        elif as_json:
            click.echo(f"hrmdoc: {clean(found.path)}: {found.fault}", err=True)
    threshold = fail_on or (runs.settings.fail_on if runs.settings else "warning")
    code = status(worst(rows), threshold)
    if as_json:
        click.echo(dumps_runs(sorted(documents, key=lambda one: str(one["run"]["path"]))))
    else:
        show_runs(rows, console(), quiet=quiet)
    return code
