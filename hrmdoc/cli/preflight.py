"""`hrmdoc preflight [CONFIG]`"""

from __future__ import annotations

import click

from hrmdoc.cli.shared.options import console, fail_on_option, stated_facts, status


@click.command("preflight")
@click.argument("config", required=False)
@click.option("--data", metavar="PATH", help="The data [default: what the config names].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema hrmdoc.diagnosis/1).")
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
    config: str | None,
    *,
    data: str | None,
    as_json: bool,
    verbose: bool,
    kind: str | None,
    facts: tuple[str, ...],
    fail_on: str | None,
) -> int:
    """Check machine, config and data before training starts. Without CONFIG only the machine is looked at.

    CONFIG is a YAML, JSON or Python file, or a file of key=value words. Nothing of yours is imported or run.
    """
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.preflight import preflight

    session = AnalysisSession(config or "", facts=stated_facts(kind, facts))
    session.run.extend(preflight(config, data))
    analysis = session.checks()
    code = status(analysis.verdict, fail_on or session.settings.fail_on)
    if as_json:
        from hrmdoc.reports.as_json import dumps

        click.echo(dumps(analysis))
    else:
        from hrmdoc.reports.checklist import show

        show(analysis, console(), verbose=verbose)
    return code
