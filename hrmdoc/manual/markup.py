"""Markdown that two dialects read alike: the one of the site and the one of `hrmdoc docs`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

Link = Callable[[str, bool], str | None]
"""From what stands in code, and whether a bracket opens before it, to where that is explained."""
CODE = re.compile(
    r"(?P<fence>^```.*?^``` *$)|(?P<span>(?P<ticks>`+)(?!`)(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`))", re.M | re.S
)
"""Code in Markdown: fenced, or a span between backquotes."""
_HEADING = re.compile(r"(#{1,6}) +(.+?)\s*")
_BULLET = re.compile(r"(?:[*-]|1\.) +\S")
_INSIDE = re.compile(r"(?:[*-]|\d+\.) |\s|$|[|>]")


def heading(level: int, title: str, anchor: str) -> str:
    """A heading that links lead to by `anchor`, whatever a dialect would call it."""
    return f"{'#' * level} {title} {{ #{anchor} }}"


def anchor_of(title: str) -> str:
    """The anchor of a heading as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def settled(text: str, link: Link | None = None) -> str:
    """A page with an anchor at each heading, an empty line before each list, nothing that would be taken for
    a tag, and links at names in code for which `link` has a place."""
    return "\n".join(_rendered_lines(_outside_code(text, link)))


def _outside_code(text: str, link: Link | None) -> str:
    """The text with tags escaped outside of code, and code spans linked."""
    parts, at = list[str](), 0
    for found in CODE.finditer(text):
        before = text[at : found.start()]
        parts.append(_escaped(before))
        name = found["span"].strip("`") if found["span"] else ""
        # What a link is written around is a link already.
        place = link(name, before.endswith("(")) if link and name and not before.endswith("[") else None
        parts.append(f"[{found[0]}]({place})" if place else found[0])
        at = found.end()
    return "".join([*parts, _escaped(text[at:])])


def _escaped(text: str) -> str:
    return re.sub(r"<(?!https?://)", "&lt;", text)


def _rendered_lines(text: str) -> Iterator[str]:
    fenced, before, seen = False, "", set[str]()
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        found = None if fenced else _HEADING.fullmatch(line)
        if found and not found[2].endswith("}"):
            anchor = anchor_of(found[2])
            yield line if anchor in seen else heading(len(found[1]), found[2], anchor)
            seen.add(anchor)
        else:
            if not fenced and _BULLET.match(line) and not _INSIDE.match(before):
                yield ""
            yield line
        before = line


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; a bar inside a cell is escaped."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)
