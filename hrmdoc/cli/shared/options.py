"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hrmdoc.errors import UsageError
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from hrmdoc.reports.ink import Surface
    from hrmdoc.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
SEVERITIES = ("info", "warning", "critical")
PIPE_WIDTH = 100
COLOR = "HRMDOC_COLOR"
LARGE = 8 << 20
"""Bytes that take long enough to read that a word is due."""
answer: int | None = None
"""The exit status of the verdict, once there is one: it holds even where nobody reads the rest."""


def color_option(function: F) -> F:
    """`--color`: against what the terminal and NO_COLOR or FORCE_COLOR say; the variable says it for good."""

    def choose(context: click.Context, option: click.Parameter, when: str | None) -> None:
        del context, option
        if when is not None:
            os.environ[COLOR] = when

    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        callback=choose,
        expose_value=False,
        help="Colour the answer [default: auto, on a terminal].",
    )(function)


def quiet_option(function: F) -> F:
    """`-q`: the answer alone."""
    return click.option("-q", "--quiet", is_flag=True, help="Print the verdict alone.")(function)


def run_options(function: F) -> F:
    """`--role`, `--kind`, `--fact`, `--color`: what the user knows better."""
    function = color_option(function)
    function = click.option(
        "--fact", "facts", multiple=True, metavar="KEY=VALUE", help="State a fact, such as data.classes=9."
    )(function)
    function = click.option(
        "--kind", help="State the run kind: pretraining, sft, preference, rl, hrm, classification, ..."
    )(function)
    return click.option(
        "--role",
        "roles",
        multiple=True,
        metavar="ROLE=METRIC",
        help="State what a metric is: train.loss=my_metric.",
    )(function)


def one_run_option(function: F) -> F:
    """`--one-run`: paths that are parts of one run, where their names do not say so."""
    return click.option("--one-run", is_flag=True, help="All paths are parts of one run.")(function)


def stated(kind: str | None, facts: tuple[str, ...], roles: tuple[str, ...]) -> dict[str, Any]:
    """What `run_options` gathered, as `AnalysisSession` takes it."""
    return {"facts": stated_facts(kind, facts), "metric_roles": metric_roles(roles)}


@contextmanager
def progress(verb: str, total: int) -> Iterator[Callable[[str], None]]:
    """Shows on a terminal how far a long work has come, on standard error; nothing elsewhere.

    Yields:
        A function to call with the name of each piece when it begins.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    out = console(err=True)
    done = 0

    def advance(name: str) -> None:
        nonlocal done
        done += 1
        shown.update(f"{verb} {done} of {total}: {clean(name, 60)}")

    with out.status(f"{verb} …") as shown:
        yield advance


@contextmanager
def reading(total: int) -> Iterator[Callable[[str, int], None] | None]:
    """Shows on a terminal how much of so many bytes was read, on standard error; nothing elsewhere, nor of
    what is read in a moment.

    Yields:
        A function to call with the name of a file and how many of its bytes were read, or None.
    """
    if total < LARGE or not sys.stderr.isatty():
        yield None
        return
    read: dict[str, int] = {}

    def report(file: str, done: int) -> None:
        read[file] = done
        share = min(1.0, sum(read.values()) / total)
        shown.update(f"reading {clean(file, 60)}: {share:.0%} of {total / 1e6:,.0f} MB")

    with console(err=True).status(f"reading {total / 1e6:,.0f} MB …") as shown:
        yield report


def fail_on_option(function: F) -> F:
    """`--fail-on`: from which verdict on the exit status is 1."""
    return click.option(
        "--fail-on",
        type=click.Choice([*SEVERITIES, "never"]),
        default=None,
        help="Exit with 1 from this verdict on (default: warning).",
    )(function)


def ids(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """What `explain` can be asked for, and of an option such as `--remedy` or `--only` that kind alone; for
    completion in a shell."""
    del context
    from hrmdoc import measures, rulebook

    book = rulebook.load()
    kinds: dict[str, Iterable[str]] = {"remedy": book.remedies, "only": book.symptoms}
    every = (*book.symptoms, *book.causes, *book.remedies, *book.signatures, *measures.names())
    return [name for name in kinds.get(parameter.name or "", every) if name.startswith(begun)]


def metric_roles(pairs: tuple[str, ...]) -> dict[str, str]:
    """`ROLE=METRIC` pairs as metric -> role; `loss` is short for `train.loss`.

    Raises:
        UsageError: a pair has no `=`.
    """
    short = {"loss": "train.loss", "accuracy": "train.accuracy", "reward": "rl.reward"}
    return {metric: short.get(role, role) for role, metric in (_pair(one, "--role") for one in pairs)}


def stated_facts(kind: str | None, pairs: tuple[str, ...]) -> dict[str, Any]:
    """`KEY=VALUE` pairs as facts; numbers and booleans are read as such."""
    facts = {key: _literal(value) for key, value in (_pair(one, "--fact") for one in pairs)}
    return facts | ({"run.kind": kind} if kind else {})


def _pair(text: str, option: str) -> tuple[str, str]:
    left, separator, right = text.partition("=")
    if not separator or not left or not right:
        raise UsageError(f"{option} wants NAME=VALUE, not {text!r}")
    return left.strip(), right.strip()


def _literal(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def worst(verdicts: Iterable[str]) -> str:
    """The verdict that the exit status goes by."""
    from hrmdoc.reports.verdict import SEVEREST

    return min(verdicts, key=SEVEREST.index)


def status(verdict: str, fail_on: str) -> int:
    """0 below `fail_on`, 1 at or above it, 2 when nothing or not all could be read. Called before the answer
    is printed, it is what the command exits with even where nobody reads to the end."""
    if verdict in ("no_data", "incomplete"):
        return answered(2)
    if fail_on == "never" or verdict == "healthy":
        return answered(0)
    return answered(int(SEVERITIES.index(verdict) >= SEVERITIES.index(fail_on)))


def answered(code: int) -> int:
    """Keeps the exit status of a verdict that is known, as `answer`."""
    global answer
    answer = code
    return code


def console(*, err: bool = False) -> Any:
    """A console that never reads markup and keeps plain text where there is no terminal. NO_COLOR is
    honoured."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    when = os.environ.get(COLOR, "auto")
    return Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        width=_columns(stream),
        force_terminal=True if when == "always" else None,
        color_system=None if when == "never" else "auto",
    )


def page() -> Surface:
    """What a report is printed on: a console as `console` gives it, or a plain one where nothing shows
    styles."""
    from hrmdoc.reports.ink import Plain, shows_styles

    if os.environ.get(COLOR) == "always" or shows_styles(sys.stdout):
        styled: Surface = console()
        return styled
    return Plain(sys.stdout, _columns(sys.stdout) or int(os.environ["COLUMNS"]))


def _columns(stream: Any) -> int | None:
    """The width to write in; None where rich finds it out itself. It takes COLUMNS=0, which some shells of
    scripts and containers set, by its word."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return None
    if not stream.isatty():
        return PIPE_WIDTH
    if not columns.isdigit():
        return None
    import shutil  # with all that it needs, for a rare terminal

    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns


def say(out: Any, text: str) -> None:
    """Prints a line about the watch itself, with the time."""
    from hrmdoc.reports.layout import safe

    out.print(f"{time.strftime('%H:%M:%S')}  {safe(text)}", style="dim")


def note_other_runs(note: str) -> None:
    """Says on standard error that a folder held several runs; nothing when it held one."""
    if note:
        click.echo(f"hrmdoc: {note}", err=True)


def check_policy(settings: Settings) -> None:
    """Refuses `--act` where the user's settings allow nothing.

    Raises:
        UsageError: naming the setting.
    """
    if "policy" in settings.withheld:
        hint = f"look at it, then: hrmdoc trust {settings.origin}"
        raise UsageError("--act may do nothing: [policy] is not trusted", file=settings.origin, hint=hint)
    if not settings.policy.auto and not settings.policy.ask:
        hint = (
            'write `[policy]` and `auto = ["safe", "guarded"]` into hrmdoc.toml, or apply one remedy '
            "with `hrmdoc apply`"
        )
        raise UsageError(
            "--act may do nothing: policy.auto is empty, and so is policy.ask",
            file=settings.origin or None,
            hint=hint,
        )
