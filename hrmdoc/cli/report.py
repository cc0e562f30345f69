"""`hrmdoc report PATH...`"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.fleet import fleet_options, named
from hrmdoc.cli.shared.options import note_other_runs, one_run_option, run_options, stated
from hrmdoc.cli.shared.runs import Runs
from hrmdoc.errors import InputError, UsageError
from hrmdoc.paths import write_whole
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from hrmdoc.fleet.chapters import Reviewed
    from hrmdoc.fleet.engines import Name
    from hrmdoc.fleet.store import Store
    from hrmdoc.fleet.summary import Summary
    from hrmdoc.fleet.work import Extra

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
@fleet_options
@run_options
def command(
    paths: tuple[str, ...],
    *,
    output: Path | None,
    one_run: bool,
    engine: str,
    jobs: int | None,
    fresh: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
) -> int:
    """Write a reliability review of one or several runs: what happened, why, time lost, what to change.

    Of several runs: ETTR, goodput, MTBF and MTTR, what was lost to which cause, and what to do first; the
    worst have a chapter each. What was found is kept, and shared with `hrmdoc triage`. The page is
    self-contained; secrets are removed.
    """
    from hrmdoc.fleet.store import Store
    from hrmdoc.fleet.triage import MOST_FILES
    from hrmdoc.readers.sources.beginning import Listing

    target = output or Path("report.html")
    _check(target)
    store = Store(kept=not fresh)
    with closing(store):
        how = Listing(store, MOST_FILES)
        runs = Runs(paths, one_run=one_run, stated=stated(kind, facts, roles), how=how)
        if runs.several:
            text = _of_many(runs, target.suffix, store, named(engine), jobs)
        else:
            text = _of_one(runs, target.suffix)
    if target.suffix == ".pdf":
        from hrmdoc.fleet.review import pdf

        pdf(text, target)
    else:
        try:
            write_whole(target, text.encode(errors="backslashreplace"))
        except OSError as error:
            raise UsageError(f"cannot write: {error.strerror or error}", file=target) from error
    click.echo(f"written: {target}", err=True)
    return 0


def _check(target: Path) -> None:
    """Refuses at once what could not be written once the runs are examined.

    Raises:
        UsageError: its form is not known, it is a folder or its folder is missing, or no browser can print.
    """
    if target.suffix not in ENDINGS:
        raise UsageError(f"--output wants a name that ends in .html, .md, .json or .pdf, not {target.name!r}")
    if not target.parent.is_dir():
        raise UsageError("there is no such folder to write to", file=target.parent)
    if target.suffix == ".pdf":
        from hrmdoc.fleet.review import browser

        browser()


def _of_one(runs: Runs, ending: str) -> str:
    """The review of one run."""
    from hrmdoc.reports import as_json, review

    (session,) = runs.readable()
    note_other_runs(session.other_runs)
    analysis = session.diagnose(closed=True)
    if ending == ".json":
        return as_json.dumps(analysis)
    return review.markdown([analysis]) if ending in (".md", "") else review.html([analysis])


def _of_many(runs: Runs, ending: str, store: Store, engine: Name, jobs: int | None) -> str:
    """The review of several: the twins of sick runs are laid over them where there are few."""
    from hrmdoc import settings
    from hrmdoc.cli.shared.options import progress
    from hrmdoc.fleet import review
    from hrmdoc.fleet.chapters import Review
    from hrmdoc.fleet.work import Request

    extra: Extra = "" if ending == ".json" else "markdown" if ending in (".md", "") else "html"
    if extra == "html" and len(runs.groups) <= FEW and engine == "local" and jobs is None:
        found = _with_twins(runs)
    else:
        runs.name_problems()
        request = Request(settings.load(Path.cwd()), dict(runs.stated), "", os.getcwd())
        with ExitStack() as stack:

            def counted(total: int) -> Callable[[str], None]:
                return stack.enter_context(progress("examined", total))

            found = Review(request, store, counted, engine, jobs).reviewed(runs.groups, extra, _readable)
    if not found.runs:
        raise InputError("none of the runs could be read", hint="`hrmdoc formats` lists what can be read")
    if ending == ".json":
        return review.as_json(found)
    return review.markdown(found) if extra == "markdown" else review.html(found)


def _readable(run: Summary) -> bool:
    """Whether something of the run could be read; others are named on standard error."""
    if run.fault:
        click.echo(f"hrmdoc: {clean(run.path)}: {clean(run.fault)}", err=True)
    elif run.points or run.incidents:
        return True
    else:
        click.echo(f"hrmdoc: passed over: {clean(run.path)}: {clean(run.headline)}", err=True)
    return False


def _with_twins(runs: Runs) -> Reviewed:
    from hrmdoc.fleet.chapters import Reviewed
    from hrmdoc.fleet.ranking import ranked
    from hrmdoc.fleet.summary import summarize
    from hrmdoc.fleet.watched import as_watched
    from hrmdoc.fleet.work import Done
    from hrmdoc.reports.review import chapter_html

    analyses = [session.diagnose(closed=True) for session in runs.readable()]
    files = {group.folder: [source.path for source in group.sources] for group in runs.groups}
    found = [as_watched(summarize(one), files.get(one.run.path, ())) for one in analyses]
    chapters = {
        run.path: Done(number, run, chapter_html(one, number + 1, analyses))
        for number, (run, one) in enumerate(zip(found, analyses, strict=True))
    }
    worst_first = tuple(ranked(found))
    return Reviewed(worst_first, tuple(chapters[run.path] for run in worst_first))
