"""A run is judged by the runs beside it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from hrmdoc.analysis import Analysis, AnalysisSession, analyze
from hrmdoc.live.watch import Watch
from hrmdoc.settings import Settings

RATE = 0.001


def log(level: float, seed: int, **settings: object) -> str:
    """Twenty epochs of a score that comes to `level`."""
    draw = random.Random(seed)
    lines = [json.dumps(settings)] if settings else []
    for epoch in range(1, 21):
        share = (1 - 0.75**epoch) / (1 - 0.75**20)
        score = 0.1 + (level - 0.1) * share + draw.gauss(0, 0.003)
        lines.append(
            json.dumps({"epoch": epoch, "train_loss": 2.3 * 0.8**epoch + 0.2, "val_acc": round(score, 4)})
        )
    return "\n".join(lines) + "\n"


def folder(at: Path, levels: Mapping[str, float], **settings: object) -> Path:
    for number, (name, level) in enumerate(levels.items()):
        run = at / "runs" / name
        run.mkdir(parents=True)
        (run / "metrics.jsonl").write_text(log(level, number))
        if settings:
            (run / "config.json").write_text(json.dumps(settings | {"seed": number}))
    return at / "runs"


GOOD = {f"r{number}": 0.9 + 0.004 * number for number in range(7)}


def severity(analysis: Analysis, symptom: str) -> str | None:
    return {one.id: analysis.severity(one) for one in analysis.present}.get(symptom)


def test_a_run_far_behind_the_others_is_a_warning(tmp_path: Path) -> None:
    """Alone nothing is wrong with it: it learns, and ends at its best."""
    runs = folder(tmp_path, GOOD | {"r7": 0.55})
    analysis = analyze(runs / "r7")
    assert analysis.verdict == "warning"
    assert severity(analysis, "behind-its-peers") == "warning"
    (found,) = [one for one in analysis.present if one.id == "behind-its-peers"]
    assert "val_acc stands at 0.5" in found.evidence
    assert "of 7 runs beside it" in found.evidence
    alone = AnalysisSession(str(runs / "r7"), settings=Settings(), compare=False)
    alone.read([str(runs / "r7")])
    assert alone.diagnose(closed=True).verdict in ("healthy", "info")


@pytest.mark.parametrize("name", GOOD)
def test_none_of_the_others_is_behind(tmp_path: Path, name: str) -> None:
    runs = folder(tmp_path, GOOD | {"r7": 0.55})
    assert analyze(runs / name).verdict in ("healthy", "info")


def test_who_is_not_to_be_compared_is_not(tmp_path: Path) -> None:
    runs = folder(tmp_path, GOOD | {"r7": 0.55})
    settings = Settings(disable=("behind-its-peers", "behind-by-its-settings"))
    analysis = analyze(runs / "r7", settings=settings)
    assert analysis.verdict in ("healthy", "info")
    assert not analysis.run.peers


def test_a_rate_of_its_own_is_the_first_cause(tmp_path: Path) -> None:
    """The others do well with a thousandth, and this one has ten."""
    runs = folder(tmp_path, GOOD, learning_rate=RATE)
    odd = folder(tmp_path / "x", {"r7": 0.55}, learning_rate=10.0) / "r7"
    odd.rename(runs / "r7")
    analysis = analyze(runs / "r7")
    assert analysis.diagnosis.hypotheses[0].cause == "learning-rate-too-high"
    (found,) = [one for one in analysis.present if one.id == "behind-by-its-settings"]
    assert "optimizer.lr 10 (theirs 0.001)" in found.evidence


def test_a_rate_that_does_well_elsewhere_is_not_the_cause(tmp_path: Path) -> None:
    runs = folder(tmp_path, GOOD | {"r7": 0.55}, learning_rate=RATE)
    causes = [one.cause for one in analyze(runs / "r7").diagnosis.hypotheses[:3]]
    assert not {"learning-rate-too-high", "learning-rate-too-low"} & {*causes}


def test_a_trial_of_a_search_is_information(tmp_path: Path) -> None:
    """Each run has a rate of its own: that one of them does badly is what a search is for."""
    runs = tmp_path / "runs"
    for number, (name, level) in enumerate((GOOD | {"r7": 0.55}).items()):
        rate = 0.08 if name == "r7" else RATE * 1.5**number
        single = folder(tmp_path / name, {name: level}, learning_rate=rate) / name
        runs.mkdir(exist_ok=True)
        single.rename(runs / name)
    analysis = analyze(runs / "r7")
    assert severity(analysis, "behind-by-its-settings") == "info"
    assert severity(analysis, "behind-its-peers") is None


def test_what_cannot_be_read_beside_it_is_passed_by(tmp_path: Path) -> None:
    runs = folder(tmp_path, GOOD | {"r7": 0.55})
    (runs / "r0/metrics.jsonl").write_bytes(b"\x00" * 500)
    (runs / "r1/metrics.jsonl").write_text("{" * 900)
    analysis = analyze(runs / "r7")
    assert severity(analysis, "behind-its-peers") == "warning"
    assert not analysis.run.damages


def test_a_watch_compares_as_well(tmp_path: Path) -> None:
    runs = folder(tmp_path, GOOD | {"r7": 0.55})
    watch = Watch(str(runs / "r7"), settings=Settings(), remember=False)
    *_, last = watch.updates(once=True)
    assert severity(last.analysis, "behind-its-peers") == "warning"


def test_of_a_file_that_was_named_files_are_the_peers(tmp_path: Path) -> None:
    """What else lies in the folders of the others is no part of them."""
    runs = folder(tmp_path, GOOD | {"r7": 0.55})
    for name in GOOD:
        (runs / name / "gpu.csv").write_text("step,power\n" + "".join(f"{i},{200 + i}\n" for i in range(20)))
    analysis = analyze(runs / "r7/metrics.jsonl")
    assert severity(analysis, "behind-its-peers") == "warning"
