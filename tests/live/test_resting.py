"""A watched run that was let go for its length: what is found stays what `analyze` finds in all of it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hrmdoc import readers
from hrmdoc.analysis import Analysis, AnalysisSession, Prepared
from hrmdoc.live.watch import MOST_LINES, TAIL, Watch
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.settings import Settings

ROWS = 2400


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return Prepared.of(Settings())


FAULTS: dict[str, tuple[int, Callable[[float, float, int], tuple[float, float]]]] = {
    "none": (0, lambda loss, norm, _: (loss, norm)),
    "nan": (300, lambda _, norm, __: (math.nan, norm)),
    "nan that ends": (2000, lambda loss, norm, after: (math.nan if after < 40 else loss, norm)),
    "early spike": (300, lambda loss, norm, after: (loss + 6 * math.exp(-after / 10), norm)),
    "late spike": (2000, lambda loss, norm, after: (loss + 6 * math.exp(-after / 10), norm)),
    "early divergence": (300, lambda loss, norm, after: (loss + min(8, after / 30), norm)),
    "late divergence": (2000, lambda loss, norm, after: (loss + min(8, after / 30), norm)),
    "no progress": (300, lambda _, norm, __: (2.2, norm)),
    "zero": (2000, lambda _, norm, __: (0.0, norm)),
    "gradients": (2000, lambda loss, norm, after: (loss, norm * (1 + after))),
}
"""When it begins, and what becomes of the loss and the norm of the gradient so many steps after that."""


def rows(fault: str) -> list[str]:
    dice, found = random.Random(5), []
    at, change = FAULTS[fault]
    for step in range(1, ROWS + 1):
        loss, norm = 0.4 + 3 / math.sqrt(1 + step / 12) + dice.gauss(0, 0.02), abs(dice.gauss(1, 0.1))
        if step >= at:
            loss, norm = change(loss, norm, step - at)
        found.append(json.dumps({"step": step, "loss": loss, "lr": 3e-4, "grad_norm": norm}) + "\n")
    return found


def watched(folder: Path, prepared: Prepared, texts: list[str], rest: bool) -> tuple[Watch, list[str]]:
    """A watch that followed so many rows, and the changes that it told."""
    folder.mkdir()
    log, told = folder / "metrics.jsonl", []
    log.write_text("".join(texts[:200]))
    (group,) = readers.runs_below([str(folder)])
    clock = [0.0]
    watch = Watch(
        str(folder),
        group=group,
        prepared=prepared,
        remember=False,
        now=lambda: clock[0],
        steady=lambda: clock[0],
    )
    with log.open("a") as file:
        for first in range(200, len(texts) + 200, 734):
            clock[0] += 60
            watch.poll()
            told += [f"{one.symptom} {one.change}" for one in watch.examine(treat=False).changes]
            if rest:
                watch.rest(3000)
            file.write("".join(texts[first : first + 734]))
            file.flush()
    return watch, told


def said(analysis: Analysis) -> list[object]:
    causes = [one.cause for one in analysis.diagnosis.hypotheses[:3]]
    seen = [(one.id, one.state, one.first_step, analysis.severity(one)) for one in analysis.present]
    return [analysis.verdict, seen, causes]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_told_is_what_a_watch_tells_that_keeps_everything(
    fault: str, tmp_path: Path, prepared: Prepared
) -> None:
    texts = rows(fault)
    resting, told = watched(tmp_path / "resting", prepared, texts, rest=True)
    keeping, all_told = watched(tmp_path / "keeping", prepared, texts, rest=False)
    assert (resting.resting, keeping.resting) == (True, False)
    assert max(map(len, resting.session.run.series.values())) < ROWS / 2
    assert told == all_told
    assert said(resting.examine(treat=False).analysis) == said(keeping.examine(treat=False).analysis)
    whole = AnalysisSession(str(tmp_path / "resting"), prepared=prepared)
    (group,) = readers.runs_below([str(tmp_path / "resting")])
    whole.read_run(group)
    assert said(resting.finish().analysis) == said(whole.diagnose(closed=True))


def test_what_it_takes_does_not_grow_with_points_and_messages(tmp_path: Path, prepared: Prepared) -> None:
    log = tmp_path / "train.log"
    line = (
        "step {0} | loss {1:.4f} | lr 3e-04\n[rank0] RuntimeError: NCCL communicator was aborted on rank 0\n"
    )
    log.write_text("".join(line.format(at, 1 / (1 + at)) for at in range(500)))
    (group,) = readers.runs_below([str(log)])
    watch = Watch(str(log), group=group, prepared=prepared, remember=False)
    kept = []
    for first in range(500, 6500, 500):
        watch.poll()
        watch.rest(500)
        run = watch.session.run
        kept.append((max(map(len, run.series.values())), len(run.lines)))
        with log.open("a") as file:
            file.writelines(line.format(at, 1 / (1 + at)) for at in range(first, first + 500))
    assert max(points for points, _ in kept) <= 4 * TAIL
    assert max(lines for _, lines in kept) <= 4 * MOST_LINES
    analysis = watch.examine(treat=False).analysis
    assert analysis.run.points == 2 * 6500
    assert max(one.count for one in analysis.present if one.metric == "") >= 6500


def test_a_run_whose_log_was_rotated_is_kept(tmp_path: Path, prepared: Prepared) -> None:
    log, texts = tmp_path / "metrics.jsonl", rows("none")
    log.write_text("".join(texts[:1200]))
    (group,) = readers.runs_below([str(tmp_path)])
    watch = Watch(str(tmp_path), group=group, prepared=prepared, remember=False)
    watch.poll()
    log.write_text("".join(texts[1200:1300]))
    watch.poll()
    watch.rest(100)
    assert not watch.resting
    assert watch.session.run.points == 3 * 1300


def test_series_whose_points_stand_together_do_so_when_old_ones_went() -> None:
    run = Run("x")

    def add(first: int, last: int) -> None:
        steps = np.arange(first, last, dtype=np.int64) * 3
        times, lines, file = steps * 1.0, steps + 1, f"{first}.log"
        for metric in ("loss", "norm"):
            run.add(Points(metric, steps, np.sin(steps), times, file, lines=lines, source="x"))

    add(0, 700)
    add(700, 900)
    run.forget_old(100, 10)
    add(900, 950)
    loss, norm = run.series.values()
    assert (len(loss), loss.came, run.points) == (150, 950, 300)
    assert loss.stands == norm.stands
    assert loss.steps.tolist() == [3 * at for at in range(800, 950)]
    assert norm.values.tolist() == np.sin(loss.steps).tolist()
    assert [loss.place(at)[0] for at in (0, 99, 100, -1)] == ["700.log", "700.log", "900.log", "900.log"]
