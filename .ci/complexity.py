"""Holds every function to a cyclomatic complexity of 15 as radon counts it: branches, boolean operators and
comprehensions.

`python .ci/complexity.py` fails on a function above the ceiling that `.ci/complexity.txt` does not name with
its reason; `--list` prints the lines that the file would need today.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from radon.complexity import cc_visit
from radon.visitors import Function

ROOT = Path(__file__).parents[1]
EXCEPTIONS = Path(__file__).with_name("complexity.txt")
CODE = ("hrmdoc", "trainer", "benchmarks", "tests", ".ci")
CEILING = 15


def main(words: list[str]) -> int:
    """Prints what is wrong; 0 when nothing is."""
    found = {name: (value, where) for name, value, where in _above()}
    if words == ["--list"]:
        print("\n".join(f"{name}  # {value}" for name, (value, _) in sorted(found.items())))
        return 0
    allowed = dict(_exceptions())
    new = sorted(set(found) - set(allowed))
    for name in new:
        value, where = found[name]
        print(f"{where}: {name} has complexity {value}, the ceiling is {CEILING}: split it")
    for name, reason in allowed.items():
        if not reason:
            print(f"{EXCEPTIONS.name}: {name} lacks its reason")
        if name not in found:
            print(f"{EXCEPTIONS.name}: {name} is below the ceiling now: take it out", file=sys.stderr)
    return bool(new) or not all(allowed.values())


def _above() -> Iterator[tuple[str, int, str]]:
    """Name (`file::function`), complexity and place of every function above the ceiling."""
    for path in sorted(one for folder in CODE for one in (ROOT / folder).rglob("*.py")):
        file = path.relative_to(ROOT)
        for block in cc_visit(path.read_text("utf-8")):
            if isinstance(block, Function) and block.complexity > CEILING:
                yield f"{file}::{block.fullname}", block.complexity, f"{file}:{block.lineno}"


def _exceptions() -> Iterator[tuple[str, str]]:
    for line in EXCEPTIONS.read_text("utf-8").splitlines():
        name, _, reason = line.partition("  # ")
        if name.strip() and not line.startswith("#"):
            yield name.strip(), reason.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
