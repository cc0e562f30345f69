"""The runner of mutants makes one change each, asks the tests that reach it, and leaves no trace."""

from __future__ import annotations

import ast
import os
import time
from pathlib import Path

import pytest

from tests.mutants.__main__ import nearest, verdicts
from tests.mutants.changes import changes, mutants, mutated
from tests.mutants.processes import apart

SOURCE = """@cache(maxsize=1)
def f(a: int = 0, *, b):
    log(a)
    while not a and b < 3:
        if a:
            break
        a += b
    return g(a - b, key=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "module.py"
    made.write_text(SOURCE)
    return made


def test_each_mutant_is_one_change_of_its_line(file: Path) -> None:
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    found = []
    for one in mutants(file):
        changed = ast.unparse(mutated(one)).splitlines()
        (different,) = [number for number, line in enumerate(plain, 1) if line != changed[number - 1]]
        assert different == one.line
        assert one.scope == (() if one.what == "0 -> 1" else (1,))
        found.append((one.what, changed[different - 1].strip()))
    assert sorted(found) == [
        ("0 -> 1", "def f(a: int=1, *, b):"),
        ("3 -> 4", "while not a and b < 4:"),
        ("Add -> Sub", "a -= b"),
        ("And -> Or", "while not a or b < 3:"),
        ("Lt -> LtE", "while not a and b <= 3:"),
        ("Sub -> Add", "return g(a + b, key=True)"),
        ("True -> False", "return g(a - b, key=False)"),
        ("break -> continue", "continue"),
        ("condition -> not", "if not a:"),
        ("left out", "pass"),
        ("left out", "pass"),
        ("returns None", "return None"),
        ("without Not", "while a and b < 3:"),
        ("without key=", "return g(a - b)"),
    ]


@pytest.mark.parametrize(
    "kept", ["'a' + b", "f'{a}' + b", "[a] + b", "'text'", "None", "int | None", "zip(a, strict=True)"]
)
def test_what_would_only_break_or_change_words_is_no_mutant(tmp_path: Path, kept: str) -> None:
    (tmp_path / "kept.py").write_text(f"{kept}\n" if not kept.startswith("zip") else f"x = {kept}\n")
    assert mutants(tmp_path / "kept.py") == []
    assert [change for node in ast.walk(ast.parse("a < 1")) for change in changes(node)] != []


def test_the_nearest_tests_bear_the_name_of_the_file_or_its_room(tmp_path: Path) -> None:
    room = tmp_path / "tests" / "room"
    room.mkdir(parents=True)
    (room / "test_one.py").touch()
    assert nearest(tmp_path / "hrmdoc/room/one.py", tmp_path) == "tests/room/test_one.py"
    assert nearest(tmp_path / "hrmdoc/room/three.py", tmp_path) == "tests/room"
    assert nearest(tmp_path / "hrmdoc/room/deeper", tmp_path) == "tests/room"


CODE = """
LIMIT = 3


def keep(function):
    return function


@keep
def above(value):
    return value > LIMIT


def endless(count):
    while count:
        count -= 1


def unused():
    return 7
"""
TESTS = """
import limits


def test_above():
    assert limits.above(4) and not limits.above(2)


def test_endless():
    limits.endless(1)
"""


def test_a_mutant_is_killed_survives_or_is_reached_by_no_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "limits.py"
    code.write_text(CODE)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("tests.mutants.trials.START_S", 15.0)
    wanted = [one for one in mutants(code) if one.what not in ("returns None", "1 -> 2")]
    found = verdicts(tmp_path, wanted, [str(tmp_path / "test_it.py")], workers=2)
    assert sorted((one.line, one.what, verdict) for one, verdict in found.items()) == [
        (2, "3 -> 4", "killed"),
        (11, "Gt -> GtE", "SURVIVED"),
        (16, "Sub -> Add", "timed out"),
        (16, "left out", "timed out"),
        (20, "7 -> 8", "UNREACHED"),
    ]
    assert code.read_text() == CODE


def test_work_apart_answers_or_is_ended_in_time_with_its_children() -> None:
    assert apart(lambda: {"is": os.getpid()})()["is"] != os.getpid()
    begun = time.monotonic()
    assert apart(lambda: time.sleep(60), 0.2)() is None
    assert time.monotonic() - begun < 30
    assert apart(lambda: os._exit(3))() is None
