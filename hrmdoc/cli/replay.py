"""`hrmdoc replay`"""

from __future__ import annotations

from pathlib import Path

import click

from hrmdoc.cli.shared.options import console
from hrmdoc.errors import UsageError, did_you_mean

FOLDER = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where runs/ is made [default: here].",
)


@click.command("replay")
@click.argument("name", required=False)
@click.option(
    "--list", "listing", is_flag=True, help="The incidents, a line each with its time, as without NAME."
)
@FOLDER
def command(name: str | None, folder: Path, *, listing: bool) -> int:
    """Play a known incident on this machine: a healthy twin, the fault, the diagnosis, the patch, the healed
    run, and one page with the curves of all three.

    Exit status 0 where the healed run is healthy, also by the task's own metric; 1 where it is not.
    """
    from hrmdoc.replay.stories import STORIES

    if listing or name is None:
        for story in STORIES.values():
            click.echo(f"{story.name:24} {story.seconds:>4} s  {story.title}")
        return 0
    if name not in STORIES:
        hint = did_you_mean(name, STORIES) or "hrmdoc replay --list"
        raise UsageError(f"there is no incident {name!r}", hint=hint)
    return play(name, folder, twin=True)


def play(name: str, folder: Path, *, twin: bool) -> int:
    """Plays an incident and says how it ended; the exit status."""
    from hrmdoc.replay.play import Replay
    from hrmdoc.replay.stories import STORIES

    out = console()
    ending = Replay(STORIES[name], folder, out).play(twin=twin)
    out.print()
    if ending.cured:
        out.print("Cured. Every curve, cause and change is on one page:", style="bold green")
    elif ending.left:
        out.print(f"Not cured: {', '.join(ending.left)}")
    else:
        out.print("Not cured: the rerun shows no fault, but does not reach what the table asks for")
    out.print(f"  {ending.report}")
    out.print("For a run of your own: hrmdoc analyze training.log")
    return 0 if ending.cured else 1
