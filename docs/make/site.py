"""Builds the site: the pages of `hrmdoc docs` by MkDocs, with a search that needs no server of its own.
A link that leads nowhere fails the build.

python docs/make/site.py [FOLDER]
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from hrmdoc.cli.main import cli
from hrmdoc.manual.markup import CODE
from hrmdoc.manual.pages import Manual, manual

BUILD = Path(__file__).resolve().parents[2] / "build"
STRICT = {
    "nav": {"omitted_files": "warn", "not_found": "warn"},
    "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
}


def main(target: str = str(BUILD / "site")) -> None:
    """Writes the pages as Markdown, and from these the site into `target`."""
    made = manual(cli)
    sources = BUILD / "manual"
    shutil.rmtree(sources, ignore_errors=True)
    for path, page in made.pages().items():
        _place(sources / path).write_text(_tagless(page.text), "utf-8")
    for path, file in made.files.items():
        shutil.copyfile(file, _place(sources / path))
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    config = load_config(
        str(Path(__file__).with_name("mkdocs.yml")),
        docs_dir=str(sources),
        site_dir=target,
        nav=_nav(made),
        validation=STRICT,
        strict=True,
    )
    try:
        build(config)
    except Abort as error:
        sys.exit(str(error))
    pages = len(made.pages())
    print(f"{pages} pages, every link holds: {target}/index.html")


def _tagless(text: str) -> str:
    """The page with code that holds `<` written as characters: MkDocs looks for tags in code as well."""
    return CODE.sub(_spelt, text)


def _spelt(found: re.Match[str]) -> str:
    if found["fence"] or "<" not in found[0]:
        return found[0]
    inner = found[0].removeprefix(found["ticks"]).removesuffix(found["ticks"]).strip(" ")
    return f"<code>{re.sub(r'[^A-Za-z0-9 ]', lambda one: f'&#{ord(one[0])};', inner)}</code>"


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _nav(made: Manual) -> list[Any]:
    nav: list[Any] = [{page.title: page.path} for page in made.chapters[""]]
    nav += [
        {chapter: [{page.title.rpartition(": ")[2].replace("`", ""): page.path} for page in pages]}
        for chapter, pages in made.chapters.items()
        if chapter
    ]
    return nav


if __name__ == "__main__":
    main(*sys.argv[1:])
