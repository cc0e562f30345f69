"""The `hrmdoc` command. Commands are loaded when they are called, so that `--help` stays quick."""

from __future__ import annotations

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
from hrmdoc.errors import HrmdocError, did_you_mean
from hrmdoc.text.ascii import spell_what_cannot_be_shown
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

COMMANDS = {
    "analyze": "Examine a run that has ended, or as it stands.",
    "watch": "Follow a run live; incidents as they open and resolve.",
    "serve": "Show all runs as pages in a browser, live, the worst first.",
    "mcp": "Let an assistant ask about runs (Model Context Protocol).",
    "triage": "Examine many runs: which are sick, why, since when, at what cost.",
    "apply": "Patch the config by the diagnosis: a diff, or --write, or --undo.",
    "report": "Write a reliability review: what happened, why, what to change.",
    "verdict": "Say in one line whether a run that ended should be started again.",
    "log": "Show what was done to a run and what withheld; --verify checks the record.",
    "approve": "Say yes or no to what the policy asks a person for.",
    "explain": "Explain a symptom, cause, remedy or signature.",
    "docs": "Show the manual in a browser: tutorial, playbooks, every rule.",
    "alerts": "Show where alerts go and what waits; send a test; try again.",
    "trust": "Let a settings file run alerts, act by its policy and load rules.",
    "rules": "List, check, test and scaffold rules.",
    "formats": "List the formats that can be read.",
    "series": "Show what was read and how each metric was understood.",
    "preflight": "Check environment, config and data before training.",
    "compare": "Show what differs between a sick and a healthy run.",
    "bundle": "Collect what a helper needs into one archive, secrets removed.",
    "train": "Train the Hierarchical Reasoning Model.",
    "evaluate": "Evaluate a checkpoint of the Hierarchical Reasoning Model.",
    "dataset": "Build a dataset: Sudoku, maze, ARC or text.",
    "validate": "Validate HRM against GPT-2 on programming problems.",
    "lab": "Give training programs known faults and see whether they are found.",
    "run": "Supervise any training command: watch it and act by policy.",
    "replay": "Play a known incident: twin, fault, diagnosis, patch, healed run.",
    "demo": "A fault, its diagnosis, the patch and the healthy rerun, in two minutes.",
}
PASS_THROUGH = {"train", "evaluate", "dataset", "validate"}
EXAMINING = {
    "analyze",
    "watch",
    "apply",
    "report",
    "series",
    "preflight",
    "compare",
    "bundle",
    "run",
    "triage",
    "verdict",
    "serve",
    "mcp",
    "docs",
}
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
SIGPIPE = 13
EXAMPLES = {
    "analyze": (
        "hrmdoc analyze train.log",
        "hrmdoc analyze runs/",
        "hrmdoc analyze train.log --config config.yaml",
        "hrmdoc analyze --one-run before.log after.log",
        "kubectl logs POD | hrmdoc analyze -",
        "hrmdoc analyze --json train.log | jq .verdict",
    ),
    "watch": (
        "hrmdoc watch runs/latest",
        "hrmdoc watch --wait train.log",
        "hrmdoc watch --once runs/latest || mail -s 'look at the run' me@example.org",
        "kubectl logs -f POD | hrmdoc watch -",
    ),
    "triage": (
        "hrmdoc triage runs/",
        "hrmdoc triage --since 1d --group-by host runs/ /scratch/*/runs",
        "hrmdoc triage --json s3://bucket/experiments",
    ),
    "apply": (
        "hrmdoc apply runs/latest",
        "hrmdoc apply runs/latest --write",
        "hrmdoc apply runs/latest --undo",
    ),
    "report": ("hrmdoc report runs/* -o review.html", "hrmdoc report train.log -o review.md"),
    "verdict": ("hrmdoc verdict runs/latest", "hrmdoc verdict --status 137 train.log"),
    "log": ("hrmdoc log runs/latest", "hrmdoc log --verify train.log"),
    "approve": ("hrmdoc approve runs/latest", "hrmdoc approve runs/latest 3f2a91c0"),
    "serve": (
        "hrmdoc serve",
        "hrmdoc serve runs/ --open",
        "hrmdoc serve --port 8080 --allow-apply runs/ configs/",
    ),
    "mcp": ("hrmdoc mcp runs/", "claude mcp add hrmdoc -- hrmdoc mcp runs/"),
    "explain": ("hrmdoc explain loss-spike", "hrmdoc explain learning-rate-too-high"),
    "docs": ("hrmdoc docs", "hrmdoc docs --open loss spike"),
    "alerts": ("hrmdoc alerts test", "hrmdoc alerts list", "hrmdoc alerts retry"),
    "trust": ("hrmdoc trust", "hrmdoc trust --revoke ../other/hrmdoc.toml"),
    "series": ("hrmdoc series train.log", "hrmdoc series train.log -o points.csv"),
    "preflight": ("hrmdoc preflight config.yaml", "hrmdoc preflight config.yaml --data train.jsonl"),
    "compare": ("hrmdoc compare runs/sick runs/healthy",),
    "bundle": ("hrmdoc bundle runs/latest -o for-the-helper.zip",),
    "run": (
        "hrmdoc run -- python train.py",
        "hrmdoc run --stop-on critical -- torchrun --nproc-per-node 8 train.py",
        "hrmdoc run --act -- python train.py config.yaml",
        "hrmdoc run --restart 3 --log train.log -- python train.py --output_dir out",
    ),
    "lab": ("hrmdoc lab --reference", "hrmdoc lab --matrix small"),
    "replay": ("hrmdoc replay --list", "hrmdoc replay zero-loss"),
    "demo": ("hrmdoc demo", "hrmdoc demo --folder /tmp/try-it"),
    "formats": ("hrmdoc formats", "hrmdoc formats | grep -i tensorboard"),
    "rules": ("hrmdoc rules list | grep loss", "hrmdoc rules new my-rule", "hrmdoc rules test hrmdoc_rules"),
}


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
    code = main()
    gc.freeze()  # all is over: looking for cycles once more takes a tenth of a short run
    sys.exit(code)
