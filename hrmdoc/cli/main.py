"""The `hrmdoc` command. Commands are loaded when they are called, so that `--help` stays quick."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

import click

from hrmdoc import __version__
from hrmdoc.errors import HrmdocError, did_you_mean

COMMANDS = {
    "analyze": "Examine a run that has ended, or as it stands.",
    "watch": "Follow a run live; incidents as they open and resolve.",
    "apply": "Patch the config by the diagnosis: a diff, or --write, or --undo.",
    "report": "Write a reliability review: what happened, why, what to change.",
    "explain": "Explain a symptom, cause, remedy or signature.",
    "rules": "List, check, test and scaffold rules.",
    "formats": "List the formats that can be read.",
    "series": "Show what was read and how each metric was understood.",
    "preflight": "Check environment, config and data before training.",
    "compare": "Tell what differs between a sick and a healthy run.",
    "bundle": "Collect what a helper needs into one archive, secrets removed.",
    "train": "Train the Hierarchical Reasoning Model.",
    "evaluate": "Evaluate a checkpoint of the Hierarchical Reasoning Model.",
    "lab": "Give the reference patient a fault and see whether it is found.",
    "run": "Supervise any training command: watch it and act by policy.",
    "demo": "A fault, its diagnosis, the patch and the healthy rerun, in two minutes.",
}
PASS_THROUGH = {"train", "evaluate"}


class Commands(click.Group):
    """Looks up `hrmdoc.cli.<name>.command` when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"hrmdoc.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"{error.message} {hint or ''}".strip(), ctx) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hrmdoc")
def cli() -> None:
    """A doctor for training runs.

    Start with `hrmdoc analyze PATH`, where PATH is a log, an event file, a run folder, or `-`.
    """


def main(argv: list[str] | None = None) -> int:
    """Runs a command; the exit status is 0, 1 (findings), 2 (usage or unreadable input) or 130 (interrupted)."""
    if not os.environ.get("HRMDOC_DEBUG"):
        warnings.simplefilter("ignore")  # what a library warns its caller of is no talk for users
    try:
        result: Any = cli.main(argv, prog_name="hrmdoc", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except HrmdocError as error:
        print(f"hrmdoc: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); nothing more can be said to it, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("HRMDOC_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        print(f"hrmdoc: a fault of hrmdoc itself: {what}\n  hint: HRMDOC_DEBUG=1 shows where; please report it", file=sys.stderr)  # noqa: T201
        return 2


def run() -> None:
    """Entry point of the console script."""
    sys.exit(main())
