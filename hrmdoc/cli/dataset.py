"""`hrmdoc dataset KIND ...`"""

from __future__ import annotations

import click

from hrmdoc.cli.train import PASS, call


@click.command("dataset", context_settings=PASS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Build a dataset for the Hierarchical Reasoning Model."""
    return call("dataset", arguments)
