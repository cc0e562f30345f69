"""The course of a run in numbers, and what experience makes of a warning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hrmdoc.analysis import Analysis, AnalysisSession, Prepared, analyze
from hrmdoc.errors import RuleError
from hrmdoc.examination.course import LOG_RATIO
from hrmdoc.rulebook import load, parse
from hrmdoc.rulebook.schema.experience import Experience, Steps
from hrmdoc.settings import Settings, Threshold


def _table(folder: Path, columns: dict[str, np.ndarray]) -> Path:
    path = folder / "log.csv"
    rows = zip(*columns.values(), strict=True)
    lines = [f"{i},{','.join(f'{value:.6f}' for value in row)}" for i, row in enumerate(rows)]
    path.write_text("\n".join((f"epoch,{','.join(columns)}", *lines)) + "\n")
    return path


def _course(path: Path) -> dict[str, float]:
    session = AnalysisSession(str(path), settings=Settings())
    session.read([str(path)])
    session.diagnose(closed=True)
    return session.course()


def test_the_course_is_told_by_what_was_gained_and_kept(tmp_path: Path) -> None:
    at = np.arange(40)
    measured = _course(
        _table(
            tmp_path, {"loss": 2.0 * 0.9**at, "val_loss": np.abs(at - 20) / 20 + 1, "val_accuracy": at / 80}
        )
    )
    assert measured["train_loss.gained"] == pytest.approx(1 - 0.9**39, abs=0.02)
    assert measured["train_loss.since"] == 0
    assert measured["eval_loss.since"] == pytest.approx(19 / 39)
    assert measured["eval_loss.kept"] < 0.2
    assert measured["eval_score.end"] == pytest.approx(0.46, abs=0.02)
    assert "reward.gained" not in measured


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_score_counts_as_a_share_of_its_ceiling(tmp_path: Path, scale: float) -> None:
    score = scale * np.linspace(0.5, 0.9, 20)
    measured = _course(_table(tmp_path, {"loss": np.linspace(2, 1, 20), "val_accuracy": score}))
    assert measured["eval_score.end"] == pytest.approx(0.89, abs=0.02)


def test_a_run_without_curves_has_no_course(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: no\n")
    analysis = analyze(log, settings=Settings())
    assert LOG_RATIO not in analysis.situation.facts


def test_points_are_those_of_the_part_in_which_a_value_lies() -> None:
    steps = Steps((0.1, 0.5), (-1.0, 0.0, 2.0))
    assert [steps.of(value) for value in (-5.0, 0.1, 0.3, 0.5, 0.51, 9.0)] == [-1.0, -1.0, 0.0, 0.0, 2.0, 2.0]
    one = Experience("course", "", "", 10, 2, 0.5, {"a.b": steps, "c.d": Steps((), (4.0,))})
    assert one.log_ratio({"a.b": 1.0}) == 2.5
    assert one.log_ratio({"c.d": 0.0, "x.y": 3.0}) == 4.5


@pytest.mark.parametrize(
    ("steps", "what"),
    [("{above: [1, 2], points: [0, 1]}", "3 points"), ("{above: [2, 1], points: [0, 1, 2]}", "must rise")],
)
def test_wrong_steps_are_refused_with_their_place(steps: str, what: str) -> None:
    text = f"id: course\ntitle: a\nsource: b\nruns: 1\nfaults: 1\nstart: 0\nmeasures:\n  a.b: {steps}\n"
    with pytest.raises(RuleError, match=what):
        parse(Path("experience/course.yaml"), text.encode())


def _flat(tmp_path: Path) -> Path:
    """A loss that never falls, beside a score that stands still: by rules of curves alone a run that does not
    learn."""
    noise = np.random.default_rng(1).normal(0, 0.002, 200)
    return _table(tmp_path, {"loss": 0.9 + noise, "val_accuracy": 0.4 + noise})


def _loud(analysis: Analysis) -> set[str]:
    return {one.id for one in analysis.present if analysis.severity(one) == "warning"}


def _with(ratio: float, settings: Settings, path: Path) -> Analysis:
    """Analysed by the built-in rules with an experience that says the same of every run."""
    ready = Prepared.of(settings)
    said = Experience("course", "", "", 10, 2, ratio, {})
    book = ready.book.__class__(
        **{name: getattr(ready.book, name) for name in ready.book.__struct_fields__ if name != "experience"},
        experience={"course": said},
    )
    session = AnalysisSession(str(path), prepared=Prepared(settings, book, ready.matcher))
    session.read([str(path)])
    return session.diagnose(closed=True)


def test_a_weighed_warning_stands_where_experience_speaks_for_a_fault(tmp_path: Path) -> None:
    path = _flat(tmp_path)
    against, for_it = (_with(ratio, Settings(), path) for ratio in (-0.1, 0.1))
    assert "loss-hardly-falls" in _loud(for_it)
    assert for_it.verdict == "warning"
    assert not _loud(against)
    assert against.verdict == "info"


def test_a_severity_that_the_user_states_stands_whatever_the_course(tmp_path: Path) -> None:
    settings = Settings(thresholds={"loss-hardly-falls": Threshold(severity="warning")})
    assert _with(-3.0, settings, _flat(tmp_path)).verdict == "warning"


def test_what_is_critical_or_not_weighed_stands_and_keeps_the_others(tmp_path: Path) -> None:
    path = _flat(tmp_path)
    path.write_text(path.read_text() + "200,nan,0.9\n201,nan,0.9\n202,nan,0.9\n")
    analysis = _with(-3.0, Settings(), path)
    assert analysis.verdict == "critical"


def test_the_shipped_experience_weighs_rules_of_curves_alone() -> None:
    book = load()
    messages = {signature.symptom for signature in book.signatures.values()}
    weighed = {name for name, rule in book.symptoms.items() if rule.weighed}
    assert book.experience["course"].runs > 400
    assert not weighed & messages
    assert {book.symptoms[name].severity for name in weighed} == {"warning"}
    assert not {name for name in weighed if name.startswith(("gpu", "host", "disk", "stall", "lr-extreme"))}
