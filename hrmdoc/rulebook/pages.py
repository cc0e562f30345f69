"""Sections of the playbooks, cut from their Markdown."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from hrmdoc.paths import data_dir
from hrmdoc.text import patterns

_HEADING = patterns.lazy(r"(?P<marks>#{1,6}) +(?P<title>.+?)\s*")


class Section(Struct, frozen=True):
    """A heading, its level (number of `#`), and the text up to the next heading of any level."""

    title: str
    level: int
    text: str

    @property
    def anchor(self) -> str:
        """The name by which rules link to it, as GitHub makes it: lower case, punctuation dropped, spaces to
        hyphens."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")


@cache
def playbooks() -> tuple[str, ...]:
    """The names of the playbooks, in alphabetical order."""
    return tuple(sorted(path.stem for path in data_dir("playbooks").glob("*.md")))


@cache
def sections(page: str) -> tuple[Section, ...]:
    """The sections of a playbook in order, front matter left out; none when there is no such page."""
    path = data_dir("playbooks") / f"{page}.md"
    if not path.is_file():
        return ()
    text = path.read_text("utf-8")
    if text.startswith("---\n"):
        text = text.partition("\n---\n")[2]
    found: list[Section] = []
    title, level, fenced, lines = "", 0, False, list[str]()
    for line in [*text.splitlines(), "# "]:
        fenced ^= line.startswith("```")
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading or line == "# ":
            found.append(Section(title, level, "\n".join(lines).strip()))
            title, level, lines = (heading["title"], len(heading["marks"]), []) if heading else ("", 0, [])
        else:
            lines.append(line)
    return tuple(section for section in found if section.level)
