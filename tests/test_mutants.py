"""The runner of mutants makes one change each, and knows whose tests to ask."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants import change, mutants, mutated, nearest

SOURCE = """@cache(maxsize=1)
def f(a, b):
    log(a)
    if not a and b < 3:
        return a + b
    return True
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "module.py"
    made.write_text(SOURCE)
    return made


def test_each_mutant_is_one_change_of_its_line(file: Path) -> None:
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    found = {}
    for one in mutants(file):
        changed = mutated(one).splitlines()
        (different,) = [number for number, line in enumerate(plain, 1) if line != changed[number - 1]]
        assert different == one.line
        found[one.what] = changed[different - 1].strip()
    assert found == {
        "removed call": "None",
        "all of it by Or": "if not a or b < 3:",
        "without its not": "if not not a and b < 3:",
        "Lt -> LtE": "if not a and b <= 3:",
        "3 -> 4": "if not a and b < 4:",
        "returns None": "return None",
        "by Sub": "return a - b",
        "True -> False": "return False",
    }


@pytest.mark.parametrize("kept", ["'a' + b", "f'{a}' + b", "[a] + b", "'text'", "None", "a if b else c"])
def test_what_would_only_break_or_change_words_is_no_mutant(kept: str) -> None:
    assert [change(node) for node in ast.walk(ast.parse(kept))] == [""] * len(list(ast.walk(ast.parse(kept))))


def test_the_nearest_tests_bear_the_name_of_the_module_or_its_room(tmp_path: Path) -> None:
    room = tmp_path / "tests" / "room"
    room.mkdir(parents=True)
    for name in ("test_one.py", "test_one_more.py", "test_two.py"):
        (room / name).touch()
    assert nearest(tmp_path / "hrmdoc/room/one.py", tmp_path) == [
        "tests/room/test_one.py",
        "tests/room/test_one_more.py",
    ]
    assert nearest(tmp_path / "hrmdoc/room/three.py", tmp_path) == ["tests/room"]
    assert nearest(tmp_path / "hrmdoc/room/deeper/three.py", tmp_path) == ["tests/room"]
