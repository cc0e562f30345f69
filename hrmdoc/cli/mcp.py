"""`hrmdoc mcp [ROOT...]`"""

from __future__ import annotations

import importlib.util

import click

from hrmdoc.errors import UsageError


@click.command("mcp")
@click.argument("roots", nargs=-1, metavar="[ROOT...]")
@click.option("--allow-apply", is_flag=True, help="Let it write patches that [policy] allows without asking.")
def command(roots: tuple[str, ...], *, allow_apply: bool) -> int:
    """Let an assistant ask about runs, over the Model Context Protocol on standard input and output.

    ROOT is a folder of runs; by default `runs`, or the working folder. Nothing outside of the folders is read
    or written. What a run wrote is marked as data in every answer.
    """
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("`hrmdoc mcp` needs the package mcp", hint="pip install 'hrmdoc[mcp]'")
    from hrmdoc.mcp_server.server import serve
    from hrmdoc.mcp_server.tools import Tools
    from hrmdoc.web.roots import Roots

    serve(Tools(Roots.of(roots), allow_apply))
    return 0
