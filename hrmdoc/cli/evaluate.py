"""`hrmdoc evaluate CHECKPOINT`"""

from __future__ import annotations

import click

from hrmdoc.cli.train import PASS, call


@click.command("evaluate", context_settings=PASS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Evaluate a checkpoint of the Hierarchical Reasoning Model."""
    return call("evaluate", arguments)
