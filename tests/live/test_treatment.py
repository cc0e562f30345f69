"""What the policy lets the doctor do to a run, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hrmdoc.analysis import Analysis, AnalysisSession
from hrmdoc.errors import ActionError
from hrmdoc.live.offers import live_actions
from hrmdoc.live.treatment import Treatment
from hrmdoc.record.records import Points
from hrmdoc.remedies.actions import Answer
from hrmdoc.settings import Policy

ANY = Policy(auto=("safe", "guarded"), cooldown_s=60.0)
Send = Callable[..., Answer]


def healthy(last: int) -> str:
    return "".join(f"step {i} | loss {2 - i / 200} | grad_norm 1.0 | lr 5e-05\n" for i in range(last))


def sick(last: int) -> str:
    return healthy(last) + "".join(
        f"step {i} | loss nan | grad_norm nan | lr 5e-05\n" for i in range(last, last + 4)
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"schema": "hrmdoc.run/1", "state": "running"}')
    return folder


def diagnosed(run: Path, text: str, *, closed: bool = False) -> Analysis:
    (run / "train.log").write_text(text)
    session = AnalysisSession(str(run))
    session.read([str(run)])
    return session.diagnose(closed=closed)


class Trainer:
    """Stands in for a live run: notes what is sent and answers."""

    def __init__(self, status: str = "done", why: str = "") -> None:
        self.asked: list[tuple[str, float | None, str]] = []
        self._answer = (status, why)

    def __call__(self, folder: Path, action: str, *, lr: float | None, reason: str, timeout: float) -> Answer:
        assert folder.is_dir()
        assert timeout > 0
        self.asked.append((action, lr, reason))
        return Answer("1", action, self._answer[0], 54, self._answer[1])


def test_by_default_nothing_is_done(run: Path) -> None:
    trainer = Trainer()
    treatment = Treatment(Policy(), run, None, trainer)
    (action,) = treatment.treat(diagnosed(run, sick(50)), 1.0)
    assert (action.status, "nothing is allowed" in action.why) == ("withheld", True)
    assert treatment.treat(diagnosed(run, sick(60)), 9.0) == [], "that is told once"
    assert trainer.asked == []


def test_a_healthy_run_is_left_alone(run: Path) -> None:
    trainer = Trainer()
    assert Treatment(ANY, run, None, trainer).treat(diagnosed(run, healthy(50)), 1.0) == []
    assert trainer.asked == []


def test_a_run_whose_trainer_takes_no_actions_gets_none(run: Path) -> None:
    (run / "run.json").unlink()
    trainer = Trainer()
    assert Treatment(ANY, run, None, trainer).treat(diagnosed(run, sick(50)), 1.0) == []
    assert trainer.asked == []


def test_a_critical_symptom_gets_first_aid_once_and_is_told_when_it_is_over(run: Path) -> None:
    trainer = Trainer()
    treatment = Treatment(ANY, run, None, trainer)
    (action,) = treatment.treat(diagnosed(run, sick(50)), 100.0)
    assert (action.remedy, action.status, action.step, action.what) == ("roll-back", "done", 54, "rollback")
    assert action.gone == ("loss-nonfinite",)
    assert trainer.asked == [("rollback", None, "roll-back")]
    assert treatment.treat(diagnosed(run, sick(50)), 1000.0) == [], "the same is not done twice"
    assert treatment.treat(diagnosed(run, healthy(80)), 1005.0) == [], "26 steps tell nothing yet"
    (after,) = treatment.treat(diagnosed(run, healthy(160)), 1010.0)
    assert (after.remedy, after.status) == ("roll-back", "helped")
    assert treatment.treat(diagnosed(run, healthy(170)), 1020.0) == []


def test_what_still_shows_at_the_end_was_ineffective(run: Path) -> None:
    treatment = Treatment(ANY, run, None, Trainer())
    treatment.treat(diagnosed(run, sick(50)), 100.0)
    analysis = diagnosed(run, sick(50), closed=True)
    assert [action.status for action in treatment.treat(analysis, 200.0, closed=True)] == ["ineffective"]


@pytest.mark.parametrize("status", ["refused", "failed"])
def test_a_refusal_is_told_and_not_asked_again(run: Path, status: str) -> None:
    trainer = Trainer(status, "no good checkpoint")
    treatment = Treatment(ANY, run, None, trainer)
    (action,) = treatment.treat(diagnosed(run, sick(50)), 100.0)
    assert (action.status, action.why) == (status, "no good checkpoint")
    assert treatment.treat(diagnosed(run, sick(50)), 1000.0) == []
    assert len(trainer.asked) == 1


def test_a_run_that_does_not_answer_is_told(run: Path) -> None:
    def silent(*_: Any, **__: Any) -> Answer:
        raise ActionError("no answer within 20 s; the action was taken back")

    (action,) = Treatment(ANY, run, None, silent).treat(diagnosed(run, sick(50)), 100.0)
    assert (action.status, action.why) == ("failed", "no answer within 20 s; the action was taken back")


def test_an_action_that_failed_holds_up_no_other(run: Path, tmp_path: Path) -> None:
    record = tmp_path / "actions.jsonl"
    treatment = Treatment(ANY, run, record, Trainer("failed", "the disk is full"))
    treatment.treat(diagnosed(run, sick(50)), 100.0)
    for later in (treatment, Treatment(ANY, run, record, Trainer())):
        assert later._gate.failed == {"roll-back"}
        assert later._gate.done == []


def test_what_was_done_is_remembered_beside_the_run(run: Path, tmp_path: Path) -> None:
    record = tmp_path / "actions.jsonl"
    Treatment(ANY, run, record, Trainer()).treat(diagnosed(run, sick(50)), 100.0)
    record.write_text(record.read_text() + '{"remedy": "torn')
    trainer = Trainer()
    again = Treatment(ANY, run, record, trainer)
    assert [(action.remedy, action.gone) for action in again.taken] == [("roll-back", ("loss-nonfinite",))]
    assert again.treat(diagnosed(run, sick(50)), 1000.0) == []
    assert trainer.asked == []


def test_of_two_watches_one_acts_and_the_other_goes_on_once_that_has_ended(run: Path, tmp_path: Path) -> None:
    record, trainer = tmp_path / "actions.jsonl", Trainer()
    first, second = Treatment(ANY, run, record, trainer), Treatment(ANY, run, record, trainer)
    sickness = diagnosed(run, sick(50))
    assert second.treat(sickness, 100.0) == []
    assert len(first.treat(sickness, 100.0)) == 1
    del first
    assert second.treat(sickness, 1000.0) == [], "it knows what the first one did"
    assert [action.remedy for action in second.taken] == ["roll-back"]
    assert len(trainer.asked) == 1


def test_a_record_that_cannot_be_written_ends_no_treatment(run: Path, tmp_path: Path) -> None:
    (action,) = Treatment(ANY, run, tmp_path, Trainer()).treat(diagnosed(run, sick(50)), 100.0)
    assert action.status == "done"


def out_of_memory(run: Path) -> Analysis:
    """A run that ended for want of memory on the device, with its config."""
    (run / "run.json").unlink()
    steps = "".join(
        f"{{'loss': {2 - i / 50}, 'learning_rate': 2e-05, 'epoch': {i / 50}}}\n" for i in range(1, 20)
    )
    said = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 23.65 GiB"
    )
    (run / "train.log").write_text(f"{steps}{said} of which 1.50 GiB is free.\n")
    (run / "training_args.yaml").write_text(
        "learning_rate: 2e-5\nper_device_train_batch_size: 64\ngradient_accumulation_steps: 1\n"
    )
    session = AnalysisSession(str(run))
    session.read([str(run)])
    return session.diagnose(closed=True)


def test_an_unlikely_cause_is_not_treated_and_the_reason_told(run: Path) -> None:
    analysis = out_of_memory(run)
    before = (run / "training_args.yaml").read_bytes()
    (action,) = Treatment(Policy(auto=("safe", "guarded"), min_probability=1.0), run, None).treat(
        analysis, 1.0, closed=True
    )
    assert action.status == "withheld"
    assert "the policy asks for 100%" in action.why
    assert (run / "training_args.yaml").read_bytes() == before


def test_the_config_of_a_run_that_has_ended_is_patched_with_a_way_back(run: Path) -> None:
    from hrmdoc.remedies import store

    analysis = out_of_memory(run)
    before = (run / "training_args.yaml").read_bytes()
    policy = Policy(auto=("safe", "guarded"), min_probability=0.01)
    (action,) = Treatment(policy, run, None).treat(analysis, 1.0, closed=True)
    assert action.status == "written"
    assert (run / "training_args.yaml").read_bytes() != before
    (file,) = action.files
    store.undo(file)
    assert (run / "training_args.yaml").read_bytes() == before


def test_first_aid_follows_the_actions_against_likely_causes(run: Path) -> None:
    offered = list(live_actions(diagnosed(run, sick(50))))
    assert ("roll-back", "loss-nonfinite") in [(remedy.id, reason) for remedy, reason in offered]
    assert all(remedy.kind == "action" for remedy, _ in offered)
    assert list(live_actions(diagnosed(run, healthy(50)))) == []


def low_on_disk(run: Path, free: float, *, closed: bool = False) -> Analysis:
    session = AnalysisSession(str(run))
    session.read([str(run)])
    steps = np.arange(30)
    session.run.add(Points("disk.free", steps, np.full(30, free), np.full(30, np.nan), "host.jsonl"))
    return session.diagnose(closed=closed)


def told_by_the_trainer(run: Path, *events: str) -> None:
    (run / "train.log").write_text(healthy(50))
    with (run / "events.jsonl").open("a") as file:
        file.writelines(f'{{"time": 1, "step": 50, {event}}}\n' for event in events)


STARTED, PAUSED = '"event": "started"', '"event": "action", "action": "pause_checkpoints", "status": "done"'


def test_a_pause_outlives_its_time_and_the_end_of_the_run_until_there_is_room(
    run: Path, tmp_path: Path
) -> None:
    told_by_the_trainer(run, STARTED)
    trainer, record = Trainer(), tmp_path / "actions.jsonl"
    first = Treatment(ANY, run, record, trainer)
    (paused,) = first.treat(low_on_disk(run, 3), 1.0)
    assert (paused.remedy, paused.status) == ("pause-checkpoints", "done")
    told_by_the_trainer(run, PAUSED)
    (late,) = first.treat(low_on_disk(run, 3), 1e6)
    assert late.status == "ineffective"
    assert first.treat(low_on_disk(run, 3, closed=True), 1e6 + 1, closed=True) == []
    del first
    later = Treatment(ANY, run, record, trainer)
    (released,) = later.treat(low_on_disk(run, 90), 2e6)
    assert (released.status, trainer.asked[-1][0]) == ("released", "resume_checkpoints")
    assert later.treat(low_on_disk(run, 90), 2e6 + 1) == []


def test_a_trainer_that_is_started_anew_is_paused_again(run: Path) -> None:
    told_by_the_trainer(run, STARTED)
    trainer = Trainer()
    treatment = Treatment(ANY, run, None, trainer)
    treatment.treat(low_on_disk(run, 3), 1.0)
    told_by_the_trainer(run, PAUSED)
    assert treatment.treat(low_on_disk(run, 3), 2.0) == []
    told_by_the_trainer(run, STARTED)
    (again,) = treatment.treat(low_on_disk(run, 3), 3.0)
    assert (again.remedy, again.status) == ("pause-checkpoints", "done")
    assert [action for action, _, _ in trainer.asked] == ["pause_checkpoints"] * 2
    assert treatment.treat(low_on_disk(run, 3), 4.0) == [], "its answer takes a while"
    told_by_the_trainer(run, PAUSED)
    assert [one.status for one in treatment.treat(low_on_disk(run, 90), 5.0)] == ["helped", "released"]


def test_what_is_gone_at_once_has_not_helped_while_another_sign_of_the_fault_stands(run: Path) -> None:
    """A spike is over a moment after any action; the loss that stands far above its start is not."""
    treatment = Treatment(ANY, run, None, Trainer())
    treatment.treat(diagnosed(run, sick(50)), 100.0)
    climbing = healthy(50) + "".join(
        f"step {i} | loss {2 + (i - 50) / 5} | grad_norm 1.0 | lr 5e-05\n" for i in range(50, 400)
    )
    news = treatment.treat(diagnosed(run, climbing), 110.0)
    assert "helped" not in [one.status for one in news]
    ended = treatment.treat(diagnosed(run, climbing, closed=True), 120.0, closed=True)
    assert [one.status for one in ended if one.remedy == "roll-back"] == ["ineffective"]
