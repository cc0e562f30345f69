"""Finds tests that can only fail by an error: no `assert`, no `pytest.raises` or the like, and no call of a
helper of the tests that has one.

`python .ci/asserts.py` prints them and fails where there are any. A helper stands in the same file, in one of
the tests that this one imports, or in a `conftest.py` beside or above it; it is known by its bare name.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CHECKS = {"raises", "warns", "fail"}


class Function(NamedTuple):
    file: Path
    name: str
    line: int
    checks: bool
    calls: frozenset[str]


def main() -> int:
    """Prints the place of each; 0 where there is none."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))}
    seen = {path: _seen_from(path, tree) & trees.keys() for path, tree in trees.items()}
    functions = [
        _function(path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    sound = _sound(functions, seen)
    empty = [one for one in functions if one.name.startswith("test_") and (one.file, one.name) not in sound]
    for one in empty:
        print(f"{one.file.relative_to(ROOT)}:{one.line}: {one.name} asserts nothing")
    return bool(empty)


def _sound(functions: list[Function], seen: dict[Path, set[Path]]) -> set[tuple[Path, str]]:
    """Those that check something, or call one that does."""
    sound = {(one.file, one.name) for one in functions if one.checks}
    before = 0
    while len(sound) != before:
        before = len(sound)
        for one in functions:
            if any((file, name) in sound for file in seen[one.file] for name in one.calls):
                sound.add((one.file, one.name))
    return sound


def _function(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    inside = list(ast.walk(node))
    calls = frozenset(_name(one.func) for one in inside if isinstance(one, ast.Call))
    states = any(isinstance(one, ast.Assert | ast.Raise) for one in inside)
    checks = states or any(one in CHECKS or one.startswith("assert_") for one in calls)
    return Function(path, node.name, node.lineno, checks, calls)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _seen_from(path: Path, tree: ast.Module) -> set[Path]:
    """Files whose functions may be called in this one."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            names += [one.name for one in node.names]
    imported = {ROOT / (name.replace(".", "/") + ".py") for name in names}
    return {path, *imported, *(folder / "conftest.py" for folder in path.parents)}


if __name__ == "__main__":
    sys.exit(main())
