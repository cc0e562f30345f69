"""`hrmdoc serve [ROOT...]`"""

from __future__ import annotations

import importlib.util
import os

import click

from hrmdoc.errors import UsageError

NEEDED = ("starlette", "uvicorn", "sse_starlette")


def _from_afar(address: str) -> str:
    """What brings the address to the machine of who came by SSH; "" for who did not."""
    came = os.environ.get("SSH_CONNECTION", "").split()
    if len(came) != 4:
        return ""
    from urllib.parse import urlsplit

    port, user, door = urlsplit(address).port, os.environ.get("USER", ""), came[3]
    at = f"{user}@{came[2]}" if user else came[2]
    return f"ssh -N -L {port}:127.0.0.1:{port} {'' if door == '22' else f'-p {door} '}{at}"


@click.command("serve")
@click.argument("roots", nargs=-1, metavar="[ROOT...]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen there. Default: a free port.")
@click.option("--open", "browser", is_flag=True, help="Open a browser.")
@click.option(
    "--allow-apply", is_flag=True, help="Let the pages write patches to configs, and take them back."
)
def command(roots: tuple[str, ...], *, port: int, browser: bool, allow_apply: bool) -> int:
    """Show all runs below folders as pages in a browser, live, the worst first.

    ROOT is a folder of runs; by default `runs`, or the working folder. The pages are for this machine alone:
    they answer on 127.0.0.1 to whoever has the address, read nothing outside of the folders, and load nothing
    from elsewhere.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError("`hrmdoc serve` needs more packages", hint="pip install 'hrmdoc[serve]'")
    from hrmdoc.web.server import serve

    def say(address: str) -> None:
        click.echo(address)
        click.echo("hrmdoc: open this address in a browser; ctrl-C ends it", err=True)
        if there := _from_afar(address):
            click.echo(
                f"hrmdoc: this machine alone is answered; where you sit, first type: {there}", err=True
            )

    serve(roots, port=port, allow_apply=allow_apply, browser=browser, say=say)
    return 0
