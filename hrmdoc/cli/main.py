"""The `hrmdoc` command. Commands are loaded when they are called, so that `--help` stays quick."""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import os
import sys
import warnings
from contextlib import suppress
from typing import Any

import click

from hrmdoc import __version__
from hrmdoc.cli.shared.commands import COMMANDS, EXAMINING, EXAMPLES
from hrmdoc.errors import HrmdocError, did_you_mean
from hrmdoc.text.ascii import spell_what_cannot_be_shown
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

BLAS_THREADS = "OPENBLAS_NUM_THREADS"
SIGPIPE = 13


class OutputClosedError(Exception):
    """The reader of our output has gone (`| head`)."""


def load_numpy() -> None:
    """Loads numpy without the threads that its linear algebra starts and no examination needs. What is
    started from here, such as a training, gets the environment as the user set it."""
    if BLAS_THREADS in os.environ:
        return
    os.environ[BLAS_THREADS] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[BLAS_THREADS]


class Commands(click.Group):
    """Looks up `hrmdoc.cli.<name>.command` when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in EXAMINING:
            load_numpy()
        module = importlib.import_module(f"hrmdoc.cli.{cmd_name}")
        command: click.Command = module.command
        if cmd_name in EXAMPLES:
            command.epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[cmd_name])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Calls the command; a closed pipe must not become click's exit status 1, which means findings
        here."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise OutputClosedError from error
        except SystemExit as end:  # rich ends the program itself
            if isinstance(end.__context__, BrokenPipeError):
                raise OutputClosedError from end
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = did_you_mean(args[0], COMMANDS)
            what = f"no such command {args[0]!r}" + (f"; {hint}" if hint else "")
            raise click.UsageError(what, ctx) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hrmdoc")
def cli() -> None:
    """A doctor for training runs.

    Start with `hrmdoc analyze PATH`, where PATH is a log, an event file, a run folder, or `-`.

    \b
    To complete commands, options and ids on Tab (bash; zsh and fish the same):
      eval "$(_HRMDOC_COMPLETE=bash_source hrmdoc)"
    """


def main(argv: list[str] | None = None) -> int:
    """Runs a command; the exit status is 0, 1 (findings), 2 (usage or unreadable input), 130 (interrupted)
    or 141 (the reader of the output went before there was an answer)."""
    _prepare()
    try:
        result: Any = cli.main(argv, prog_name="hrmdoc", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except HrmdocError as error:
        return _failed(_printable(str(error)))
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.UsageError as error:
        return _failed(_printable(_worded(error)))
    except click.ClickException as error:
        return _failed(_printable(error.format_message()))
    except (OutputClosedError, BrokenPipeError):
        _silent()
        return _answered()
    except MemoryError:
        return _out_of_memory()
    except OSError as error:
        _silent()
        if error.errno == errno.ENOMEM:
            return _out_of_memory()
        place = f"{error.filename}: " if error.filename else ""
        return _failed(_printable(f"{place}cannot be read or written: {error.strerror or error}"))
    except Exception as error:
        if os.environ.get("HRMDOC_DEBUG"):
            raise
        what = f"a fault of hrmdoc itself: {type(error).__name__}: {error}"
        return _failed(f"{what}\n  hint: HRMDOC_DEBUG=1 shows where; please report it")


def _out_of_memory() -> int:
    """Says that the memory does not suffice, and how much this process may have where that is limited."""
    limit = ""
    with suppress(ImportError):  # Windows has no such limits
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        limit = "" if most == resource.RLIM_INFINITY else f" (ulimit -v allows {most / 1e6:,.0f} MB)"
    hint = "raise the limit, or analyze the end of a long log alone: tail -c 50M LOG | hrmdoc analyze -"
    return _failed(f"there is not enough memory for this{limit}\n  hint: {hint}")


def _prepare() -> None:
    """What a library warns its caller of is no talk for users; closed streams swallow what is written.

    Records form no cycles: to look for some after every 700, as Python does by itself, costs a twentieth of a
    short run.
    """
    gc.set_threshold(200_000)
    if not os.environ.get("HRMDOC_DEBUG"):
        warnings.simplefilter("ignore")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (it lives as long as the program)
    spell_what_cannot_be_shown()


def _printable(message: str) -> str:
    """Names of files and words of logs may hold terminal codes."""
    return "\n".join(redact(clean(line, 2000)) for line in message.split("\n"))


def _worded(error: click.UsageError) -> str:
    """What is wrong on the command line, as all other errors are worded."""
    what = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "hrmdoc"
    return f"{what[:1].lower()}{what[1:]}\n  hint: {command} --help"


def _failed(message: str) -> int:
    print(f"hrmdoc: {message}", file=sys.stderr)  # noqa: T201
    return 2


def _silent() -> None:
    """Nothing more can be written to stdout, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answered() -> int:
    """The exit status where the reader of the output has gone: that of the verdict where it was known by
    then, else that of a program which SIGPIPE ended."""
    from hrmdoc.cli.shared import options

    return 128 + SIGPIPE if options.answer is None else options.answer


def run() -> None:
    """Entry point of the console script."""
    ended: list[int] = []
    atexit.register(_end, ended)  # the first is called last: threads and libraries are done by then
    ended.append(main())
    sys.exit(ended[0])


def _end(ended: list[int]) -> None:
    """Leaves at once where a command has ended: to take all modules apart takes a twentieth of a short run.

    torch is left to take its own threads and devices down.
    """
    if not ended or "torch" in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(ended[0])
