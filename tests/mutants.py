"""Changes the code a little, again and again, and counts which changes no test notices.

    python -m tests.mutants examination --sample 20

A room is a folder of `hrmdoc`, or a file in it. Each mutant is one change of one file, in a copy of the
repository; the tests nearest to the file run against it: `tests/<room>/test_<module>*.py`, or those of the
whole room where there are none. A survivor is a test that is missing, or a change that changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT_S = 240.0
"""Seconds for the tests of one mutant; one that runs on for ever was noticed."""
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: `place` is the number of the node in the order of `ast.walk`."""

    file: Path
    place: int
    line: int
    what: str


def mutants(file: Path) -> Iterator[Mutant]:
    """Every change that can be made in a file, in the order of its nodes; decorators are left alone."""
    tree = ast.parse(file.read_text("utf-8"))
    marks = {
        id(part)
        for node in ast.walk(tree)
        for mark in getattr(node, "decorator_list", ())
        for part in ast.walk(mark)
    }
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in marks and (what := change(deepcopy(node))):
            yield Mutant(file, place, node.lineno, what)  # type: ignore[attr-defined]


def mutated(mutant: Mutant) -> str:
    """The source with the change in it."""
    tree = ast.parse(mutant.file.read_text("utf-8"))
    change(next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.place))
    return ast.unparse(tree)


def change(node: ast.AST) -> str:
    """Changes the node itself and says how; "" where it is none that can be changed."""
    if isinstance(node, ast.Constant):
        return _constant(node)
    return _statement(node) if isinstance(node, ast.stmt) else _operator(node)


def _operator(node: ast.AST) -> str:
    """A comparison, a boolean or an arithmetic becomes another one."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        before, node.ops[0] = node.ops[0], COMPARED[type(node.ops[0])]()
        return f"{type(before).__name__} -> {type(node.ops[0]).__name__}"
    if isinstance(node, ast.BoolOp):
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        return f"all of it by {type(node.op).__name__}"
    if isinstance(node, ast.BinOp) and type(node.op) in COUNTED and not _of_words(node):
        node.op = COUNTED[type(node.op)]()
        return f"by {type(node.op).__name__}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
        return "without its not"
    return ""


def _statement(node: ast.stmt) -> str:
    """A call for what it does is left out, or what is returned."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node.value = ast.copy_location(ast.Constant(value=None), node.value)
        return "removed call"
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        node.value = ast.copy_location(ast.Constant(value=None), node.value)
        return "returns None"
    return ""


def _constant(node: ast.Constant) -> str:
    """Booleans are turned round, numbers moved by one."""
    before = node.value
    if isinstance(before, bool):
        node.value = not before
    elif isinstance(before, int | float):
        node.value = before + 1
    else:
        return ""
    return f"{before} -> {node.value}"


def _of_words(node: ast.BinOp) -> bool:
    parts = (node.left, node.right)
    return any(isinstance(one, ast.JoinedStr | ast.List | ast.Tuple) for one in parts) or any(
        isinstance(one, ast.Constant) and isinstance(one.value, str | bytes) for one in parts
    )


def nearest(file: Path, root: Path = ROOT) -> list[str]:
    """The tests of a module: those that bear its name, else those of the nearest folder that has some."""
    place = root / "tests" / file.relative_to(root / "hrmdoc")
    if named := sorted(place.parent.glob(f"test_{file.stem}*.py")):
        return [str(one.relative_to(root)) for one in named]
    folder = place.parent
    while folder != root / "tests" and not any(folder.glob("**/test_*.py")):
        folder = folder.parent
    return [str(folder.relative_to(root))]


def survives(mutant: Mutant, copy: Path) -> bool:
    """Whether the nearest tests pass with the change, in a copy of the repository."""
    target = copy / mutant.file.relative_to(ROOT)
    before = target.read_text("utf-8")
    target.write_text(mutated(mutant), "utf-8")
    try:
        return _passes(nearest(mutant.file), copy)
    finally:
        target.write_text(before, "utf-8")


def _passes(tests: Sequence[str], copy: Path) -> bool:
    words = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def copied(to: Path) -> Path:
    """The files that git knows, in another folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def main(words: Sequence[str]) -> int:
    """Prints each mutant and what became of it; 1 where one survived, 2 where the tests fail without any."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(words)
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        for room in asked.rooms:
            place = ROOT / "hrmdoc" / room
            files = [place] if place.is_file() else sorted(place.rglob("*.py"))
            every = [one for file in files for one in mutants(file)]
            chosen = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
            if not chosen:
                parser.error(f"hrmdoc/{room} holds nothing to change")
            sound: dict[str, bool] = {}
            left = 0
            for one in chosen:
                tests = nearest(one.file)
                if not sound.setdefault(" ".join(tests), _passes(tests, copy)):
                    print(f"{' '.join(tests)} fails without a mutant", flush=True)
                    return 2
                alive = survives(one, copy)
                left += alive
                where = f"{one.file.relative_to(ROOT)}:{one.line}"
                print(f"{'SURVIVED' if alive else 'killed':8} {where}: {one.what}", flush=True)
            print(f"{room}: {len(chosen) - left} of {len(chosen)} killed", flush=True)
            survived += left
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
