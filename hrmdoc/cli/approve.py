"""`hrmdoc approve RUN [ID]`"""

from __future__ import annotations

import getpass
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.errors import InputError, UsageError

if TYPE_CHECKING:
    from hrmdoc.live.consent import Reply
    from hrmdoc.live.taken import TakenAction


@click.command("approve")
@click.argument("path", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("ident", metavar="[ID]", required=False)
@click.option("--no", "refuse", is_flag=True, help="Say no.")
def command(path: Path, ident: str | None, *, refuse: bool) -> int:
    """Say yes, or no, to what the policy does not do to a run without a person.

    Without ID the requests that wait are listed. The watch that asked acts on the answer at its next
    look; one that is not running any more does when it is started again. The same is said by a file
    `replies/ID` beside the record of actions that holds yes or no.
    """
    from hrmdoc.live import consent
    from hrmdoc.live.actionlog import FILE
    from hrmdoc.live.state import state_folder
    from hrmdoc.live.taken import questions
    from hrmdoc.reports.layout import safe

    if not path.exists():
        raise InputError("no such file or folder", file=path)
    folder = state_folder(path.resolve())
    if folder is None:
        raise InputError("there is no folder to keep an answer in", file=path)
    asked, over = questions(folder / FILE)
    open_ones = (one for name, one in asked.items() if name not in over)
    waiting = [one for one in open_ones if consent.reply(folder, one.id) is None]
    if ident is None:
        for one in waiting:
            click.echo(f"{one.id}  {safe(one.remedy)}: {safe(one.what)}, for {safe(one.reason)}")
        if not waiting:
            click.echo("nothing waits for an answer", err=True)
        return 0
    if ident not in asked:
        known = ", ".join(one.id for one in waiting) or "nothing waits"
        raise UsageError(f"nothing was asked by the id {ident!r}", file=path, hint=f"waiting: {known}")
    if ident in over:
        became = f"it was {over[ident].status}"
        raise UsageError(f"{asked[ident].remedy} needs no answer any more: {became}", file=path)
    return _answered(path, folder, asked[ident], "no" if refuse else "yes")


def _answered(path: Path, folder: Path, one: TakenAction, word: Reply) -> int:
    """Keeps an answer, and says whether anything can come of it."""
    from hrmdoc.live import consent
    from hrmdoc.live.actionlog import FILE, ActionLog
    from hrmdoc.reports.layout import safe

    if not consent.answer(folder, one.id, word):
        raise InputError("the answer cannot be written", file=folder)
    status = "refused by hand" if word == "no" else "approved"
    entry = {"kind": "answer", "status": status, "what": f"{one.remedy}: {one.what}", "at": time.time()}
    ActionLog(folder / FILE).append([{**entry, "why": f"{word}, said {_name()}", "id": one.id}])
    click.echo(f"{status}: {safe(one.remedy)}: {safe(one.what)}", err=True)
    if word == "yes" and not one.files and (state := _ended(path)):
        click.echo(f"the run is {safe(state)}: nothing is done until it runs again under a watch", err=True)
        return 1
    return 0


def _ended(path: Path) -> str:
    """The state of a run that takes no action now, "" where it runs or does not say."""
    try:
        found = json.loads((path / "run.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    state = str(found.get("state", "")) if isinstance(found, dict) else ""
    return "" if state == "running" else state


def _name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
