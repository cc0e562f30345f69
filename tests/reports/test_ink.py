"""hrmdoc.reports.ink"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Styled

from hrmdoc.reports.ink import _NARROW, _STYLED, Plain, Text, shows_styles
from hrmdoc.reports.layout import put

WORDS = st.text(st.sampled_from("ab \n-█→…✓損é"), max_size=60)
STYLES = st.sampled_from(["", "bold", "dim", "not bold dim", "red", "not bold cyan"])
PIECES = st.lists(st.tuples(WORDS, STYLES), max_size=5)


def drawn(console: Any, pieces: list[tuple[str, str]], lead: str) -> None:
    body = Text(style="bold")
    for text, style in pieces:
        body.append(text, style)
    put(console, body, lead=Text(lead, style="green"))


@settings(deadline=None)
@given(PIECES, st.sampled_from(["", "Next: ", " ✓ "]), st.integers(40, 70))
def test_what_is_no_terminal_gets_the_lines_that_rich_would_write(
    pieces: list[tuple[str, str]], lead: str, width: int
) -> None:
    plain, rich = io.StringIO(), io.StringIO()
    drawn(Plain(plain, width), pieces, lead)
    drawn(Console(file=rich, width=width, markup=False, emoji=False, highlight=False), pieces, lead)
    assert plain.getvalue() == rich.getvalue()


@settings(deadline=None)
@given(PIECES, st.integers(20, 40))
def test_lines_break_where_rich_breaks_them_in_the_same_styles(
    pieces: list[tuple[str, str]], room: int
) -> None:
    own, styled = Text(style="bold"), Styled(style="bold")
    for text, style in pieces:
        own.append(text, style)
        styled.append(text, style)
    console = Console(file=io.StringIO(), width=room, force_terminal=True, color_system="truecolor")
    wrapped = styled.wrap(console, room, overflow="fold")
    lines = own.wrap(room)
    for line in wrapped:
        line.rstrip()
    assert [line.plain for line in lines] == [line.plain for line in wrapped]
    for line, expected in zip(lines, wrapped, strict=True):
        assert _letters(console, line) == _letters(console, expected)


def _letters(console: Console, line: object) -> list[tuple[str, str]]:
    return [(letter, str(part.style)) for part in console.render(line) for letter in part.text]  # type: ignore[arg-type]


def test_letters_that_are_counted_without_rich_take_one_column_each() -> None:
    narrow = [letter for letter in map(chr, range(sys.maxunicode)) if _NARROW.fullmatch(letter)]
    assert len(narrow) > 900
    assert [letter for letter in narrow if cell_len(letter) != 1] == []
    assert Text("損失").cell_len == 4


def test_texts_are_joined_with_their_styles() -> None:
    joined = Text(", ").join([Text("a", style="bold"), Text("b").append("c", style="dim")])
    assert joined.plain == "a, bc"
    console = Console(file=io.StringIO(), width=20)
    assert [(part.text, str(part.style)) for part in console.render(joined)] == [
        ("a", "bold"), (", b", "none"), ("c", "dim"), ("\n", "None"),
    ]  # fmt: skip


def test_a_report_in_a_pipe_loads_no_console_of_rich(apart: Path) -> None:
    log = apart / "train.log"
    log.write_text("".join(f"step {at} loss {2 / at:.3f}\n" for at in range(1, 40)))
    asked = "print('rich.console' in sys.modules)"
    program = f"import sys; from hrmdoc.cli.main import main; main(sys.argv[1:]); {asked}"
    variables = {name: value for name, value in os.environ.items() if name not in _STYLED}
    told = subprocess.run(
        [sys.executable, "-c", program, "analyze", str(log)],
        capture_output=True,
        text=True,
        env=variables,
        check=True,
    )
    assert "39 lines" in told.stdout
    assert told.stdout.endswith("False\n")


@pytest.mark.parametrize(("name", "value", "shown"), [("FORCE_COLOR", "1", True), ("FORCE_COLOR", "", False)])
def test_the_environment_may_ask_for_styles(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, shown: bool
) -> None:
    for one in _STYLED:
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(name, value)
    assert shows_styles(io.StringIO()) is shown
