"""Every symptom, cause, remedy and signature: a page for each sort and topic, tables of all; playbooks."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import get_args

from hrmdoc.manual.markup import Link, heading, settled, table
from hrmdoc.reports.explanation import Sort, entry
from hrmdoc.rulebook import Rulebook
from hrmdoc.rulebook.pages import playbooks, sections

SORTS: tuple[Sort, ...] = get_args(Sort)
OTHER = "other"
LEAD: dict[Sort, str] = {
    "symptoms": "What a run may show: each is a rule that says when it is present, and when it is wrong.",
    "causes": "What may be behind it. Causes are ranked by what they show as, how often, and the settings.",
    "remedies": "What helps, how risky it is, and how one sees that it helped.",
    "signatures": "Wordings of log lines, each with a line that a real program wrote.",
}


class Shelf:
    """Where each rule stands. Topics are those of the playbooks."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self.topics: dict[Sort, dict[str, str]] = {
            "symptoms": {name: _topic(rule.playbook) for name, rule in book.symptoms.items()},
            "causes": {name: _topic(cause.playbook) for name, cause in book.causes.items()},
            "remedies": dict.fromkeys(book.remedies, OTHER),
            "signatures": {},
        }
        for cause in sorted(
            book.causes.values(), key=lambda one: one.prior
        ):  # the commonest has the last word
            self.topics["remedies"].update(
                {name: _topic(cause.playbook) for name in cause.remedies if name in book.remedies}
            )
        for name, signature in book.signatures.items():
            self.topics["signatures"][name] = self.topics["symptoms"].get(signature.symptom, OTHER)

    def place(self, sort: Sort, name: str) -> str:
        """The address of a rule within the manual."""
        return f"{sort}/{self.topics[sort][name]}.md#{name}"

    def link(self, page: str, name: str, bracket: bool) -> str | None:
        """Where a name in code on `page` leads. In brackets stand causes and remedies, elsewhere symptoms."""
        if target := self._target(name, bracket):
            return posixpath.relpath(target, posixpath.dirname(page) or ".")
        return None

    def _target(self, name: str, bracket: bool) -> str | None:
        topic, mark, anchor = name.partition("#")
        if mark:
            known = topic in playbooks() and any(one.anchor == anchor for one in sections(topic))
            return f"playbooks/{topic}.md#{anchor}" if known else None
        order: tuple[Sort, ...] = ("symptoms", "causes", "remedies")
        for sort in order[1:] + order[:1] if bracket else order:
            if name in self.topics[sort]:
                return self.place(sort, name)
        return None


def pages(book: Rulebook) -> dict[str, str]:
    """All of these pages, by their paths."""
    shelf = Shelf(book)
    found = {f"playbooks/{name}.md": _playbook(name, shelf) for name in playbooks()}
    for sort in SORTS:
        by_topic = defaultdict[str, list[str]](list)
        for name, topic in shelf.topics[sort].items():
            by_topic[topic].append(name)
        found[f"{sort}/index.md"] = _index(sort, by_topic, shelf)
        for topic, names in sorted(by_topic.items()):
            path = f"{sort}/{topic}.md"
            lines = "\n\n".join(_entries(sort, names, shelf.book, partial(shelf.link, path)))
            found[path] = f"# {sort.capitalize()}: {title_of(topic)}\n\n{lines}\n"
    return found


def title_of(topic: str) -> str:
    """The title of a playbook."""
    parts = sections(topic)
    return parts[0].title if parts else topic.capitalize()


def _topic(playbook: str) -> str:
    return playbook.partition("#")[0]


def _entries(sort: Sort, names: list[str], book: Rulebook, link: Link) -> Iterator[str]:
    for name in sorted(names):
        first, _, rest = entry(sort, name, book).partition("\n")
        yield heading(2, settled(first.removeprefix("# ")), name) + "\n" + settled(rest, link).rstrip()


def _index(sort: Sort, by_topic: Mapping[str, list[str]], shelf: Shelf) -> str:
    parts = [f"# {sort.capitalize()}", f"{LEAD[sort]} `hrmdoc explain ID` prints the same."]
    for topic, names in sorted(by_topic.items()):
        rows = (
            [f"[`{name}`]({topic}.md#{name})", settled(_title(sort, name, shelf.book))]
            for name in sorted(names)
        )
        parts += [f"## {title_of(topic)}", table(("id", "title"), rows)]
    return "\n\n".join(parts) + "\n"


def _title(sort: Sort, name: str, book: Rulebook) -> str:
    if sort == "signatures":
        return book.signatures[name].means
    if sort == "symptoms":
        return book.symptoms[name].title
    return book.causes[name].title if sort == "causes" else book.remedies[name].title


def _playbook(name: str, shelf: Shelf) -> str:
    """A playbook with links from the names of rules, and the rules that it explains."""
    path = f"playbooks/{name}.md"
    text = "\n\n".join(f"{heading(one.level, one.title, one.anchor)}\n\n{one.text}" for one in sections(name))
    listed = [text]
    for sort in ("symptoms", "causes"):
        names = sorted(one for one, topic in shelf.topics[sort].items() if topic == name)
        if names:
            listed.append(
                f"**{sort.capitalize()} on this page:** " + ", ".join(f"`{one}`" for one in names) + "."
            )
    return settled("\n\n".join(listed), partial(shelf.link, path)) + "\n"
