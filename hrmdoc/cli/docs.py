"""`hrmdoc docs [WORDS...]`"""

from __future__ import annotations

import click


@click.command("docs")
@click.argument("words", nargs=-1, metavar="[WORDS...]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen there. Default: a free port.")
@click.option("--open", "browser", is_flag=True, help="Open a browser.")
def command(words: tuple[str, ...], *, port: int, browser: bool) -> int:
    """Show the manual of this version in a browser: tutorial, how-tos, playbooks, every rule, settings.

    With WORDS, the address is that of a search for them. It is served to this machine alone, from the
    installed package; nothing is loaded from elsewhere.
    """
    import webbrowser
    from urllib.parse import quote_plus

    from hrmdoc.manual.pages import manual
    from hrmdoc.manual.server import serve
    from hrmdoc.manual.show import Shown

    def say(address: str) -> None:
        where = address + (f"search?q={quote_plus(' '.join(words))}" if words else "")
        click.echo(where)
        click.echo("hrmdoc: open this address in a browser; ctrl-C ends it", err=True)
        if browser:
            webbrowser.open(where)

    group = click.get_current_context().find_root().command
    if not isinstance(group, click.Group):  # called by itself
        group = click.Group()
    serve(Shown(manual(group)), port=port, say=say)
    return 0
