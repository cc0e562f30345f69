"""`--format`: in which form the answer is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hrmdoc.errors import UsageError

if TYPE_CHECKING:
    from hrmdoc.reports.formats import Result

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("text", "json", "jsonl", "markdown", "sarif", "junit", "github", "gitlab")
"""Those of `hrmdoc.reports.formats`, which is loaded where one is asked for, and each command's own two."""


def format_option(function: F) -> F:
    """`--format`, of which `--json` is the short form."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="Print for a program: as SARIF, JUnit XML, annotations of GitHub or GitLab, ...",
    )(function)


def chosen(form: str | None, **short: bool) -> str:
    """The format that was asked for; `text` where nothing was said.

    Args:
        short: short forms such as `json`, and whether they were given.

    Raises:
        UsageError: two were asked for.
    """
    asked = {name for name, given in short.items() if given} | ({form} if form else set())
    if len(asked) > 1:
        options = sorted(f"--{name}" for name, given in short.items() if given)
        raise UsageError(
            " and ".join([*options, *([f"--format {form}"] if form else [])]) + " exclude each other"
        )
    return asked.pop() if asked else "text"


def put(form: str, results: Sequence[Result], fail_on: str) -> None:
    """Prints `results` in one of the formats that all commands share."""
    from hrmdoc.reports.formats import render

    click.echo(render(form, results, fail_on), nl=False)


def results(documents: Iterable[Mapping[str, Any]]) -> list[Result]:
    """Diagnoses as the formats take them, without the good signs."""
    from hrmdoc import rulebook
    from hrmdoc.reports.formats import of_document

    good = rulebook.good_signs(rulebook.load())
    return [of_document(one, good) for one in documents]
