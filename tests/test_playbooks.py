"""Every page can be reached from a rule, has the shape that a reader expects, and every reference of a rule
leads somewhere."""

from __future__ import annotations

import datetime
import importlib.util
import re
import unicodedata
from functools import cache
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

from hrmdoc import measures, rulebook
from hrmdoc.cli.shared.commands import COMMANDS
from hrmdoc.paths import data_dir
from hrmdoc.remedies.actions import ACTIONS
from hrmdoc.rulebook.pages import sections
from hrmdoc.trainer.config.load import key_types

FOLDER = data_dir("playbooks")
PAGES = sorted(FOLDER.glob("*.md"))
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation", "Verification", "Prevention"]
NOT_IN_RULES = {"own-rules"}
"""Named by the scaffold of `hrmdoc rules new`, not by a built-in rule."""
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home|Users|global|mnt|opt|data|scratch)/")

every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def front_matter(text: str) -> dict[str, object]:
    assert text.startswith("---\n"), "no front matter"
    block, closed, _ = text.removeprefix("---\n").partition("\n---\n")
    assert closed, "front matter is not closed"
    loaded: dict[str, object] = YAML(typ="safe", pure=True).load(block)
    return loaded


def anchors(page: str) -> set[str]:
    return {section.anchor for section in sections(page) if section.level >= 3}


@cache
def references() -> tuple[tuple[str, str], ...]:
    book = rulebook.load()
    symptoms = tuple((rule.id, rule.playbook) for rule in book.symptoms.values())
    return symptoms + tuple((cause.id, cause.playbook) for cause in book.causes.values())


def test_every_page_is_named_by_a_rule() -> None:
    named = {ref.partition("#")[0] for _, ref in references()}
    assert {path.stem for path in PAGES} - named == NOT_IN_RULES


def test_no_page_links_to_an_anchor_that_does_not_exist() -> None:
    stems = {path.stem for path in PAGES}
    broken = []
    for path in PAGES:
        for page, anchor in re.findall(r"`([a-z-]+)(?:#([a-z0-9-]+))`", path.read_text("utf-8")):
            if page not in stems or anchor not in anchors(page):
                broken.append((path.stem, f"{page}#{anchor}"))
    assert broken == []


@every_page
def test_a_page_says_who_keeps_it_and_when_it_was_last_read(path: Path) -> None:
    given = front_matter(path.read_text("utf-8"))
    assert list(given) == ["status", "owner", "summary", "last_reviewed"]
    assert given["status"] in ("active", "draft", "deprecated")
    assert given["owner"]
    assert given["summary"]
    assert isinstance(given["last_reviewed"], datetime.date)


@every_page
def test_a_page_has_one_title_and_the_six_sections_in_order(path: Path) -> None:
    found = sections(path.stem)
    assert [section.level for section in found].count(1) == 1
    assert [section.title for section in found if section.level == 2] == SECTIONS


@every_page
def test_a_section_is_never_empty_and_no_anchor_stands_twice(path: Path) -> None:
    text = path.read_text("utf-8")
    slugs = [section.anchor for section in sections(path.stem)]
    assert sorted(set(slugs)) == sorted(slugs)
    empty = re.findall(r"^(#{2,}) .+\n+(#{2,}) (.+)$", text, re.MULTILINE)
    assert [words for above, below, words in empty if len(below) <= len(above)] == []


@every_page
def test_a_page_can_be_read_in_one_go(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert 60 <= len(lines) <= 240
    assert [line for line in lines if len(line) > 200] == []


@every_page
def test_code_blocks_are_closed_and_say_their_language(path: Path) -> None:
    fences = [line for line in path.read_text("utf-8").splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0
    assert all(len(fence) > 3 for fence in fences[::2])
    assert all(fence == "```" for fence in fences[1::2])


@every_page
def test_code_has_no_line_that_a_renderer_of_headings_would_shift(path: Path) -> None:
    text = path.read_text("utf-8")
    marked = [line for line in text.splitlines() if line.startswith("#")]
    assert len(marked) == len(sections(path.stem))


@every_page
def test_a_page_holds_no_control_characters_and_no_path_of_one_machine(path: Path) -> None:
    text = path.read_text("utf-8")
    assert [
        hex(ord(char)) for char in text if unicodedata.category(char) in ("Cc", "Cf") and char != "\n"
    ] == []
    assert MACHINE_PATH.findall(text) == []
    assert text.endswith("\n")


OF_THE_TRAINER = {"train", "evaluate", "dataset", "validate"}
"""Commands that parse their own arguments, `key=value` among them."""


def shell_lines(text: str) -> list[str]:
    """The lines of all shell blocks."""
    return [
        line
        for block in re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]


def test_every_hrmdoc_command_in_a_page_exists_with_its_options() -> None:
    wrong = []
    for path in PAGES:
        for line in shell_lines(path.read_text("utf-8")):
            for name, rest in re.findall(r"\bhrmdoc ([a-z]+)([^|&#>;]*)", line):
                if name not in COMMANDS or name in OF_THE_TRAINER:
                    wrong += [] if name in COMMANDS else [(path.stem, name)]
                    continue
                options = option_names(name)
                wrong += [] if options else [(path.stem, f"{name} cannot be called")]
                used = [word for word in rest.partition(" -- ")[0].split() if word.startswith("-")]
                wrong += [(path.stem, f"{name} {word}") for word in used if word not in options]
    assert wrong == []


def option_names(name: str) -> set[str]:
    """All options of a command and of its subcommands; none for a command that is listed and cannot be
    called."""
    if importlib.util.find_spec(f"hrmdoc.cli.{name}") is None:
        return set()
    command = importlib.import_module(f"hrmdoc.cli.{name}").command
    parts = [command, *command.commands.values()] if isinstance(command, click.Group) else [command]
    return {
        option
        for part in parts
        for parameter in part.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


def test_every_training_key_in_a_page_exists() -> None:
    known = key_types()
    wrong = []
    for path in PAGES:
        for line in shell_lines(path.read_text("utf-8")):
            for rest in re.findall(r"\bhrmdoc train([^|&#>;]*)", line):
                keys = re.findall(r"(?:^|\s)([a-z_A-Z.]+)=", rest)
                wrong += [(path.stem, key) for key in keys if key not in known]
    assert wrong == []


def test_every_remedy_rule_and_action_in_a_page_exists() -> None:
    book = rulebook.load()
    named = {*book.symptoms, *book.causes, *book.remedies, *book.signatures, *measures.names()}
    wrong = []
    for path in PAGES:
        text = path.read_text("utf-8")
        wrong += [
            (path.stem, one) for one in re.findall(r"--remedy ([a-z0-9-]+)", text) if one not in book.remedies
        ]
        wrong += [
            (path.stem, one) for one in re.findall(r"hrmdoc explain ([a-z0-9-]+)", text) if one not in named
        ]
        wrong += [
            (path.stem, one) for one in re.findall(r'"action": "([a-z_]+)"', text) if one not in ACTIONS
        ]
    assert wrong == []
