"""`hrmdoc validate DATA`"""

from __future__ import annotations

import click

from hrmdoc.cli.train import PASS, call


@click.command("validate", context_settings=PASS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Validate the Hierarchical Reasoning Model against GPT-2."""
    return call("validate", arguments)
