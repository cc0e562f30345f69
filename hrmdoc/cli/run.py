"""`hrmdoc run -- COMMAND...`"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.beats import file_of, is_redis
from hrmdoc.cli.shared.operations import (
    beating,
    beating_by_environment,
    measure_option,
    metrics_options,
    named_beat,
    reporting,
)
from hrmdoc.cli.shared.options import check_policy, console
from hrmdoc.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hrmdoc.live.incidents import Incident
    from hrmdoc.settings import Settings
    from hrmdoc.supervision.resume import Resumption


@click.command("run", context_settings={"ignore_unknown_options": True})
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the output here [default: hrmdoc-run-<time>.log].",
)
@click.option(
    "--stop-on",
    type=click.Choice(["warning", "critical"]),
    help="Stop the command at such an incident (SIGTERM first).",
)
@click.option("--stop-on-silence", is_flag=True, help="Stop the command where it stands still, too.")
@click.option(
    "--act",
    is_flag=True,
    help="Patch the config of a sick run and run it again, as [policy] in hrmdoc.toml allows.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="With --act: the config file [default: named in COMMAND].",
)
@click.option(
    "--restart",
    type=click.IntRange(min=0),
    metavar="N",
    help="Start it again after at most N failures that may pass, from its newest checkpoint.",
)
@click.option(
    "--restart-on",
    multiple=True,
    metavar="ID",
    help="With --restart: also end it and start it again at this symptom, such as gpu-util-low.",
)
@click.option(
    "--backoff",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds before it is started again; doubled each time that it came no further.",
)
@click.option(
    "--restart-window",
    type=click.FloatRange(min=0, min_open=True),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="Failures longer ago do not count.",
)
@click.option(
    "--hang",
    type=click.FloatRange(min=0),
    default=1800.0,
    show_default=True,
    metavar="SECONDS",
    help="With --restart: silence of output and heartbeat after which it is ended; 0: never.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between SIGTERM and SIGKILL.",
)
@click.option(
    "--heartbeat",
    "beats",
    multiple=True,
    metavar="PLACE",
    help="Where the command says that it lives: a folder, a file that changes, redis://HOST:PORT/DB#KEY.",
)
@click.option("--checkpoints", metavar="DIR", help="Where its checkpoints lie: a folder, or a glob.")
@click.option(
    "--resume-with",
    metavar="WORDS",
    help="Words that make it go on: '--resume {checkpoint}' [default: as its framework does].",
)
@measure_option
@metrics_options
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def command(
    words: tuple[str, ...],
    *,
    log: Path | None,
    stop_on: str | None,
    stop_on_silence: bool,
    act: bool,
    config: Path | None,
    measure: float | None,
    metrics: str | None,
    metrics_file: Path | None,
    restart: int | None,
    restart_on: tuple[str, ...],
    backoff: float,
    restart_window: float,
    hang: float,
    grace: float,
    beats: tuple[str, ...],
    checkpoints: str | None,
    resume_with: str | None,
) -> int:
    """Supervise any training command: its output is kept, examined while it runs, and the diagnosis follows
    at its end.

    The command writes into the log file itself, so that it goes on where hrmdoc is killed or the terminal is
    lost. Signals are passed on to it, but for a hang-up. A run that only falls silent is not stopped unless
    --stop-on-silence says so: it may be evaluating or saving.

    With --restart a crash, a hang or a preemption starts it again, unless the same failure comes twice at
    the same step, or its cause has to be mended first (`hrmdoc verdict`). The state is kept in
    LOG.hrmdoc: the same line with the same --log goes on where hrmdoc was killed, also while the command
    still runs.

    Where its output goes to a terminal, the command has a terminal of the same size for it, so that bars and
    colours show as they would without hrmdoc.

    With --act a remedy that does not help is taken back, and the next one tried. The exit status is the
    command's own; 1 when it was stopped by --stop-on.
    """
    from hrmdoc import settings as own_settings
    from hrmdoc.reports.layout import safe
    from hrmdoc.reports.terminal import show, show_action
    from hrmdoc.supervision.heal import Patcher, configs_in, heal
    from hrmdoc.supervision.plan import Plan
    from hrmdoc.supervision.restart import Ears, Supervisor
    from hrmdoc.supervision.supervise import StopPolicy, supervise

    arguments = _arguments(words)
    target = log or Path(time.strftime("hrmdoc-run-%Y%m%d-%H%M%S.log"))

    screen = console(err=True)
    settings = beating(own_settings.load(Path.cwd()), named_beat(beats), target.stem)
    again = _symptoms(restart_on, settings, restarts=restart is not None)
    stop = StopPolicy(stop_on or ("critical" if stop_on_silence else None), stop_on_silence, again)
    configs: list[Path] = []
    if act:
        check_policy(settings)
        configs = configs_in(arguments) if config is None else [config]
        if not configs:
            raise UsageError(
                "--act needs a config file, and the command names none", hint="name it with --config"
            )
    signs = beating_by_environment(settings)
    with signs, reporting(settings, metrics, metrics_file, restarts=True) as observe:
        if restart is not None:
            outcome = Supervisor(
                arguments,
                target,
                Plan(restart, backoff, restart_window * 3600, hang or None, grace),
                settings,
                resumption(arguments, checkpoints, resume_with, settings),
                heartbeats(arguments, beats, settings),
                stop,
                Patcher(target, configs, settings, partial(show_action, console=screen), arguments)
                if act
                else None,
                Ears(_report, observe, lambda line: click.echo(f"hrmdoc: {safe(line, 1000)}", err=True)),
                measure,
            ).run()
        elif act:
            outcome = heal(
                arguments,
                target,
                configs,
                settings,
                stop=stop,
                report=_report,
                show_action=partial(show_action, console=screen),
                observe=observe,
                measure=measure,
            )
        else:
            outcome = supervise(
                arguments,
                target,
                stop=stop,
                settings=settings,
                report=_report,
                observe=observe,
                measure=measure,
            )
    show(outcome.analysis, screen)
    if outcome.status:
        ending = f"exit status {outcome.status}" if outcome.status > 0 else f"signal {-outcome.status}"
        click.echo(f"hrmdoc: the command ended with {ending}", err=True)
    if outcome.stopped_by is not None:
        click.echo(f"stopped for {outcome.stopped_by.symptom}; output kept in {target}", err=True)
        return 1
    return outcome.status if outcome.status >= 0 else 128 - outcome.status


def _symptoms(names: Sequence[str], settings: Settings, *, restarts: bool) -> frozenset[str]:
    """The symptoms of these names.

    Raises:
        UsageError: there is none of that name, or nothing is started again.
    """
    from hrmdoc import rulebook

    if not names:
        return frozenset()
    if not restarts:
        raise UsageError("--restart-on needs --restart", hint="--restart 3 --restart-on gpu-util-low")
    book = rulebook.load(Path(folder) for folder in settings.rules)
    return frozenset(one for name in names for one in rulebook.named(name, "symptom", book, book.symptoms))


def resumption(
    words: Sequence[str], checkpoints: str | None, template: str | None, settings: Settings
) -> Resumption:
    """How the command goes on from a checkpoint: as the user says, else as its framework does."""
    from hrmdoc import rulebook
    from hrmdoc.supervision.resume import NOT_AT_ALL, known, stated

    if template is not None:
        return stated(template, checkpoints)
    found = known(words, checkpoints, rulebook.load(Path(folder) for folder in settings.rules))
    if found is NOT_AT_ALL:
        click.echo("hrmdoc: each attempt gets the same words; --resume-with says how it goes on", err=True)
    return found


def heartbeats(words: Sequence[str], named: Sequence[str], settings: Settings) -> tuple[Path, ...]:
    """The files that show that the command lives: those that the user names, and that of the run's folder."""
    from hrmdoc import rulebook
    from hrmdoc.supervision.resume import folder_of

    folder = folder_of(words, rulebook.load(Path(name) for name in settings.rules))
    files = [file_of(Path(one)) for one in named if not is_redis(one)]
    return tuple(files if folder is None else (*files, folder / "heartbeat.json"))


def _report(incident: Incident) -> None:
    from hrmdoc.reports.layout import safe

    print(  # noqa: T201
        f"hrmdoc: {incident.change} {incident.symptom}: {safe(incident.evidence or incident.title)}",
        file=sys.stderr,
    )


def _arguments(words: Sequence[str]) -> list[str]:
    """The command without the `--` before it."""
    arguments = list(words[1:] if words[0] == "--" else words)
    if not arguments:
        raise UsageError("no command given", hint="hrmdoc run -- python train.py")
    return arguments
