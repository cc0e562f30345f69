"""`hrmdoc preflight [CONFIG...]`"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hrmdoc.cli.shared.forms import chosen, format_option, put, results
from hrmdoc.cli.shared.options import answered, console, fail_on_option, stated_facts, status, worst
from hrmdoc.errors import InputError, UsageError
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis


@click.command("preflight")
@click.argument("configs", nargs=-1, metavar="[CONFIG]...")
@click.option("--data", metavar="PATH", help="The data [default: what the config names].")
@click.option("--elsewhere", is_flag=True, help="It will run on another machine: do not look at this one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema hrmdoc.diagnosis/1).")
@format_option
@click.option("-v", "--verbose", is_flag=True, help="Name the checks that could not be made, too.")
@click.option("--kind", help="State the run kind: pretraining, sft, preference, rl, hrm, classification, ...")
@click.option(
    "--fact",
    "facts",
    multiple=True,
    metavar="KEY=VALUE",
    help="State a fact, such as model.parameters=7000000000.",
)
@fail_on_option
def command(
    configs: tuple[str, ...],
    *,
    data: str | None,
    elsewhere: bool,
    as_json: bool,
    form: str | None,
    verbose: bool,
    kind: str | None,
    facts: tuple[str, ...],
    fail_on: str | None,
) -> int:
    """Check machine, config and data before training starts. Without CONFIG only the machine is looked at.

    CONFIG is a YAML, JSON or Python file, or a file of key=value words; several are checked each by itself.
    Nothing of yours is imported or run.
    """
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.preflight import preflight

    form = chosen(form, json=as_json)
    if elsewhere and not configs:
        raise UsageError("--elsewhere without a config leaves nothing to look at")
    stated, threshold = stated_facts(kind, facts), "warning"
    analyses: list[Analysis] = []
    unread: list[InputError] = []
    for config in configs or (None,):
        session = AnalysisSession(config or "", facts=stated)
        threshold = fail_on or session.settings.fail_on
        try:
            session.run.extend(preflight(config, data, elsewhere=elsewhere, book=session.book))
        except InputError as error:
            if len(configs) < 2 and form == "text":
                raise
            click.echo(f"hrmdoc: {clean(str(error), 2000)}", err=True)
            unread.append(error)
            if form == "json":
                session.note_nothing_read(error)
                analyses.append(session.diagnose(closed=True, prescriptions=False))
            continue
        analyses.append(session.checks())
    verdicts = [one.verdict for one in analyses] + ["no_data"] * len(unread)
    code = 2 if unread else status(worst(verdicts), threshold)
    _print(analyses, unread, form, threshold, verbose=verbose)
    return answered(code)


def _print(
    analyses: Sequence[Analysis], unread: Sequence[InputError], form: str, threshold: str, *, verbose: bool
) -> None:
    if form == "text":
        from hrmdoc.reports.checklist import show

        for number, analysis in enumerate(analyses):
            if number:
                click.echo()
            show(analysis, console(), verbose=verbose)
        return
    from hrmdoc.reports.as_json import document, dumps, dumps_runs
    from hrmdoc.reports.formats.result import not_read

    documents: list[dict[str, Any]] = [document(one) for one in analyses]
    if form != "json":
        put(form, [*results(documents), *map(not_read, unread)], threshold)
    else:
        click.echo(dumps(analyses[0]) if len(analyses) == 1 else dumps_runs(documents))
