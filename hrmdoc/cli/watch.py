"""`hrmdoc watch PATH`"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hrmdoc.cli.shared.operations import (
    beating,
    heartbeat_option,
    measure_option,
    metrics_options,
    reporting,
)
from hrmdoc.cli.shared.options import (
    check_policy,
    console,
    fail_on_option,
    run_options,
    say,
    stated,
    status,
    worst,
)
from hrmdoc.cli.shared.runs import facts_of_config
from hrmdoc.cli.shared.watch_all import Asked, watch_all
from hrmdoc.errors import InputError, UsageError

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.live.watch import Observer, Watch
    from hrmdoc.settings import Settings

_DEFAULT = click.core.ParameterSource.DEFAULT
_OVER = {
    "finished": "the run came to its last step",
    "crashed": "the run broke off",
    "stopped": "the run was stopped",
}
"""What is said of a run that looks as if it had ended, and does not say so itself."""


@click.command("watch")
@click.pass_context
@click.argument("path")
@click.option(
    "--interval",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0.1, 60),
    help="Seconds between two polls at most.",
)
@click.option("--once", is_flag=True, help="Examine once and end, as for cron.")
@click.option("--wait", is_flag=True, help="Wait for PATH where it does not exist yet.")
@click.option(
    "--no-state", is_flag=True, help="Keep no incidents beside the run or in the user's state folder."
)
@click.option("--all", "every", is_flag=True, help="Follow every run below PATH, a folder.")
@click.option(
    "--leases",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --all: the folder in which several watchers, on several machines, share the runs out.",
)
@click.option("--act", is_flag=True, help="Apply remedies, as far as [policy] in hrmdoc.toml allows it.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The config of the run, where it lies elsewhere.",
)
@measure_option
@heartbeat_option
@metrics_options
@run_options
@fail_on_option
def command(
    context: click.Context,
    path: str,
    *,
    interval: float,
    once: bool,
    wait: bool,
    no_state: bool,
    every: bool,
    leases: Path | None,
    act: bool,
    config: Path | None,
    measure: float | None,
    heartbeat: str | None,
    metrics: str | None,
    metrics_file: Path | None,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
    fail_on: str | None,
) -> int:
    """Follow a run live; incidents are reported as they open and resolve.

    PATH is a log, a run folder, or a link such as runs/latest, which is followed when it moves. Of a folder
    that holds several runs the newest is followed, and one that begins later takes its place. `-` follows
    what is piped in, and keeps it in hrmdoc-watch-<time>.log. Ends when the run tells of its end in an event,
    as trainers with a run folder do, when the pipe does, on Ctrl-C or on SIGTERM, with a summary. A log that
    ends in a traceback or at the last step is followed on: what died may be started again into it, and what
    comes behind the last step may fail. The exit status counts what is open then; after Ctrl-C it is 130.

    With --all every run below PATH is followed: new ones as they appear, until they end. Each incident is a
    line with its run; Enter or SIGUSR1 shows all runs as a table, and --once prints that. Several watchers of
    the same PATH share the runs out, and take over those of one that died. --heartbeat then names a folder
    that holds FOLDER/RUN/heartbeat.json, or a Redis with keys hrmdoc:heartbeat:RUN (the run's path below
    PATH, or its name where no other has it); --interval is that between two readings of each run; the machine
    is not measured.
    """
    from hrmdoc import settings as own_settings
    from hrmdoc.live.watch import Watch

    copy = None
    given = _given(context)
    if every or leases is not None:
        _refuse(given, path, every=every)
    if path == "-":
        path, copy = _kept_pipe()
    else:
        _wait_for(path, interval, wait=wait and not once)
    if every:
        options = {**stated(kind, facts, roles), "remember": not no_state, "act": act}
        poll_s = interval if "interval" in given else None
        told = (metrics, metrics_file)
        return _every(path, options, Asked(once, leases, told, fail_on, heartbeat=heartbeat, poll_s=poll_s))
    settings = beating(own_settings.load(Path.cwd()), heartbeat)
    watch = Watch(
        path,
        settings=settings,
        interval=interval,
        **stated(kind, facts, roles),
        remember=not no_state,
        act=act,
        measure=measure,
        config=() if config is None else facts_of_config(config),
    )
    if act:
        check_policy(settings)
    if copy is not None:
        copy(partial(watch.stop, ended=True))
    interrupted = _until_signal(watch)
    with reporting(settings, metrics, metrics_file) as observe:
        analysis = _follow(watch, observe, once=once)
    if analysis is None:
        return 2
    if signal.SIGINT in interrupted:
        return 130
    still = [incident.severity for incident in watch.incidents.open]
    return status(worst((analysis.verdict, *still)), fail_on or settings.fail_on)


def _given(context: click.Context) -> set[str]:
    """The options that somebody stated."""
    return {name for name in context.params if context.get_parameter_source(name) is not _DEFAULT}


def _every(path: str, options: dict[str, Any], asked: Asked) -> int:
    from hrmdoc import settings as own_settings

    found = own_settings.load(Path.cwd())
    if options["act"]:
        check_policy(found)
        _refuse_shared_questions(found, asked.leases)
    return watch_all(path, found, options, asked)


def _refuse(given: set[str], path: str, *, every: bool) -> None:
    """What does not go with `--all`, or not without it."""
    if path == "-":
        raise UsageError("--all wants a folder, not what is piped in", hint="hrmdoc watch ROOT --all")
    hint = "name one run: hrmdoc watch RUN"
    if not every:
        raise UsageError("--leases goes with --all", hint="hrmdoc watch ROOT --all --leases FOLDER")
    if "config" in given:
        raise UsageError("--config is that of one run, not of --all", hint=hint)
    if "measure" in given:
        raise UsageError("--measure goes with one run: with --all the machine is not measured", hint=hint)


def _refuse_shared_questions(settings: Settings, leases: Path | None) -> None:
    """A person answers beside a run, where several watchers of a shared folder do not look."""
    if leases is not None and settings.policy.ask:
        hint = "leave out --leases, or policy.ask"
        raise UsageError("policy.ask does not go with --act and --leases", file=settings.origin, hint=hint)


def _follow(watch: Watch, observe: Observer, *, once: bool) -> Analysis | None:
    """Reports what comes until the watch ends, then the whole; the last analysis."""
    from hrmdoc.reports.status_line import status_line
    from hrmdoc.reports.terminal import show, show_action, show_incident

    out = console()
    already = ", ".join(incident.symptom for incident in watch.incidents.open)
    say(out, f"watching {watch.path}" + (f", where it is known already: {already}" if already else ""))
    if watch.session.other_runs:
        say(out, watch.session.other_runs)
    analysis, told = None, ""
    with _status(out) as set_status:
        for update in watch.updates(once=once):
            observe(watch, update)  # before the terminal, which may be gone
            if update.moved:
                say(out, f"{watch.path} names another run now: {watch.following}")
            for incident in update.changes:
                show_incident(incident, out)
            for action in update.actions:
                show_action(action, out)
            analysis = update.analysis
            if analysis.state in _OVER and analysis.state != told and not (once or watch.ending):
                say(out, f"{_OVER[analysis.state]}; it is followed on until Ctrl-C")
            told = analysis.state
            set_status(status_line(analysis, watch.incidents.open))
    if analysis is not None:
        out.print()
        show(analysis, out)
    return analysis


def _kept_pipe() -> tuple[str, Callable[[Callable[[], None]], None]]:
    """The file that keeps what comes through the pipe, and what starts to fill it."""
    from hrmdoc.live import piped

    path = time.strftime("hrmdoc-watch-%Y%m%d-%H%M%S.log")
    return path, piped.keep(Path(path))


def _until_signal(watch: Watch) -> list[int]:
    """Ends the watch at SIGINT or SIGTERM; the list then holds the signal."""
    interrupted: list[int] = []

    def end(number: int, frame: object) -> None:
        del frame
        interrupted.append(number)
        watch.stop()
        signal.signal(number, signal.SIG_DFL)  # whoever asks twice does not want the summary

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, end)
    return interrupted


def _wait_for(path: str, interval: float, *, wait: bool) -> None:
    """Returns once the path exists; a time-out is up to who called."""
    if os.path.lexists(path):
        return
    if not wait:
        raise InputError("no such file or folder", file=path, hint="--wait waits until there is one")
    say(console(err=True), f"waiting for {path}")
    while not os.path.lexists(path):
        time.sleep(interval)


@contextmanager
def _status(out: Any) -> Iterator[Callable[[str], None]]:
    """Keeps one line at the foot of a terminal; nothing elsewhere."""
    if not out.is_terminal:
        yield lambda _: None
        return
    from rich.live import Live
    from rich.text import Text

    with Live(console=out, transient=True, refresh_per_second=4) as live:
        yield lambda text: live.update(Text(text, style="dim", no_wrap=True, overflow="ellipsis"))
