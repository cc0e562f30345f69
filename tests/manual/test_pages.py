"""The manual is whole: every rule has its place, and every link of it leads somewhere."""

from __future__ import annotations

import posixpath
import re

import click
import pytest

from hrmdoc import rulebook
from hrmdoc.cli.main import cli
from hrmdoc.cli.shared.commands import COMMANDS
from hrmdoc.manual.pages import Manual, manual
from hrmdoc.manual.rules import SORTS, Shelf
from hrmdoc.manual.show import Shown

_LINK = re.compile(r"(?<!\\)\]\((?P<to>[^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|``.*?``|`[^`\n]*`", re.M | re.S)
_CALL = re.compile(r"^\$ hrmdoc (?P<words>.*)$", re.M)


@pytest.fixture(scope="module")
def made() -> Manual:
    return manual(cli)


def test_every_rule_stands_on_the_page_that_links_to_it_name(made: Manual) -> None:
    book, pages = rulebook.load(), made.pages()
    shelf = Shelf(book)
    rules = {
        "symptoms": book.symptoms,
        "causes": book.causes,
        "remedies": book.remedies,
        "signatures": book.signatures,
    }
    for sort in SORTS:
        assert rules[sort]
        for name in rules[sort]:
            path, _, anchor = shelf.place(sort, name).partition("#")
            assert f"{{ #{anchor} }}\n" in pages[path].text, name


def test_every_link_leads_to_a_page_or_a_file(made: Manual) -> None:
    pages = made.pages()
    seen = 0
    for page in pages.values():
        # What is linked may be code; what is only quoted in code is no link.
        for to in _LINK.findall(_CODE.sub("x", page.text)):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), to.partition("#")[0]))
            if not to.startswith(("http", "#")):
                seen += 1
                assert target in pages or target in made.files, (page.path, to)
    assert seen > 1000


def test_every_command_that_the_manual_tells_to_type_exists_with_its_options(made: Manual) -> None:
    seen = 0
    for page in made.pages().values():
        for words in _CALL.findall(page.text):
            name, *rest = words.partition(" #")[0].partition(" -- ")[0].partition(" |")[0].split()
            assert name in COMMANDS, (page.path, words)
            seen += 1
            command = cli.get_command(click.Context(cli), name)
            assert command is not None
            known = {
                option for one in _with_inner(command, rest) for param in one.params for option in param.opts
            }
            for word in rest:
                if (
                    word.startswith("-")
                    and word != "-"
                    and command.context_settings.get("help_option_names") != []
                ):
                    assert word.partition("=")[0] in known | {"--help"}, (page.path, words)
    assert seen > 20


def _with_inner(command: click.Command, rest: list[str]) -> list[click.Command]:
    if isinstance(command, click.Group) and rest and rest[0] in command.commands:
        return [command.commands[rest[0]]]
    return [command]


def test_settings_and_python_come_from_the_code(made: Manual) -> None:
    pages = made.pages()
    settings = pages["reference/settings.md"].text
    assert "| `min_probability` | number, above 0, at most 1 | `0.5` |" in settings
    assert "## `[[alerts.route]]` { #alerts-route }" in settings
    assert "`origin`" not in settings
    assert "* `facts`: canonical facts that the user states" in pages["reference/python.md"].text
    assert "| `run.last_step` | integer or null |" in pages["reference/json.md"].text
    assert "--fail-on" in pages["reference/commands.md"].text


def test_a_page_is_shown_with_anchors_and_without_their_marks(made: Manual) -> None:
    text = Shown(made).page("symptoms/zero-loss.md") or ""
    assert '<h2 id="loss-zero-from-start">The loss is zero from its first point</h2>' in text
    assert "{ #" not in text
    assert "<script" not in text
    assert Shown(made).page("no/such.md") is None


def test_a_search_finds_a_rule_by_its_name_first_and_escapes_what_was_asked(made: Manual) -> None:
    shown = Shown(made)
    first = re.search(r'<li><a href="(/[^"]*)">[^<]*</a> <span', shown.search("loss-spike"))
    assert first is not None
    assert first[1] == "/symptoms/loss.md#loss-spike"
    assert "<b>" not in shown.search("<b>")
    assert "0 sections" in shown.search("")
