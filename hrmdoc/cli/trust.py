"""`hrmdoc trust [FILE]`"""

from __future__ import annotations

from pathlib import Path

import click

from hrmdoc.errors import UsageError


@click.command("trust")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
def command(file: Path | None, *, revoke: bool) -> int:
    """Let a settings file run alerts, act by its policy and load its rules.

    FILE is a hrmdoc.toml or pyproject.toml [default: the nearest one]. It is trusted as it is now: once it
    changes, it has to be trusted again. Your own settings, ~/.config/hrmdoc/hrmdoc.toml, need no trust.
    """
    from hrmdoc import settings, trust

    found = settings.read(file) if file is not None else settings.nearest(Path.cwd())
    if found is None:
        raise UsageError("no settings are at hand", hint="hrmdoc trust path/to/hrmdoc.toml")
    table, path = found
    asked = {name: table[name] for name in trust.RESTRICTED if table.get(name)}
    trust.trust(path, revoke=revoke)
    for name, value in asked.items():
        click.echo(f"{name} = {value}")
    if revoke:
        click.echo(f"no longer trusted: {path}", err=True)
    else:
        click.echo(
            f"trusted as it is now: {path}" + ("" if asked else " (nothing in it needs trust)"), err=True
        )
    return 0
