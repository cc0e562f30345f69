"""`hrmdoc run -- COMMAND...`"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from hrmdoc.cli.shared.operations import metrics_options, telling
from hrmdoc.cli.shared.options import check_policy, console
from hrmdoc.errors import UsageError


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
    metrics: str | None,
    metrics_file: Path | None,
) -> int:
    """Supervise any training command: its output is kept, examined while it runs, and the diagnosis follows
    at its end.

    The command writes into the log file itself, so that it goes on where hrmdoc is killed or the terminal is
    lost. Signals are passed on to it, but for a hang-up. A run that only falls silent is not stopped unless
    --stop-on-silence says so: it may be evaluating or saving.

    With --act a remedy that does not help is taken back, and the next one tried. The exit status is the
    command's own; 1 when it was stopped by --stop-on.
    """
    from hrmdoc import settings as own_settings
    from hrmdoc.live.incidents import Incident
    from hrmdoc.reports.layout import safe
    from hrmdoc.reports.terminal import show, show_action
    from hrmdoc.supervision.heal import configs_in, heal
    from hrmdoc.supervision.supervise import StopPolicy, supervise

    arguments = list(words[1:] if words[0] == "--" else words)
    if not arguments:
        raise UsageError("no command given", hint="hrmdoc run -- python train.py")
    target = log or Path(time.strftime("hrmdoc-run-%Y%m%d-%H%M%S.log"))

    def report(incident: Incident) -> None:
        print(  # noqa: T201
            f"hrmdoc: {incident.change} {incident.symptom}: {safe(incident.evidence or incident.title)}",
            file=sys.stderr,
        )

    screen = console(err=True)
    settings = own_settings.load(Path.cwd())
    stop = StopPolicy(stop_on or ("critical" if stop_on_silence else None), stop_on_silence)
    configs: list[Path] = []
    if act:
        check_policy(settings)
        configs = configs_in(arguments) if config is None else [config]
        if not configs:
            raise UsageError(
                "--act needs a config file, and the command names none", hint="name it with --config"
            )
    with telling(settings, metrics, metrics_file) as observe:
        if act:
            outcome = heal(
                arguments,
                target,
                configs,
                settings,
                stop=stop,
                report=report,
                show_action=lambda action: show_action(action, screen),
                observe=observe,
            )
        else:
            outcome = supervise(
                arguments, target, stop=stop, settings=settings, report=report, observe=observe
            )
    show(outcome.analysis, screen)
    if outcome.stopped_by is not None:
        click.echo(f"stopped for {outcome.stopped_by.symptom}; output kept in {target}", err=True)
        return 1
    return outcome.status if outcome.status >= 0 else 128 - outcome.status
