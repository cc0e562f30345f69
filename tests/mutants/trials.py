"""A plugin of pytest that tries mutants: it runs each test once with the code as it is, to see which
functions it reaches, then for every mutant those that reach its function, the nearest first.

Each runs in a child of this process, in which everything is imported by then: that makes a mutant cheap.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from cProfile import Profile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from tests.mutants.changes import Mutant
from tests.mutants.loaded import into_functions, on_import, takes
from tests.mutants.processes import apart

AGAIN = 6.0
"""How many times longer than before the tests of a mutant may take, on a loaded machine."""
START_S = 20.0
"""Seconds on top of that."""
TEST_S = 120.0
"""Seconds for one test as it is; some wait for ever for what a slow machine missed."""

KILLED, SURVIVED, TIMED_OUT, UNREACHED = "killed", "SURVIVED", "timed out", "UNREACHED"


class Seen(NamedTuple):
    """What one test did with the code as it is: whether it passed, the seconds that it took, and the
    functions that it reached, by file and first line."""

    passed: bool
    seconds: float
    functions: frozenset[tuple[str, int]]


@dataclass
class Trials:
    """The plugin.

    Attributes:
        room: what tests must reach to count, a file or folder.
        mutants: what is tried.
        workers: how many at once.
        verdicts: what became of each mutant.
        told: a file descriptor for lines of progress.
        failing: tests that fail with the code as it is; they are left out.
    """

    room: Path
    mutants: Sequence[Mutant]
    workers: int
    told: int
    verdicts: dict[Mutant, str] = field(default_factory=dict)
    failing: list[str] = field(default_factory=list)
    chosen: dict[Mutant, list[str]] = field(default_factory=dict)
    """Of mutants that are read on import: the tests that would notice."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = session.items
        begun = time.monotonic()
        seen = apart(partial(_trace, items, self.room), len(items) * TEST_S)()
        if seen is None:
            raise pytest.UsageError("the tests did not come to an end without a mutant")
        self.failing = [item.nodeid for item, one in zip(items, seen, strict=True) if not one.passed]
        _say(self.told, f"{len(items)} tests traced in {time.monotonic() - begun:.0f} s")
        for name in self.failing:
            _say(self.told, f"left out, since it fails without a mutant: {name}")
        for one in self.mutants:
            if not one.scope or not takes(one):
                self.chosen[one] = [item.nodeid for item, _ in telling(one, items, seen)]
        tried = [one for one in self.mutants if one not in self.chosen]
        shares = [
            apart(partial(self._try, tried[at :: self.workers], items, seen)) for at in range(self.workers)
        ]
        for share in shares:
            self.verdicts |= share() or {}
        return True

    def _try(
        self, mutants: Sequence[Mutant], items: Sequence[pytest.Item], seen: Sequence[Seen]
    ) -> dict[Mutant, str]:
        return {one: self._verdict(one, telling(one, items, seen)) for one in mutants}

    def _verdict(self, mutant: Mutant, tests: Sequence[tuple[pytest.Item, Seen]]) -> str:
        limit = START_S + AGAIN * sum(one.seconds for _, one in tests)
        begun = time.monotonic()
        passed = apart(partial(_passes_with, mutant, [item for item, _ in tests]), limit)() if tests else True
        if passed is None:
            verdict = TIMED_OUT if time.monotonic() - begun >= limit else KILLED
        else:
            verdict = (SURVIVED if tests else UNREACHED) if passed else KILLED
        _say(self.told, told(mutant, verdict))
        return verdict


def telling(
    mutant: Mutant, items: Sequence[pytest.Item], seen: Sequence[Seen]
) -> list[tuple[pytest.Item, Seen]]:
    """The tests that may notice: those that reach the function, in files that bear the name of the module
    first, quick ones first; then the others of their files, whose fixtures one of those may have made."""
    file, lines = str(mutant.file), set(mutant.scope[:1])
    sound = [(item, one) for item, one in zip(items, seen, strict=True) if one.passed]

    def reaches(one: Seen) -> bool:
        return any(where == file and (not lines or line in lines) for where, line in one.functions)

    files = {item.path for item, one in sound if reaches(one)}

    def rank(pair: tuple[pytest.Item, Seen]) -> tuple[bool, bool, float]:
        item, one = pair
        return not reaches(one), not item.path.name.startswith(f"test_{mutant.file.stem}"), one.seconds

    return sorted((pair for pair in sound if pair[0].path in files), key=rank)


def told(mutant: Mutant, verdict: str) -> str:
    return f"{verdict:9} {mutant.file.relative_to(Path.cwd())}:{mutant.line}: {mutant.what}"


def _say(where: int, line: str) -> None:
    os.write(where, f"{line}\n".encode())


def _trace(items: Sequence[pytest.Item], room: Path) -> list[Seen]:
    """Runs the tests as they are, under the profiler in C; threads, which it does not see, are traced."""
    threaded: dict[int, CodeType] = {}

    def called(frame: FrameType, event: str, arg: Any) -> None:
        threaded[id(frame.f_code)] = frame.f_code

    inside = (str(room), f"{room}{os.sep}")
    answer = []
    signal.signal(signal.SIGALRM, _too_long)
    threading.settrace(called)
    for at, item in enumerate(items):
        threaded.clear()
        profile = Profile(subcalls=False, builtins=False)
        begun = time.monotonic()
        profile.enable()
        signal.setitimer(signal.ITIMER_REAL, TEST_S)
        passed = _passes([item, *items[at + 1 : at + 2]], 1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        profile.disable()
        seconds = time.monotonic() - begun
        codes = [*(one.code for one in profile.getstats()), *list(threaded.values())]
        reached = {(one.co_filename, one.co_firstlineno) for one in codes if isinstance(one, CodeType)}
        kept = frozenset(one for one in reached if one[0] == inside[0] or one[0].startswith(inside[1]))
        answer.append(Seen(passed, seconds, kept))
    return answer


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no end within {TEST_S:g} s")


def _passes_with(mutant: Mutant, items: Sequence[pytest.Item]) -> bool:
    into_functions(mutant)
    return _passes(items, len(items))


def _passes(items: Sequence[pytest.Item], count: int) -> bool:
    """Runs the first so many of the tests; those behind keep what they share with them standing."""
    for at, item in enumerate(items[:count]):
        following = items[at + 1] if at + 1 < len(items) else None
        reports = item.config.hook.pytest_runtest_protocol
        failures: list[str] = []
        plugin = _Failures(failures)
        item.config.pluginmanager.register(plugin)
        reports(item=item, nextitem=following)
        item.config.pluginmanager.unregister(plugin)
        if failures:
            return False
    return True


@dataclass(eq=False)
class _Failures:
    names: list[str]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)


def on_import_passes(mutant: Mutant, tests: Iterable[str]) -> bool:
    """Whether these tests pass in a process that has the change from the start."""
    on_import(mutant)
    return pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests]) == 0
