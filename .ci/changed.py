"""Prints the tests of what changed against a branch, as arguments for pytest: `.ci/changed.py [main]`.

A file of the code has its tests at the same place below `tests/`; where no file there bears its name, those
of its folder are run. Files that everything hangs on (`pyproject.toml`) call for no more: `make test` runs
all.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
CASES = "tests/rules/test_cases.py"
DATA = {
    "rules/signatures": ("tests/rules/test_signatures.py",),
    "rules": ("tests/rulebook", "tests/test_case_studies.py"),
    "playbooks": ("tests/test_playbooks.py",),
    "benchmarks": ("tests/lab",),
}


def main(words: list[str]) -> int:
    """Prints the paths, one a line."""
    base = words[0] if words else "main"
    found = {test for name in changed(base) for test in tests_of(PurePosixPath(name))}
    inside = {one for one in found if any(str(parent) in found for parent in PurePosixPath(one).parents)}
    print("\n".join(sorted(found - inside)))
    return 0


def changed(base: str) -> set[str]:
    """Files that differ from where this branch left `base`, and those that git does not know yet."""
    fork = _git("merge-base", base, "HEAD")
    lists = (
        _git("diff", "--name-only", fork[0] if fork else base),
        _git("ls-files", "--others", "--exclude-standard"),
    )
    return {name for names in lists for name in names}


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def tests_of(path: PurePosixPath) -> Iterator[str]:
    """The tests that hold one file."""
    if path.parts[0] == "tests" and path.suffix == ".py":
        yield from _tests_at(path)
    elif path.suffix == ".py" and path.parts[0] in ("hrmdoc", "trainer"):
        below = path.parts[1:] if path.parts[0] == "hrmdoc" else path.parts
        yield from _mirrored(PurePosixPath(*below))
    elif (ROOT / "tests/rules" / path.name).is_file() and path.parent.name in ("symptoms", "rules"):
        yield f"{CASES}::test_every_case_holds[{path.stem}]"
        yield f"{CASES}::test_a_near_miss_stands_before_the_first_hit[{path.stem}]"
    else:
        fits = (tests for folder, tests in DATA.items() if path.is_relative_to(folder))
        yield from next(fits, ())


def _tests_at(path: PurePosixPath) -> Iterator[str]:
    """A file of tests itself, or those of the folder that a helper or sample lies in."""
    if not (ROOT / path).exists() or path.parent == PurePosixPath("tests"):
        here = [path] if (ROOT / path).exists() and path.name.startswith("test_") else []
    else:
        here = [path if path.name.startswith("test_") else path.parent]
    yield from map(str, here)


def _mirrored(path: PurePosixPath) -> Iterator[str]:
    name = path.parent.name if path.name == "__init__.py" else path.stem.lstrip("_")
    exact = TESTS / path.parent / f"test_{name}.py"
    folder = next(one for one in (TESTS / path.parent, *(TESTS / path.parent).parents) if one.is_dir())
    if exact.is_file():
        yield str(exact.relative_to(ROOT))
    elif folder != TESTS:
        yield str(folder.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
