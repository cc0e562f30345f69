"""`hrmdoc formats`"""

from __future__ import annotations

import click


@click.command("formats")
def command() -> int:
    """List the formats that can be read."""
    from hrmdoc import readers

    width = max(len(name) for name in readers.names())
    for name in readers.names():
        reader = readers.reader(name)
        follow = "read again when it changes" if reader.WHOLE else "followed while it grows"
        click.echo(f"{name:<{width}}  {reader.TITLE}  ({follow})")
    return 0
