"""What code has to know of a rule is a property of the rule, so that rules can be renamed and split."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import hrmdoc
from hrmdoc import rulebook
from hrmdoc.replay.stories import STORIES

ROOT = Path(hrmdoc.__file__).parent
INCIDENTS = ROOT / "replay"  # an incident may bear the name of what it shows


def test_no_text_in_the_code_is_the_id_of_a_rule() -> None:
    book = rulebook.load()
    ids = {*book.symptoms, *book.causes, *book.remedies}
    known = {name for name in ids if "-" in name}  # `unknown` and `interrupted` are words like others
    known -= set(STORIES)  # a replay may be called as what it shows
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.parent != INCIDENTS
        for line, text in _texts(path)
        if text in known
    ]
    assert not found


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
