"""Sections of the playbooks, cut from their Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from hrmdoc.paths import data_dir

_HEADING = re.compile(r"(?P<marks>#{1,6}) +(?P<title>.+?)\s*")


@dataclass(frozen=True, slots=True)
class Section:
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


def excerpt(playbook: str, causes: Iterable[str] = ()) -> str:
    """What a reader needs of a page (`page#anchor`): its own section, what to do, how to see that it helped.

    Args:
        causes: playbook references of the likely causes; where some lie on this page, of the mitigation only
            their parts are given.
    """
    page, _, anchor = playbook.partition("#")
    own = [one for one in sections(page) if anchor and one.level == 3 and one.anchor == anchor]
    parts = own or _under(page, "Meaning")
    named = {name.partition("#")[2] for name in causes if name.partition("#")[0] == page}
    parts += _mitigation(page, named, {section.anchor for section in own})
    parts += _under(page, "Verification")
    return "\n\n".join(
        f"{'#' * max(section.level, 2)} {section.title}\n\n{section.text}".rstrip() for section in parts
    )


def _mitigation(page: str, named: set[str], shown: set[str]) -> list[Section]:
    """What to do: the parts that are `named`, or all; without those that are `shown` already."""
    mitigation = _under(page, "Mitigation")
    chosen = [one for one in mitigation[1:] if one.anchor in named and one.anchor not in shown]
    rest = chosen if named or any(one.anchor in shown for one in mitigation) else mitigation[1:]
    return [mitigation[0], *rest] if mitigation and (mitigation[0].text or rest) else []


def _under(page: str, title: str) -> list[Section]:
    """The section of level 2 with that title, and those inside it."""
    found: list[Section] = []
    for section in sections(page):
        if section.level <= 2 and found:
            break
        if found or (section.level == 2 and section.title == title):
            found.append(section)
    return found
