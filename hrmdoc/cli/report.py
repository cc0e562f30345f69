"""`hrmdoc report PATH...`"""

from __future__ import annotations

from pathlib import Path

import click

from hrmdoc.cli.options import metric_roles, note_other_runs, run_options, stated_facts
from hrmdoc.errors import InputError, UsageError


@click.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write here: .html or .md. Default: report.html.",
)
@click.option("--one-run", is_flag=True, help="All paths belong to one run.")
@run_options
def command(
    paths: tuple[str, ...],
    *,
    output: Path | None,
    one_run: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
) -> int:
    """Write a reliability review of one or several runs: what happened, why, time lost, what to change.

    The page is self-contained; secrets are removed.
    """
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.reports import review

    analyses = []
    for group in [list(paths)] if one_run else [[path] for path in paths]:
        session = AnalysisSession(group[0], facts=stated_facts(kind, facts), metric_roles=metric_roles(roles))
        try:
            session.read(group)
        except InputError as error:
            if len(paths) == 1 or one_run:
                raise
            click.echo(f"hrmdoc: passed over: {error}", err=True)
            continue
        note_other_runs(session.other_runs)
        analyses.append(session.look(closed=True))
    if not analyses:
        raise InputError("none of the runs could be read")
    target = output or Path("report.html")
    if target.suffix not in (".html", ".htm", ".md", ""):
        raise UsageError(f"--output wants a name that ends in .html or .md, not {target.name!r}")
    text = review.html(analyses) if target.suffix in (".html", ".htm") else review.markdown(analyses)
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write: {error.strerror or error}", file=target) from error
    click.echo(f"written: {target}", err=True)
    return 0
