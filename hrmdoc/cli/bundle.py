"""`hrmdoc bundle PATH`"""

from __future__ import annotations

from pathlib import Path

import click

from hrmdoc.cli.shared.options import metric_roles, note_other_runs, run_options, stated_facts


@click.command("bundle")
@click.argument("path")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The archive to write [default: hrmdoc-bundle.zip].",
)
@click.option(
    "--lines",
    default=400,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Last lines kept of each text log.",
)
@run_options
def command(
    path: str,
    *,
    output: Path | None,
    lines: int,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
) -> int:
    """Collect what a helper needs into one archive: diagnosis, report, versions, configs, last lines. Secrets
    are removed."""
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.reports.bundle import write

    session = AnalysisSession(path, facts=stated_facts(kind, facts), metric_roles=metric_roles(roles))
    session.read([path])
    note_other_runs(session.other_runs)
    analysis = session.diagnose(closed=True)
    target = output or Path("hrmdoc-bundle.zip")
    for name in write(analysis, target, lines):
        click.echo(name)
    if target.suffix != ".zip":
        click.echo(f"{target} is a zip archive, whatever its name says", err=True)
    click.echo(f"written: {target}  (look through it before you send it)", err=True)
    return 0
