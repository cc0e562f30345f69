"""The time of small runs with a point every ten seconds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

import pytest

from hrmdoc.analysis import AnalysisSession
from hrmdoc.reports.ledger import Ledger, Loss, ledger

START = 1_700_000_000.0


def ledger_of(folder: Path, points: Iterable[tuple[int, float, float | None]]) -> Ledger:
    """The ledger of a run that logs these steps, losses, and seconds since its start."""
    rows = [
        {"step": step, "loss": loss} | ({} if at is None else {"timestamp": START + at})
        for step, loss, at in points
    ]
    log = folder / "metrics.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    session = AnalysisSession(str(log))
    session.read([str(log)])
    return ledger(session.diagnose(closed=True, prescriptions=False))


def falling(step: int) -> float:
    return 3.0 * math.exp(-step / 200) + 0.01 * (step % 20)


def test_a_run_that_went_through_lost_nothing(tmp_path: Path) -> None:
    found = ledger_of(tmp_path, [(step, falling(step), step) for step in range(0, 500, 10)])
    assert (found.duration, found.losses, found.lost, found.interruptions) == (490.0, (), 0.0, 0)
    assert found.productive_share == 1.0
    assert math.isnan(found.between_failures)


def test_a_run_without_times_has_no_duration_and_no_share(tmp_path: Path) -> None:
    found = ledger_of(tmp_path, [(step, falling(step), None) for step in range(0, 500, 10)])
    assert math.isnan(found.duration)
    assert math.isnan(found.productive_share)
    assert found.losses == ()


def test_an_empty_run_is_no_error(tmp_path: Path) -> None:
    assert math.isnan(ledger_of(tmp_path, [(1, 2.0, 5.0)]).duration)


def test_a_resume_costs_the_gap_beyond_the_usual_and_the_steps_done_twice(tmp_path: Path) -> None:
    before = [(step, falling(step), step) for step in range(0, 300, 10)]
    after = [(step, falling(step), step + 190) for step in range(200, 500, 10)]
    found = ledger_of(tmp_path, before + after)
    assert {loss.what: (loss.seconds, loss.step) for loss in found.losses} == {
        "restart": (90.0, 200),  # from 290 to 390, of which ten are a step's own
        "work done twice": (100.0, 200),  # steps 191 to 290: that of step 200 is logged again
    }
    assert found.interruptions == 1
    assert found.productive_share == pytest.approx(1 - 190 / 680)
    assert found.between_failures == found.duration == 680.0


def test_what_follows_a_critical_symptom_that_never_ends_is_lost(tmp_path: Path) -> None:
    found = ledger_of(
        tmp_path, [(step, falling(step) if step < 300 else math.nan, step) for step in range(0, 500, 10)]
    )
    (loss,) = found.losses
    assert (loss.what, loss.seconds, loss.step) == ("trained on after loss-nonfinite", 190.0, 300)


def test_no_more_is_lost_than_there_was() -> None:
    loss = Loss("restart", 80.0, 1, "")
    assert Ledger(100.0, (loss, loss), 2).lost == 100.0


CHECKPOINT = "2026-03-04 01:{:02d}:00 INFO Saving model checkpoint to out/checkpoint-{}\n"
STEP = "2026-03-04 01:{:02d}:00 INFO step={} loss={:.4f}\n"
WATCHDOG = (
    "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=808, "
    "OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for 600020 milliseconds before "
    "timing out.\n"
)


def of_log(folder: Path, text: str) -> Ledger:
    (folder / "train.log").write_text(text)
    session = AnalysisSession(str(folder / "train.log"))
    session.read([str(folder / "train.log")])
    return ledger(session.diagnose(closed=True, prescriptions=False))


def test_a_broken_run_loses_its_work_since_the_last_checkpoint_and_the_wait_of_its_watchdog(
    tmp_path: Path,
) -> None:
    steps = [STEP.format(minute, 10 * minute, falling(10 * minute)) for minute in range(40)]
    steps.insert(31, CHECKPOINT.format(30, 300))
    found = of_log(tmp_path, "".join(steps) + WATCHDOG)
    assert [(loss.what, loss.seconds, loss.step) for loss in found.losses] == [
        ("work since the last checkpoint", 540.0, 300),
        ("waiting before it broke off", 600.02, 390),
    ]
    assert found.duration == pytest.approx(39 * 60 + 600.02)


def test_a_run_that_ended_well_lost_nothing_after_its_last_checkpoint(tmp_path: Path) -> None:
    steps = [STEP.format(minute, 10 * minute, falling(10 * minute)) for minute in range(40)]
    steps.insert(31, CHECKPOINT.format(30, 300))
    assert of_log(tmp_path, "".join(steps)).losses == ()


def test_the_silence_before_an_error_is_a_wait(tmp_path: Path) -> None:
    steps = [STEP.format(minute, 10 * minute, falling(10 * minute)) for minute in range(20)]
    error = "2026-03-04 01:55:00 ERROR RuntimeError: Connection closed by peer [10.0.0.7]:1234\n"
    unsaved, wait = of_log(tmp_path, "".join(steps) + error).losses
    assert (unsaved.kind, unsaved.steps) == ("unsaved", 190)
    assert (wait.what, wait.seconds, wait.basis) == (
        "waiting before it broke off",
        36 * 60.0,
        "from the last point to the last line",
    )


def test_an_hour_without_a_record_is_an_hour_lost_and_an_evaluation_is_none(tmp_path: Path) -> None:
    lines = [
        STEP.replace(" 01:", f" {1 + (minute + 60 * (minute >= 20)) // 60:02d}:").format(
            minute % 60, minute * 10, falling(minute * 10)
        )
        for minute in range(40)
    ]
    (loss,) = of_log(tmp_path, "".join(lines)).losses
    assert (loss.kind, loss.seconds, loss.step) == ("gap", 3600.0, 190)
    lines.insert(20, CHECKPOINT.format(19, 190))
    assert of_log(tmp_path, "".join(lines)).losses == ()


def minutely(steps: Iterable[int], since: int) -> str:
    """A point a minute, the first one `since` minutes after one o'clock."""
    lines = []
    for minute, step in enumerate(steps, since):
        line = STEP.replace(" 01:", f" {1 + minute // 60:02d}:")
        lines.append(line.format(minute % 60, step, falling(step)))
    return "".join(lines)


RESUMING = "2026-03-04 01:31:00 INFO Resuming from checkpoint out/checkpoint-{}\n"


@pytest.mark.parametrize(("stride", "saved"), [(1, 20), (10, 200)])
@pytest.mark.parametrize("told", [True, False], ids=["checkpoint", "no-checkpoint"])
def test_what_a_resume_trains_again_begins_behind_its_checkpoint(
    tmp_path: Path, stride: int, saved: int, told: bool
) -> None:
    before = minutely(range(stride, 31 * stride, stride), 1)
    checkpoint = CHECKPOINT.format(20, saved)
    again = RESUMING.format(saved) + minutely(range(saved + stride, 41 * stride, stride), 32)
    found = of_log(tmp_path, (before + checkpoint if told else before) + again)
    (loss,) = [loss for loss in found.losses if loss.kind == "replay"]
    assert (loss.seconds, loss.steps) == (600.0, 10 * stride)
    assert loss.basis == f"steps {saved + 1} to {30 * stride} were trained again"


@pytest.mark.parametrize("told", [True, False], ids=["checkpoint", "no-checkpoint"])
def test_a_crash_right_behind_a_checkpoint_is_an_interruption_though_no_step_is_done_twice(
    tmp_path: Path, told: bool
) -> None:
    text = minutely(range(1, 31), 1) + (CHECKPOINT.format(30, 30) if told else "") + OOM
    found = of_log(tmp_path, text + RESUMING.format(30) + minutely(range(31, 61), 71))
    assert [(loss.kind, loss.seconds, loss.steps) for loss in found.losses] == [("restart", 2400.0, 0)]
    assert (found.interruptions, found.repairs) == (1, (2460.0,))


def test_a_checkpoint_that_is_loaded_in_passing_is_no_restart(tmp_path: Path) -> None:
    text = minutely(range(1, 31), 1) + RESUMING.format(20) + minutely(range(31, 61), 32)
    assert of_log(tmp_path, text).interruptions == 0


def test_a_pause_in_which_an_error_stands_was_not_used_for_a_checkpoint(tmp_path: Path) -> None:
    text = minutely(range(1, 31), 1) + CHECKPOINT.format(30, 30) + OOM + minutely(range(31, 61), 71)
    (loss,) = of_log(tmp_path, text).losses
    assert (loss.kind, loss.seconds) == ("gap", 2400.0)


@pytest.mark.parametrize("why", ["", " DUE TO TIME LIMIT", " DUE TO PREEMPTION", " DUE TO NODE FAILURE"])
def test_a_run_that_its_scheduler_ended_loses_its_work_since_the_last_checkpoint(
    tmp_path: Path, why: str
) -> None:
    text = minutely(range(1, 20), 1) + CHECKPOINT.format(19, 19) + minutely(range(20, 31), 20)
    cancelled = f"slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-03-04T01:31:00{why} ***\n"
    found = of_log(tmp_path, text + cancelled)
    assert found.interruptions == 1
    assert [(loss.kind, loss.steps) for loss in found.losses] == [("unsaved", 11)]
    assert of_log(tmp_path, text + cancelled + minutely(range(31, 61), 32)).interruptions == 0


OOM = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def test_an_early_end_without_a_checkpoint_loses_all_steps_with_or_without_times(tmp_path: Path) -> None:
    for line in ("step={} loss={:.4f}\n", "2026-03-04 01:00:00 INFO step={} loss={:.4f}\n"):
        steps = "".join(line.format(step, falling(step)) for step in range(10, 401, 10))
        found = of_log(tmp_path, steps + OOM)
        (loss,) = found.losses
        assert (loss.kind, loss.steps, found.lost_steps, found.steps) == ("unsaved", 400, 400, 400)
        assert found.interruptions == 1


def test_each_second_and_step_is_lost_once(tmp_path: Path) -> None:
    """Replayed, then trained on with NaN, then broken off without a checkpoint."""
    before = [(step, falling(step), step) for step in range(0, 300, 10)]
    after = [(step, falling(step) if step < 300 else math.nan, step + 190) for step in range(200, 500, 10)]
    rows = [{"step": s, "loss": v, "timestamp": START + at} for s, v, at in before + after]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "train.log").write_text("RuntimeError: CUDA error: device-side assert triggered\n")
    session = AnalysisSession(str(tmp_path))
    session.read([str(tmp_path)])
    found = ledger(session.diagnose(closed=True, prescriptions=False))
    assert {loss.kind for loss in found.losses} == {"restart", "replay", "after", "unsaved"}
    assert sum(loss.seconds for loss in found.losses) == pytest.approx(found.duration)
    assert found.lost_steps == found.steps
