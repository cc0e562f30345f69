"""The check for tests that assert nothing knows the helpers that do."""

from __future__ import annotations

from pathlib import Path

import pytest

CODE = (Path(__file__).parents[2] / ".ci" / "asserts.py").read_text("utf-8")
FILES = {
    "conftest.py": "def shared(): raise ValueError",
    "helpers.py": "def check(x): inner(x)\ndef inner(x): assert x\ndef make(x): return x",
    "test_a.py": """
from tests.helpers import check, make
def test_states(): assert True
def test_expects():
    with pytest.raises(ValueError): make(1)
def test_compares(): np.testing.assert_array_equal(1, 1)
def test_asks_a_helper(): check(1)
def test_asks_all_tests(): shared()
def test_calls_only(): make(1)
def test_calls_one_of_another_file(): elsewhere()
""",
    "test_b.py": "def elsewhere(): assert True\ndef test_it(): elsewhere()",
}


def test_a_test_is_named_unless_it_or_a_helper_that_it_can_see_asserts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tests").mkdir()
    for name, text in FILES.items():
        (tmp_path / "tests" / name).write_text(text)
    module = {"__name__": "asserts", "__file__": str(tmp_path / ".ci" / "asserts.py")}
    exec(CODE, module)
    assert module["main"]() is True
    assert capsys.readouterr().out.splitlines() == [
        "tests/test_a.py:9: test_calls_only asserts nothing",
        "tests/test_a.py:10: test_calls_one_of_another_file asserts nothing",
    ]
