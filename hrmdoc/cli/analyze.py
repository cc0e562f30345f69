"""`hrmdoc analyze PATH...`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.forms import chosen, format_option, put, results
from hrmdoc.cli.shared.options import (
    answered,
    fail_on_option,
    note_other_runs,
    one_run_option,
    page,
    quiet_option,
    run_options,
    stated,
    status,
)
from hrmdoc.cli.shared.runs import Runs, add_config
from hrmdoc.errors import UsageError
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis


@click.command("analyze")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the diagnosis as JSON (schema hrmdoc.diagnosis/1)."
)
@format_option
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
    form: str | None,
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
    form = chosen(form, json=as_json)
    if restart and form != "text":
        option = "--json" if as_json else f"--format {form}"
        raise UsageError(f"--verdict and {option} exclude each other", hint="hrmdoc verdict --json RUN")
    runs = Runs(paths, one_run=one_run, stated=stated(kind, facts, roles))
    if runs.several:
        if restart or config is not None:
            option = "--verdict" if restart else "--config"
            raise UsageError(f"{option} is about one run", hint="--one-run joins all paths")
        return _several(runs, form, quiet=quiet, fail_on=fail_on)
    session = runs.only()
    if config is not None:
        add_config(session, config)
    note_other_runs("" if quiet else session.other_runs)
    analysis = session.diagnose(closed=True)
    threshold = fail_on or session.settings.fail_on
    code = status(analysis.verdict, threshold)
    if restart:
        from hrmdoc.supervision.verdict import verdict

        found = verdict(analysis)
        code = answered(found.status)
    if form != "text":
        _put(analysis, form, threshold)
    else:
        from hrmdoc.reports.terminal import show

        show(analysis, page(), verbose=verbose, quiet=quiet, config=config)
    if restart:
        click.echo(found.line if quiet else f"\n{found.line}")
    return code


def _put(analysis: Analysis, form: str, threshold: str) -> None:
    """Prints one run for a program."""
    from hrmdoc.reports.as_json import document, dumps

    if form == "json":
        click.echo(dumps(analysis))
    else:
        put(form, results([document(analysis)]), threshold)


def _several(runs: Runs, form: str, *, quiet: bool, fail_on: str | None) -> int:
    """One line a run, or what the format has for it; the exit status is that of the worst."""
    import json

    from hrmdoc.fleet.results import of_summary
    from hrmdoc.reports.as_json import dumps_runs
    from hrmdoc.reports.runs_table import Row, show_runs, worst

    rows, documents, lost = [], [], []
    missing = runs.incomplete
    for group, done in runs.examined("" if form == "text" else "document"):
        found = done.summary
        said = "; ".join(filter(None, (found.headline, found.blame)))
        missing |= bool(found.fault)
        rows.append(Row(group.folder, found.verdict, said, runs.named(group)))
        if done.extra:
            documents.append(json.loads(done.extra))
        elif form != "text":
            lost.append(of_summary(found))
            click.echo(f"hrmdoc: {clean(found.path)}: {found.fault}", err=True)
    threshold = fail_on or (runs.settings.fail_on if runs.settings else "warning")
    verdict = worst(rows, missing=missing)
    code = status(verdict, threshold)
    documents.sort(key=lambda one: str(one["run"]["path"]))
    if form == "json":
        click.echo(dumps_runs(documents))
    elif form != "text":
        put(form, [*results(documents), *lost], threshold)
    else:
        show_runs(rows, verdict, page(), quiet=quiet)
    return code
