"""An expression at all moments at once says what it says at each of them alone."""

from __future__ import annotations

import re
import tracemalloc
from functools import partial

import numpy as np
import pytest

from hrmdoc import measures, rulebook
from hrmdoc.errors import RuleError
from hrmdoc.examination.onset import Courses, Timeless, onset
from hrmdoc.examination.questions import Questions
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook.expressions import MissingInput, compile_expression
from hrmdoc.rulebook.moments import along

FACTS = {
    "run.kind": "classification",
    "run.framework": "hf-trainer",
    "optimizer.lr": 0.5,
    "data.classes": 10,
    "run.planned_length": 40,
    "run.total_steps": 40,
    "rl.algorithm": "auto",
}
BOOK = rulebook.load()
CHECKS = sorted({p.check for rule in BOOK.symptoms.values() for p in rule.when.walk() if p.check})


def scene(values: dict[str, np.ndarray], stop: int, **more: object) -> Scene:
    """A run whose roles have these values, as far as its first `stop` steps go."""
    run = Run("x", role_of=RoleGuess)
    for role, curve in values.items():
        part = curve[:stop]
        if len(part):
            steps = np.arange(len(part))
            run.add(Points(role, steps, part, steps * 1.0, f"{role}.log"))
    return Scene(run, FACTS, **more)  # type: ignore[arg-type]


def curves(seed: int, roles: set[str], n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = {}
    for role in sorted(roles):
        level = rng.choice([0.0, 0.02, 0.7, 3.0, 1e6])
        curve = np.round(level * np.exp(-np.arange(n) / n) + 0.3 * level * rng.standard_normal(n), 4)
        curve[rng.random(n) < 0.05] = np.nan
        curve[n // 2 :] = curve[n // 2] if rng.random() < 0.4 else curve[n // 2 :]
        found[role] = curve
    return {role: curve for role, curve in found.items() if rng.random() < 0.9}


def holds(text: str, where: Scene) -> bool:
    try:
        return bool(compile_expression(text)(where.facts, Questions(where).functions()))
    except (MissingInput, RuleError):
        return False


@pytest.mark.parametrize("check", CHECKS)
def test_every_shipped_check_holds_at_the_same_moments_taken_together_and_one_by_one(check: str) -> None:
    roles = set(re.findall(r"\b[a-z_.]*(?:loss|accuracy|norm|lr|reward|kl|epoch|length)\b", check))
    n = 26
    for seed in range(3):
        values = curves(seed, roles, n)
        if not values:
            continue
        whole = scene(values, n)
        try:
            together = (
                along(check, whole.facts, partial(Courses(whole, np.arange(n)).ask, slice(0, n)), n) == 1
            )
        except Timeless:
            return
        alone = [holds(check, scene(values, stop)) for stop in range(1, n + 1)]
        assert together.tolist() == alone, (seed, check)


def since(check: str, values: list[float], **more: object) -> int | None:
    where = scene({"train.loss": np.array(values)}, len(values), **more)
    asked = list(where.run.series.values())
    return onset(compile_expression(check), where, asked)[0]


def test_it_began_where_it_last_came_true() -> None:
    assert since("last(train.loss) < 1", [3, 0.5, 3, 0.5, 0.4]) == 3
    assert since("count(train.loss) >= 3 and max_of(train.loss) > 2", [3, 1, 1, 1]) == 2
    assert since("run.kind == 'classification' and min_of(train.loss) > 0", [3, 1]) == 0


def test_medians_are_followed_up_to_a_length() -> None:
    falls = [2.0] * 60 + [1.0] * 61
    assert since("median_of(train.loss) < 2", falls) == 119
    assert since("median_of(train.loss) < 2", falls * 100) is None


def test_a_check_that_weighs_the_curve_as_a_whole_tells_no_onset() -> None:
    assert since("last(train.loss) < 1 and turned(train.loss) == 0", [3, 3, 3, 0.5]) is None


def test_a_number_that_changes_from_moment_to_moment_tells_no_onset() -> None:
    assert since("peaks(train.loss, count(train.loss)) == 0 and last(train.loss) < 1", [3, 3, 3, 0.5]) is None


def test_a_member_of_a_group_counts_from_its_own_step_on() -> None:
    found = {"flat": Finding("present", first_step=2), "low": Finding("resolved", first_step=1, count=4)}
    more = {"found": found.get, "groups": {"still": ("flat", "low", "other")}}
    values = [1.0] * 5
    assert since("seen('still')", values, **more) == 1
    assert since("seen('flat') and not seen('other')", values, **more) == 2
    assert since("episodes('still') >= 4 and began('still') == 1", values, **more) == 1


def test_no_prefix_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    answer = measures.Function.__call__

    def counted(self: measures.Function, *arguments: object) -> object:
        calls.append(self.name)
        return answer(self, *arguments)

    monkeypatch.setattr(measures.Function, "__call__", counted)
    assert since("last(train.loss) > min_of(train.loss)", [3.0, *range(1, 400)]) == 2
    assert calls == []


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("lr.missing > 1 or last(train.loss) > 0", [0, 0, 0]),
        ("last(train.loss) > 0 or lr.missing > 1", [1, 1, 1]),
        ("not (last(train.loss) > 2 and lr.missing > 1)", [0, 1, 1]),
        ("(1 if last(train.loss) > 2 else lr.missing) > 0", [1, 0, 0]),
        ("run.kind != 'rl' and optimizer.lr < last(train.loss) <= 3", [1, 1, 0]),
        ("rl.algorithm > 3 or last(train.loss) > 0", [0, 0, 0]),
        ("-last(train.loss) ** 2 < -max(1, abs(2 - 4))", [1, 0, 0]),
        ("1 / (last(train.loss) - 3) > 0", [0, 0, 0]),
    ],
)
def test_what_is_missing_decides_only_where_its_branch_is_taken(text: str, held: list[int]) -> None:
    where = scene({"train.loss": np.array([3.0, 1.0, 0.5])}, 3)
    assert (
        along(text, where.facts, partial(Courses(where, np.arange(3)).ask, slice(0, 3)), 3) == 1
    ).tolist() == held


def test_what_an_onset_asked_for_is_let_go() -> None:
    n = 100_000
    where = scene({"train.loss": np.linspace(3, 1, n)}, n)
    series = where.run.best("train.loss")
    assert series is not None
    tracemalloc.start()
    step, _ = onset(compile_expression("last(train.loss) < 2 and max_of(train.loss) > 2"), where, [series])
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert step == n // 2
    assert left < 4 * n
