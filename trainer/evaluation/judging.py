"""Runs many programs with the tests of their problems, and spares what need not be run.

A program that is written twice is run once. One that does not compile ends as such without a process of its
own: the programs of a problem are compiled together, in the sandbox too, since a compiler can be made to
crash.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from ..data.problems import Problem
from ..sandbox import Limits, Verdict, run

TOGETHER = 200  # programs that are compiled in one process: a letter each in a report of 300 at most
NO_PROGRAM = Verdict("error", "SyntaxError: it does not compile")
_COMPILER = """
def compiles(text):
    try:
        compile(text, "<program>", "exec")
    except BaseException:
        return "0"
    return "1"
"""


def workers() -> int:
    """Programs that are run at a time: one a core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def judge_codes(
    pool: ThreadPoolExecutor, problem: Problem, codes: Sequence[str], limits: Limits
) -> list[Verdict]:
    """How each of `codes` went as a solution of `problem`, in their order."""
    different = list(dict.fromkeys(codes))
    left = compiling(different, limits) if len(different) > 1 else different
    verdicts = pool.map(lambda code: run(code, problem.setup, problem.tests, limits), left)
    found = dict(zip(left, verdicts, strict=True))
    return [found.get(code, NO_PROGRAM) for code in codes]


def judged(
    problems: Sequence[Problem], answers: Sequence[Sequence[str]], limits: Limits
) -> Iterator[list[Verdict]]:
    """For each problem how its answers went."""
    with ThreadPoolExecutor(workers()) as pool:
        for problem, codes in zip(problems, answers, strict=True):
            yield judge_codes(pool, problem, codes, limits)


def compiling(codes: Sequence[str], limits: Limits) -> list[str]:
    """Those of `codes` that compile; all of a group that the compiler does not survive."""
    good: list[str] = []
    for start in range(0, len(codes), TOGETHER):
        group = list(codes[start : start + TOGETHER])
        test = f"raise RuntimeError(''.join(map(compiles, {group!r})))"
        marks = run(_COMPILER, "", [test], limits).detail.removeprefix("RuntimeError: ")
        whole = len(marks) == len(group) and set(marks) <= {"0", "1"}
        good += [code for code, mark in zip(group, marks, strict=True) if mark == "1"] if whole else group
    return good
