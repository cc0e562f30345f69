"""What a reader needs of a playbook, cut from its page."""

from __future__ import annotations

from collections.abc import Iterable

from hrmdoc.rulebook.pages import Section, sections


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
