"""`hrmdoc trust [FILE]`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hrmdoc.errors import UsageError
from hrmdoc.routes import shown
from hrmdoc.text.redact import redact_value


def _without_secrets(value: Any) -> Any:
    """A table as it may be shown: of addresses the host alone, which is what one has to look at."""
    if isinstance(value, dict):
        return {
            key: shown(one) if key in ("url", "webhook") and isinstance(one, str) else _without_secrets(one)
            for key, one in value.items()
        }
    return [_without_secrets(one) for one in value] if isinstance(value, list) else redact_value("", value)


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
        click.echo(f"{name} = {_without_secrets(value)}")
    if revoke:
        click.echo(f"no longer trusted: {path}", err=True)
    else:
        click.echo(
            f"trusted as it is now: {path}" + ("" if asked else " (nothing in it needs trust)"), err=True
        )
    return 0
