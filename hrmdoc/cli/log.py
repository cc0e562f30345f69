"""`hrmdoc log RUN`"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from hrmdoc.errors import InputError
from hrmdoc.paths import read_kept


@click.command("log")
@click.argument("path", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--verify", "check", is_flag=True, help="Say whether a line was changed or removed, and which.")
@click.option("--head", metavar="HASH", default="", help="With --verify: a hash noted before must be there.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they are kept.")
def command(path: Path, *, check: bool, head: str, as_json: bool) -> int:
    """Show what was done to a run or a config, and what was withheld, with the reasons.

    RUN is a run folder, a log that is watched, the log of `hrmdoc run`, or a config that was patched. Each
    line carries the hash of the one before. --verify prints the newest one; noted elsewhere and given back as
    --head it shows whether the end was cut off. The exit status is 1 where the record is not what was
    written.
    """
    from hrmdoc.live.actionlog import FILE
    from hrmdoc.live.journal import Journal
    from hrmdoc.live.state import state_folder

    if not path.exists():
        raise InputError("no such file or folder", file=path)
    folder = state_folder(path.resolve())
    record = (folder or path) / FILE
    if not os.path.lexists(record) and not check:
        click.echo(f"no record tells that anything was done to {path}, or withheld", err=True)
        return 0
    if check:
        return _verified(record, head)
    if as_json:
        click.echo(for_a_terminal(_whole(record)) if sys.stdout.isatty() else _whole(record), nl=False)
        return 0
    _whole(record)
    for entry in Journal(record).entries():
        click.echo(_line(entry))
    return 0


def _whole(record: Path) -> str:
    """The text of a record.

    Raises:
        InputError: it is none that hrmdoc wrote.
    """
    try:
        return read_kept(record).decode(errors="replace")
    except OSError as error:
        raise InputError(f"this is no record of actions: {_why(error)}", file=record) from error


def _why(error: OSError) -> str:
    return "a link, which is not followed" if error.errno == errno.ELOOP else error.strerror or str(error)


def for_a_terminal(text: str) -> str:
    """The same JSON, with what a terminal would obey as escapes."""
    return "".join(one if one == "\n" or one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _line(entry: dict[str, Any]) -> str:
    """One entry for people; a record is a file, and its text is not trusted."""
    from hrmdoc.reports.layout import safe

    at, step = entry.get("at"), entry.get("step")
    try:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(at or 0)))
    except (ValueError, TypeError, OverflowError, OSError):
        when = "?" * 19
    named = [str(entry[key]) for key in ("remedy", "what") if entry.get(key)]
    text = ": ".join(named)
    text += f", for {entry['reason']}" if entry.get("reason") else ""
    text += f", at step {step}" if step is not None else ""
    text = ": ".join(filter(None, (text, str(entry.get("why") or ""))))
    return f"{when}  {safe(str(entry.get('status', '?')), 20):<12} {safe(text)}"


def _verified(record: Path, head: str) -> int:
    from hrmdoc.live.actionlog import verify

    try:
        found = verify(record, head)
    except FileNotFoundError:
        raise InputError("there is no record of actions", file=record) from None
    except OSError as error:
        raise InputError(f"this is no record of actions: {_why(error)}", file=record) from error
    if found.flaw:
        click.echo(f"{record}:{found.line}: {found.flaw}")
        return 1
    old = f", {found.unchained} of an older hrmdoc without hashes" if found.unchained else ""
    known = "" if found.anchored else "; no newest hash is kept here, so an end cut off shows by --head alone"
    click.echo(f"{found.lines} lines as they were written{old}{known}; newest hash {found.head}")
    return 0
