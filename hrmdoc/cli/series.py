"""`hrmdoc series PATH...`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.memory import give_back_large_arrays
from hrmdoc.cli.shared.options import console, metric_roles, note_other_runs, run_options, stated_facts
from hrmdoc.errors import UsageError

if TYPE_CHECKING:
    from hrmdoc.record.run import Run
    from hrmdoc.record.series import Series


@click.command("series")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Export all points: .csv or .parquet.",
)
@click.option("--facts", "show_facts", is_flag=True, help="Show the facts too, and where they stand.")
@run_options
def command(
    paths: tuple[str, ...],
    *,
    output: Path | None,
    show_facts: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
) -> int:
    """Show what was read and how each metric was understood.

    Correct a wrong role with `--role train.loss=my_metric`, here and in every other command, or in
    hrmdoc.toml.
    """
    from hrmdoc.analysis import AnalysisSession

    give_back_large_arrays()
    session = AnalysisSession(paths[0], facts=stated_facts(kind, facts), metric_roles=metric_roles(roles))
    session.read(paths)
    note_other_runs(session.other_runs)
    if output is not None:
        _export(session.run, output)
        return 0
    session.understand()
    _table(session)
    if show_facts:
        _facts(session)
    return 0


MINIMUM = {"metric": 18, "source": 10}
"""Widths, in characters, below which a column says nothing."""


def _table(session: object) -> None:
    from rich.table import Table

    from hrmdoc.analysis import AnalysisSession

    assert isinstance(session, AnalysisSession)
    out = console()
    several = len({series.key.source for series in session.run.series.values()}) > 1
    shown = {"range": out.width >= 90, "source": several and out.width >= 110}
    columns = [
        name
        for name in ("metric", "role", "points", "steps", "range", "curve", "source")
        if shown.get(name, True)
    ]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column,
            overflow="ellipsis" if column == "source" else "fold",
            no_wrap=column != "metric",
            min_width=MINIMUM.get(column),
        )
    for series in sorted(session.run.series.values(), key=lambda s: (s.role.role or "~", s.key.metric)):
        cells = _cells(series)
        table.add_row(*(cells[column] for column in columns))
    if not session.run.series:
        click.echo("no metric was read", err=True)
        return
    out.print(table)
    console(err=True).print("a role with ? is a guess; correct it with --role ROLE=METRIC", style="dim")


def _cells(series: Series) -> dict[str, str]:
    """One metric in words, by column."""

    from hrmdoc.reports.layout import safe
    from hrmdoc.reports.sparkline import sparkline

    finite = series.finite
    low, high = (f"{finite.min():.4g}", f"{finite.max():.4g}") if len(finite) else ("-", "-")
    broken = len(series) - len(finite)
    rank = "" if series.key.rank is None else f" [rank {series.key.rank}]"
    axis = "" if series.axis == "step" else f"{series.axis} "
    return {
        "metric": safe(series.key.metric, 60) + rank,
        "role": (series.role.role or "-") + ("?" if series.role.guessed else ""),
        "points": f"{len(series):,}" + (f" ({broken} not finite)" if broken else ""),
        "steps": axis + f"{int(series.steps.min())}–{int(series.steps.max())}",
        "range": f"{low} … {high}",
        "curve": sparkline(series.values, 12),
        "source": safe(series.key.source.rpartition("/")[2] or series.key.source, 40),
    }


def _facts(session: object) -> None:
    from rich.table import Table

    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.reports.layout import safe

    assert isinstance(session, AnalysisSession)
    table = Table(box=None, pad_edge=False, header_style="bold", title="facts", title_justify="left")
    for column in ("scope", "key", "value", "where"):
        table.add_column(column, overflow="fold")
    for fact in sorted(session.run.facts.values(), key=lambda f: (f.scope, f.key)):
        where = safe(fact.file, 80) + (f":{fact.line}" if fact.line else "")
        table.add_row(fact.scope, safe(fact.key, 80), safe(str(fact.value), 80), where)
    console().print(table)


def _export(run: Run, output: Path) -> None:
    try:
        if output.suffix == ".csv":
            _write_csv(run, output)
        elif output.suffix == ".parquet":
            run.frame().to_parquet(output)
        else:
            raise UsageError(f"--output wants a name that ends in .csv or .parquet, not {output.name!r}")
    except ImportError as error:
        raise UsageError(
            f"writing parquet needs pyarrow: {error}", hint="pip install 'hrmdoc[frames]', or export .csv"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot write: {error.strerror or error}", file=output) from error


def _write_csv(run: Run, output: Path) -> None:
    import csv

    from hrmdoc.reports.layout import cell
    from hrmdoc.text.clean import clean

    steps, columns = run.table()
    with output.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["step", *(cell(clean(name, 2000)) for name in columns)])
        for step, *values in zip(steps.tolist(), *(one.tolist() for one in columns.values()), strict=True):
            writer.writerow([step, *("" if value != value else value for value in values)])
