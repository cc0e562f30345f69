"""`hrmdoc demo`"""

from __future__ import annotations

from pathlib import Path

import click

from hrmdoc.cli.replay import FOLDER, play


@click.command("demo")
@FOLDER
def command(folder: Path) -> int:
    """A fault, its diagnosis, the patch, the healthy rerun and the report, on a real HRM training run, in
    about a minute. `hrmdoc replay` has others."""
    return play("lr-too-high", folder, twin=False)
