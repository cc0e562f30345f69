"""`hrmdoc report PATH...`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.options import note_other_runs, one_run_option, run_options, stated
from hrmdoc.cli.shared.runs import Runs
from hrmdoc.errors import InputError, UsageError
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from hrmdoc.fleet.work import Done, Extra

ENDINGS = (".html", ".htm", ".md", ".json", ".pdf", "")
FEW = 12
"""Runs that are held together in memory, so that each can be laid over another."""


@click.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write here: .html, .md, .json or .pdf. Default: report.html.",
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

    Of several runs: ETTR, goodput, MTBF and MTTR, what was lost to which cause, and what to do first. The
    page is self-contained; secrets are removed.
    """
    target = output or Path("report.html")
    if target.suffix not in ENDINGS:
        raise UsageError(f"--output wants a name that ends in .html, .md, .json or .pdf, not {target.name!r}")
    runs = Runs(paths, one_run=one_run, stated=stated(kind, facts, roles))
    text = _of_many(runs, target.suffix) if runs.several else _of_one(runs, target.suffix)
    if target.suffix == ".pdf":
        from hrmdoc.fleet.review import pdf

        pdf(text, target)
    else:
        try:
            target.write_text(text, "utf-8")
        except OSError as error:
            raise UsageError(f"cannot write: {error.strerror or error}", file=target) from error
    click.echo(f"written: {target}", err=True)
    return 0


def _of_one(runs: Runs, ending: str) -> str:
    """The review of one run."""
    from hrmdoc.reports import as_json, review

    (session,) = runs.readable()
    note_other_runs(session.other_runs)
    analysis = session.diagnose(closed=True)
    if ending == ".json":
        return as_json.dumps(analysis)
    return review.markdown([analysis]) if ending in (".md", "") else review.html([analysis])


def _of_many(runs: Runs, ending: str) -> str:
    """The review of several: the twins of sick runs are laid over them where there are few."""
    from hrmdoc.fleet import review

    extra: Extra = "" if ending == ".json" else "markdown" if ending in (".md", "") else "html"
    if extra == "html" and len(runs.groups) <= FEW:
        found = _with_twins(runs)
    else:
        found = [done for _, done in runs.examined(extra)]
    readable = _readable(found)
    if ending == ".json":
        return review.as_json(readable)
    return review.markdown(readable) if extra == "markdown" else review.html(readable)


def _readable(found: list[Done]) -> list[Done]:
    """The runs of which something could be read; others are named on standard error.

    Raises:
        InputError: there is none.
    """
    kept = []
    for done in found:
        run = done.summary
        if run.fault:
            click.echo(f"hrmdoc: {clean(run.path)}: {run.fault}", err=True)
        elif run.points or run.incidents:
            kept.append(done)
        else:
            click.echo(f"hrmdoc: passed over: {clean(run.path)}: {run.headline}", err=True)
    if not kept:
        raise InputError("none of the runs could be read", hint="`hrmdoc formats` lists what can be read")
    return kept


def _with_twins(runs: Runs) -> list[Done]:
    from hrmdoc.fleet.summary import summarize
    from hrmdoc.fleet.work import Done
    from hrmdoc.reports.review import chapter_html

    analyses = [session.diagnose(closed=True) for session in runs.readable()]
    return [
        Done(number, summarize(one), chapter_html(one, number + 1, analyses))
        for number, one in enumerate(analyses)
    ]
