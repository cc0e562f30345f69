"""`hrmdoc explain ID`"""

from __future__ import annotations

import click

from hrmdoc.cli.shared.options import ids
from hrmdoc.errors import UsageError, did_you_mean


@click.command("explain")
@click.argument("name", metavar="ID", shell_complete=ids)
def command(name: str) -> int:
    """Explain a symptom, cause, remedy, signature or measure, and print the page of its playbook."""
    from pathlib import Path

    from hrmdoc import measures, rulebook, settings
    from hrmdoc.cli.shared.options import console
    from hrmdoc.reports.explanation import explanation
    from hrmdoc.reports.layout import WIDEST

    own = settings.load(Path.cwd())
    book = rulebook.load(Path(folder) for folder in own.rules)
    text = explanation(name, book)
    if text is None:
        sorts = (book.symptoms, book.causes, book.remedies, book.signatures, book.formerly)
        known = [*measures.names(), *(one for sort in sorts for one in sort)]
        raise UsageError(
            f"nothing is called {name!r}",
            hint=did_you_mean(name, known) or "`hrmdoc rules list` lists all ids",
        )
    out = console()
    if not out.is_terminal:
        click.echo(text)
        return 0
    from rich.markdown import Markdown

    out.print(Markdown(text), width=min(out.width, WIDEST))
    return 0
