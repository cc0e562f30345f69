from concurrent.futures import ThreadPoolExecutor

import pytest

from hrmdoc.trainer.data.problems import Problem
from hrmdoc.trainer.evaluation import judging
from hrmdoc.trainer.evaluation.judging import compiling, judge_codes
from hrmdoc.trainer.sandbox import Limits, Verdict, run

PROBLEM = Problem(1, "", "", "", ("assert f(2) == 3",))
LIMITS = Limits(2)
RIGHT, WRONG, NONE, OTHER = "def f(x): return x + 1", "def f(x): return x", "def f(:", "f = 1 +"


@pytest.fixture
def programs(monkeypatch):
    """The programs that were run as such."""
    seen = []

    def recorded(code, setup, tests, limits) -> Verdict:
        if code != judging._COMPILER:
            seen.append(code)
        return run(code, setup, tests, limits)

    monkeypatch.setattr(judging, "run", recorded)
    return seen


def test_each_program_gets_its_own_verdict_and_the_same_one_is_run_once(programs):
    codes = [RIGHT, NONE, WRONG, RIGHT, OTHER, ""]
    with ThreadPoolExecutor(1) as pool:
        verdicts = judge_codes(pool, PROBLEM, codes, LIMITS)
    assert [one.status for one in verdicts] == ["passed", "error", "failed", "passed", "error", "error"]
    assert verdicts[1] == judging.NO_PROGRAM
    assert programs == [RIGHT, WRONG, ""]


def test_programs_are_compiled_in_groups(monkeypatch):
    monkeypatch.setattr(judging, "TOGETHER", 2)
    assert compiling([RIGHT, NONE, WRONG, OTHER, "x = 1"], LIMITS) == [RIGHT, WRONG, "x = 1"]


def test_what_the_compiler_does_not_survive_is_run_one_by_one(monkeypatch):
    monkeypatch.setattr(judging, "run", lambda *_: Verdict("died", "killed by SIGSEGV"))
    assert compiling([NONE, RIGHT], LIMITS) == [NONE, RIGHT]
