"""The manual as HTML, a page at a time, and a search over its sections. Nothing is loaded from elsewhere, and
no script runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from hrmdoc.manual.pages import Manual, Page
from hrmdoc.reports import html

HERE = Path(__file__).parent / "templates"
FOUND = 40
_ANCHOR = re.compile(r"(?P<title>.*?) \{ #(?P<anchor>[\w-]+) \}")
_HEADING = re.compile(r"#{1,3} (?P<title>.+?) \{ #(?P<anchor>[\w-]+) \}", re.M)


@dataclass(frozen=True, slots=True)
class Part:
    """A section as the search sees it."""

    page: Page
    title: str
    anchor: str
    text: str


@dataclass
class Shown:
    """A manual that can be looked at."""

    manual: Manual
    _markdown: MarkdownIt = field(
        default_factory=lambda: MarkdownIt("commonmark", {"html": False}).enable("table")
    )

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Every page by its path."""
        return self.manual.pages()

    def page(self, path: str) -> str | None:
        """One page as HTML; None where there is none."""
        page = self.pages.get(path)
        if page is None:
            return None
        tokens = self._markdown.parse(page.text)
        for before, token in pairwise(tokens):
            if before.type == "heading_open" and (found := _ANCHOR.fullmatch(token.content)):
                before.attrSet("id", found["anchor"])
                _shorten(token, len(token.content) - len(found["title"]))
        body = Markup(self._markdown.renderer.render(tokens, self._markdown.options, {}))  # noqa: S704 (no raw HTML)
        return self._whole(page.title, body, page)

    def search(self, words: str) -> str:
        """The sections that hold all words, those first that hold them in the title."""
        asked = words.lower().split()
        found = [part for part in self._parts if asked and all(one in part.text for one in asked)]
        found.sort(key=lambda part: -_weight(part, asked))
        rows = Markup("").join(
            Markup('<li><a href="/{}#{}">{}</a> <span class="soft small">{}</span></li>').format(
                one.page.path, one.anchor, one.title.replace("`", ""), one.page.title
            )
            for one in found[:FOUND]
        )
        more = f", of which {FOUND} are shown" if len(found) > FOUND else ""
        count = Markup("<h1>Search</h1><p>{} sections hold “{}”{}.</p><ul>").format(len(found), words, more)
        return self._whole("Search", count + rows + Markup("</ul>"), None, words)

    @cached_property
    def _parts(self) -> list[Part]:
        parts = []
        for page in self.pages.values():
            found = list(_HEADING.finditer(page.text))
            ends = [*(one.start() for one in found[1:]), len(page.text)]
            for one, end in zip(found, ends, strict=False):  # a page without a heading has no part
                parts.append(Part(page, one["title"], one["anchor"], page.text[one.start() : end].lower()))
        return parts

    @cached_property
    def _templates(self) -> Environment:
        made = Environment(
            loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        made.filters["short"] = lambda title: title.rpartition(": ")[2].replace("`", "")
        return made

    @cached_property
    def _style(self) -> Markup:
        return Markup(html.style() + (HERE / "manual.css").read_text("utf-8"))  # noqa: S704 (our own file)

    def _whole(self, title: str, body: Markup, here: Page | None, asked: str = "") -> str:
        template = self._templates.get_template("page.html.j2")
        chapters = self.manual.chapters
        return template.render(
            title=escape(title), body=body, here=here, asked=asked, chapters=chapters, style=self._style
        )


def _shorten(token: Token, count: int) -> None:
    """Takes the anchor off a heading's last piece of text."""
    for inner in reversed(token.children or []):
        cut = min(count, len(inner.content))
        inner.content = inner.content[: len(inner.content) - cut]
        count -= cut
        if not count:
            return


def _weight(part: Part, asked: list[str]) -> float:
    title = f"{part.title} {part.anchor}".lower()
    exact = " ".join(asked) in (part.anchor, part.title.lower())
    return (
        100 * exact
        + 10 * sum(one in title for one in asked)
        + min(9, sum(part.text.count(one) for one in asked)) / 10
    )
