"""Changes the code a little, again and again, and counts which changes no test notices.

    python -m tests.mutants examination --sample 60 --seed 1

A room is a folder of `hrmdoc`, or a file in it. Its nearest tests are those at the same place below `tests/`;
mutants that those let pass are tried with `WIDER` ones in the end. Each mutant is one change of one function
(`changes.py`), put into it while it is loaded, so that no file is touched. A survivor is a test that is
missing, or a change that changes nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.mutants.changes import Mutant, mutants
from tests.mutants.processes import apart
from tests.mutants.trials import KILLED, SURVIVED, TIMED_OUT, UNREACHED, Trials, on_import_passes, told

ROOT = Path(__file__).parents[2]
NOTICED = (KILLED, TIMED_OUT)
IMPORTED_S = 600.0
WIDER = (
    "tests/rules/test_cases.py",
    "tests/test_analysis.py",
    "tests/test_case_studies.py",
    "tests/examination",
    "tests/diagnosis",
    "tests/cli/test_analyze.py",
    "tests/cli/test_apply.py",
    "tests/cli/test_watch.py",
    "tests/fuzz/test_readers.py",
)
"""Tests that reach most rooms, from the command line down."""


def nearest(room: Path, root: Path = ROOT) -> str:
    """The tests of a room: the file that bears its name, else those of the nearest folder that has some."""
    place = root / "tests" / room.relative_to(root / "hrmdoc")
    named = place.parent / f"test_{place.stem}.py"
    if room.suffix == ".py" and named.is_file():
        return str(named.relative_to(root))
    folder = place
    while folder != root / "tests" and not any(folder.glob("**/test_*.py")):
        folder = folder.parent
    return str(folder.relative_to(root))


def sampled(room: Path, count: int, seed: int) -> list[Mutant]:
    """So many of a room's mutants, by lot."""
    files = [room] if room.is_file() else sorted(room.rglob("*.py"))
    every = [one for file in files for one in mutants(file)]
    return random.Random(seed).sample(every, min(count, len(every)))


def verdicts(room: Path, chosen: Sequence[Mutant], tests: Sequence[str], workers: int) -> dict[Mutant, str]:
    """What became of each. Runs in a process of its own, since it imports what the next room changes."""
    trials = Trials(room, chosen, workers, os.dup(1))
    found = apart(partial(_tried, trials, tests))()
    if found is None:
        raise SystemExit(f"{' '.join(tests)}: the tests could not be run")
    known, on_import = found
    for mutant, named in on_import.items():
        passed = apart(partial(on_import_passes, mutant, named), IMPORTED_S)() if named else True
        known[mutant] = (SURVIVED if named else UNREACHED) if passed else KILLED
        print(told(mutant, known[mutant]), flush=True)
    return known


def _tried(trials: Trials, tests: Sequence[str]) -> tuple[dict[Mutant, str], dict[Mutant, list[str]]]:
    pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[trials])
    return trials.verdicts, trials.chosen


def main(words: Sequence[str]) -> int:
    """Prints each mutant and what became of it, and a line for each room; 1 where one survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nearest", action="store_true", help="ask no wider tests")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args(words)
    os.chdir(ROOT)
    found: dict[str, dict[Mutant, str]] = {}
    for name in asked.rooms:
        room = ROOT / "hrmdoc" / name
        chosen = sampled(room, asked.sample, asked.seed)
        if not chosen:
            parser.error(f"hrmdoc/{name} holds nothing to change")
        found[name] = verdicts(room, chosen, [nearest(room)], asked.workers)
    left = [one for room in found.values() for one, verdict in room.items() if verdict not in NOTICED]
    wider = {} if asked.nearest or not left else verdicts(ROOT / "hrmdoc", left, WIDER, asked.workers)
    for name, room in found.items():
        near = sum(verdict in NOTICED for verdict in room.values())
        far = sum(wider.get(one) in NOTICED for one in room)
        alone = f", {far} of them by wider tests alone" if wider else ""
        print(f"{name}: {near + far} of {len(room)} killed{alone}", flush=True)
    return int(any(wider.get(one) not in NOTICED for one in left))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
