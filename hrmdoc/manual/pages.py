"""All pages of the manual in the order in which they are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click

from hrmdoc import rulebook
from hrmdoc.manual import reference, rules
from hrmdoc.manual.docstrings import python_page
from hrmdoc.manual.markup import settled
from hrmdoc.manual.settings_page import page as settings_page
from hrmdoc.paths import data_dir

FIRST = ("index.md", "tutorial.md")
LAST = ("comparison.md", "install.md", "glossary.md")
NOT_PAGES = {"decisions", "make", "skills"}
"""Folders of `docs` that are for those who change hrmdoc, and for programs."""
_TITLE = re.compile(r"# +(.+?)(?: \{ #[^}]*\})?")


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its path within the manual, as links name it, and its Markdown."""

    path: str
    text: str

    @property
    def title(self) -> str:
        """Its first heading."""
        found = next((found for line in self.text.splitlines() if (found := _TITLE.fullmatch(line))), None)
        return found[1] if found else self.path


@dataclass(frozen=True, slots=True)
class Manual:
    """Chapters with their pages, and other files that pages lead to, by their paths."""

    chapters: dict[str, tuple[Page, ...]]
    files: dict[str, Path]

    def pages(self) -> dict[str, Page]:
        """Every page by its path."""
        return {page.path: page for chapter in self.chapters.values() for page in chapter}


def manual(commands: click.Group) -> Manual:
    """The manual of this version. `commands`: the command line that it describes."""
    folder = data_dir("docs")
    book = rulebook.load()
    by_hand, files = _by_hand(folder)
    rest = {name for name in by_hand if "/" not in name} - {*FIRST, *LAST}
    made = {path: Page(path, text) for path, text in rules.pages(book).items()}
    made |= {
        path: Page(path, text)
        for path, text in {
            "reference/commands.md": reference.commands_page(commands),
            "reference/settings.md": settings_page(),
            "reference/json.md": reference.json_page(),
            "reference/python.md": python_page(),
            "reference/measures.md": reference.measures_page(book),
        }.items()
    }
    chapters = {
        "": tuple(by_hand[name] for name in FIRST),
        "How to": (*_below(by_hand, "howto"), *(by_hand[name] for name in sorted(rest))),
        "Operations": _below(by_hand, "operations"),
        "Playbooks": _below(made, "playbooks"),
        **{sort.capitalize(): _below(made, sort) for sort in rules.SORTS},
        "Reference": _below(made, "reference"),
        "More": (*(by_hand[name] for name in LAST), *_below(by_hand, "benchmarks")),
    }
    return Manual(chapters, files)


def _by_hand(folder: Path) -> tuple[dict[str, Page], dict[str, Path]]:
    pages, files = dict[str, Page](), dict[str, Path]()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name.partition("/")[0] in NOT_PAGES:
            continue
        if path.suffix == ".md":
            pages[name] = Page(name, settled(path.read_text("utf-8")) + "\n")
        else:
            files[name] = path
    return pages, files


def _below(pages: dict[str, Page], folder: str) -> tuple[Page, ...]:
    """The pages in a folder, its overview first."""
    found = [page for path, page in pages.items() if path.startswith(f"{folder}/")]
    return tuple(
        sorted(found, key=lambda page: (not page.path.endswith(("index.md", "README.md")), page.path))
    )
