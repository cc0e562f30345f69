"""The playbooks as HTML, for reading beside a run. Their Markdown is ours; raw HTML in it is shown as text
all the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from hrmdoc.rulebook.pages import playbooks, sections

_RELATIVE = re.compile(r"(?:\./)?([\w-]+)\.md(#[\w-]*)?")


@dataclass(frozen=True, slots=True)
class Page:
    """One playbook: the name in addresses, its title, and its text as HTML whose headings have anchors."""

    name: str
    title: str
    text: Markup


@cache
def page(name: str) -> Page | None:
    """The playbook of that name, None where there is none."""
    if name not in playbooks():
        return None
    parts = sections(name)
    title = parts[0].title if parts else name
    text = "\n\n".join(f"{'#' * one.level} {one.title}\n\n{one.text}" for one in parts)
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    anchors = iter(one.anchor for one in parts)
    for token in tokens:
        if token.type == "heading_open":
            token.attrSet("id", next(anchors, ""))
        for inner in token.children or ():
            _lead(inner)
    return Page(name, title, Markup(markdown.renderer.render(tokens, markdown.options, {})))  # noqa: S704 (no raw HTML)


def address(playbook: str) -> str:
    """Where a reference of a rule (`page#section`) is read."""
    return f"/playbooks/{playbook}"


def _lead(token: Token) -> None:
    """Turns links between pages into addresses here; those that lead elsewhere say nothing of where one came
    from."""
    if token.type != "link_open":
        return
    href = str(token.attrGet("href") or "")
    if found := _RELATIVE.fullmatch(href):
        token.attrSet("href", address(found[1] + (found[2] or "")))
    elif href.startswith(("http:", "https:")):
        token.attrSet("rel", "noopener noreferrer")
        token.attrSet("target", "_blank")
