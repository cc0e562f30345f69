"""`hrmdoc train [CONFIG] [key=value ...]`"""

from __future__ import annotations

import importlib

import click

from hrmdoc.errors import UsageError

PASS = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@click.command("train", context_settings=PASS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Train the Hierarchical Reasoning Model."""
    return call("train", arguments)


def call(verb: str, arguments: tuple[str, ...]) -> int:
    """Hands over to the trainer, which is imported by name only here: it needs torch, the agent does not.

    Raises:
        UsageError: the extra `train` is not installed.
    """
    try:
        status: int = importlib.import_module("hrmdoc.trainer.main").main([verb, *arguments])
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("torch", "omegaconf", "datasets"):
            hint = f"pip install 'hrmdoc[{'validate' if verb == 'validate' else 'train'}]'"
            raise UsageError(
                f"training needs the package {error.name}, which is not installed", hint=hint
            ) from error
        raise
    return status
