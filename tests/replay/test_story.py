"""What a story demands of its healed run, and the commands around it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hrmdoc.analysis import analyze
from hrmdoc.cli.main import main
from hrmdoc.replay.stories import STORIES
from hrmdoc.replay.story import Goal


@pytest.mark.parametrize(
    ("goal", "sick", "healed", "reached"),
    [
        (Goal("", "x"), 0.5, 0.5, False),
        (Goal("", "x"), 0.5, 0.6, True),
        (Goal("", "x", higher=False), 0.5, 0.6, False),
        (Goal("", "x", higher=False), float("nan"), 0.6, True),
        (Goal("", "x"), None, 0.6, True),
        (Goal("", "x"), 0.5, None, False),
        (Goal("", "x"), 0.5, float("nan"), False),
        (Goal("", "x", bound=0.1), 0.0, 0.09, False),
        (Goal("", "x", bound=0.1), 0.0, 0.11, True),
    ],
)
def test_a_goal_is_reached_beyond_the_sick_run_and_beyond_its_bound(
    goal: Goal, sick: float | None, healed: float | None, *, reached: bool
) -> None:
    assert goal.reached(sick, healed) is reached


@pytest.mark.parametrize("name", STORIES)
def test_the_twin_differs_from_the_fault_in_what_the_story_says(name: str) -> None:
    story = STORIES[name]
    lines = zip(story.config.splitlines(), story.twin_config.splitlines(), strict=True)
    assert sum(faulty != well for faulty, well in lines) == len(story.well)


def test_a_run_that_ends_without_the_metric_reaches_no_goal(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {step} loss {1 / step:.4f}\n" for step in range(1, 40)))
    analysis = analyze(str(log))
    assert STORIES["lr-too-high"].goals[1].at_end(analysis) is None
    assert not STORIES["lr-too-high"].reached(analysis, analysis)
    assert Goal("", "loss").at_end(analysis) == pytest.approx(1 / 39, abs=1e-4)


def test_the_list_names_every_story_with_its_time_and_a_wrong_name_gets_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in ([], ["--list"]):
        assert main(["replay", *words]) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [line[0] for line in lines] == list(STORIES)
        assert all(line[2] == "s" and int(line[1]) > 0 for line in lines)
    assert main(["replay", "zero-los"]) == 2
    assert "zero-loss" in capsys.readouterr().err


def test_a_program_that_does_not_start_is_an_error_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    wrong = replace(STORIES["zero-loss"], config="d_modell: 3\n", well={})
    monkeypatch.setitem(STORIES, "zero-loss", wrong)
    assert main(["replay", "zero-loss", "--folder", str(tmp_path)]) == 2
    assert "there is no setting 'd_modell'" in capsys.readouterr().err


def test_where_a_package_is_missing_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = replace(STORIES["zero-loss"], program=(sys.executable, "-m", "hrmdoc_is_not_here"))
    monkeypatch.setitem(STORIES, "zero-loss", missing)
    assert main(["replay", "zero-loss", "--folder", str(tmp_path)]) == 2
    assert "hint: pip install 'hrmdoc[replay]'" in capsys.readouterr().err
