"""`hrmdoc report PATH...`"""

from __future__ import annotations

from pathlib import Path

import click

from hrmdoc.cli.shared.options import note_other_runs, one_run_option, run_options, stated
from hrmdoc.cli.shared.runs import Runs
from hrmdoc.errors import UsageError


@click.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write here: .html or .md. Default: report.html.",
)
@one_run_option
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
    from hrmdoc.reports import review

    runs = Runs(paths, one_run=one_run, stated=stated(kind, facts, roles))
    analyses = []
    for session in runs.readable():
        note_other_runs(session.other_runs)
        analyses.append(session.look(closed=True))
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
