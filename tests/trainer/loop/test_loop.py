from __future__ import annotations

import json
import os
import signal
import types
from typing import Any

import pytest
import torch

from hrmdoc.errors import ConfigError, InputError
from hrmdoc.trainer import faults
from hrmdoc.trainer.faults.base import Fault
from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.state import keeper


class At(Fault):
    """Calls `act` before the first step that is not below `step`."""

    def __init__(self, step: int, act: Any) -> None:
        super().__init__(step=step)
        self.act, self.done = act, False

    def before_step(self, state: Any) -> None:
        if state.step + 1 >= self.step and not self.done:
            self.done = True
            self.act()


def test_a_run_ends_at_its_last_step_with_everything_written(lab: Any) -> None:
    outcome = train(lab.job())
    folder = lab.folder / "run"
    assert (outcome.reason, outcome.step, outcome.state) == ("finished", 16, "finished")
    assert {path.name.strip(".").split(".")[0] for path in folder.iterdir()} == {
        "run", "config", "events", "train", "heartbeat", "checkpoints", "control", "lock",
    }  # fmt: skip
    assert json.loads((folder / "run.json").read_text())["state"] == "finished"
    assert json.loads((folder / "heartbeat.json").read_text())["step"] == 16
    assert [event["event"] for event in lab.events()] == ["started", "evaluated", "checkpoint", "ended"]
    assert lab.checkpoints() == ["step_16"]


def test_every_step_is_written_under_hrms_names(lab: Any) -> None:
    train(lab.job("log_interval=5"))
    found = lab.scalars()
    for name in ("lm_loss", "q_halt_loss", "q_continue_loss", "count", "grad_norm", "lr"):
        assert [step for step, _ in found[f"train/{name}"]] == list(range(1, 17))
    assert [step for step, _ in found["all.exact_accuracy"]] == [16]
    assert found["num_params"][0][0] == 0


def test_accuracies_of_steps_in_which_no_row_halted_are_left_out(lab: Any) -> None:
    train(lab.job("arch.halt_exploration_prob=0"))
    found = lab.scalars()
    empty = {step for step, count in found["train/count"] if count == 0}
    assert empty
    for name in ("accuracy", "exact_accuracy", "q_halt_accuracy", "steps"):
        assert {step for step, _ in found[f"train/{name}"]} == set(range(1, 17)) - empty


def test_the_learning_rate_warms_up_and_decays_to_its_minimum(lab: Any) -> None:
    train(lab.job("lr_warmup_steps=4", "lr_min_ratio=0.1"))
    rates = [value for _, value in lab.scalars()["train/lr"]]
    assert rates[:4] == pytest.approx([2.5e-4, 5e-4, 7.5e-4, 1e-3])
    assert rates[-1] == pytest.approx(1e-4)
    assert rates[4:] == sorted(rates[4:], reverse=True)


def test_the_log_line_can_be_parsed(lab: Any) -> None:
    train(lab.job())
    line = next(
        line
        for line in (lab.folder / "run" / "train.log").read_text().splitlines()
        if line.startswith("step 16/16")
    )
    parts = dict(part.split(" ", 1) for part in line.split(" | ")[1:-1])
    assert set(parts) >= {"lm_loss", "grad_norm", "lr"}
    assert float(parts["lr"]) == pytest.approx(1e-3)
    assert line.endswith("it/s")


@pytest.mark.parametrize(
    "more", [(), ("ema=true",), ("grad_accum=2", "grad_clip=0.5"), ("arch.forward_dtype=bfloat16",)]
)
def test_a_resumed_run_is_bit_identical_to_one_that_never_stopped(lab: Any, more: tuple[str, ...]) -> None:
    whole = lab.job(*more, "max_steps=6", run="whole")
    train(whole)
    train(lab.job(*more, "max_steps=6", "checkpoint_interval=3", "checkpoint_keep=9", run="half"))
    torch.manual_seed(999)
    resumed = lab.job(
        f"resume={lab.folder / 'half' / 'checkpoints' / 'step_3'}",
        "max_steps=6",
        f"run_dir={lab.folder / 'rest'}",
    )
    assert resumed.state.step == 3
    train(resumed)
    for name, tensor in lab.weights(whole.state).items():
        assert torch.equal(tensor, resumed.state.model.state_dict()[name]), name
    if whole.state.ema is not None:
        assert all(
            torch.equal(a, b) for a, b in zip(whole.state.ema.average, resumed.state.ema.average, strict=True)
        )
    before, after = lab.scalars("whole"), lab.scalars("rest")
    for tag, points in before.items():
        assert [point for point in points if point[0] > 3] == [
            point for point in after.get(tag, []) if point[0] > 3
        ], tag


def test_two_runs_of_one_seed_are_equal_and_another_seed_differs(lab: Any) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(lab.job(f"seed={seed}", "max_steps=4", run=name))
    losses = [lab.scalars(name)["train/lm_loss"] for name in ("a", "b", "c")]
    assert losses[0] == losses[1] != losses[2]


def test_a_run_goes_on_in_its_own_directory(lab: Any) -> None:
    train(lab.job("max_steps=4"))
    train(lab.job(f"resume={lab.folder / 'run'}", "max_steps=8"))
    assert [step for step, _ in lab.scalars()["train/lm_loss"]] == list(range(1, 9))
    assert [event["step"] for event in lab.events("resumed")] == [4]
    assert lab.events("resumed")[0]["restarts"] == 1


def test_a_damaged_newest_checkpoint_is_passed_over_loudly(lab: Any) -> None:
    train(lab.job("max_steps=6", "checkpoint_interval=2", "fault=corrupt-checkpoint@6"))
    job = lab.job(f"resume={lab.folder / 'run'}", "max_steps=8", "fault=null")
    assert job.state.step == 4
    assert lab.events("checkpoint_unusable")[0]["path"].endswith("step_6/state.pt")
    assert any("step_6" in line and "using step_4 instead" in line for line in lab.lines)
    train(job)


def test_a_checkpoint_damaged_since_it_was_saved_is_reported_though_nobody_needs_it(lab: Any) -> None:
    train(lab.job("max_steps=6", "checkpoint_interval=2", run="well"))
    assert lab.events("checkpoint_unusable", run="well") == []
    train(lab.job("max_steps=6", "checkpoint_interval=2", "fault=corrupt-checkpoint@4"))
    unusable = [
        (event["step"], event["path"].rpartition("checkpoints/")[2])
        for event in lab.events("checkpoint_unusable")
    ]
    assert unusable == [(6, "step_4/state.pt"), (6, "step_6/state.pt")]
    assert sum("its checksum differs" in line for line in lab.lines) == 2


def test_batches_that_come_again_are_reported_of_once(lab: Any) -> None:
    train(lab.job("epochs=20", "eval_interval=20", "max_steps=40", run="well"))
    assert lab.events("warning", run="well") == []
    train(lab.job("epochs=20", "eval_interval=20", "max_steps=40", "fault=memorize"))
    (event,) = lab.events("warning")
    assert event["message"].startswith("self-check: 14 of 16 batches held the very inputs of an earlier one")
    assert event["step"] == 16


def test_a_run_resumed_through_the_link_to_the_newest_one_leaves_the_link_intact(lab: Any) -> None:
    train(lab.job("max_steps=2", run="runs/first"))
    latest = lab.folder / "runs" / "latest"
    train(lab.job(f"resume={latest}", "max_steps=4"))
    assert latest.resolve() == lab.folder / "runs" / "first"
    assert (latest / "checkpoints" / "step_4").is_dir()


def test_changed_data_are_refused_on_resume_unless_accepted(lab: Any) -> None:
    train(lab.job("max_steps=2"))
    lab.dataset(seed=1)
    with pytest.raises(ConfigError, match="the dataset has changed") as caught:
        lab.job(f"resume={lab.folder / 'run'}")
    accept = str(caught.value).rpartition(" ")[2]
    assert lab.job(f"resume={lab.folder / 'run'}", accept).state.step == 2


def test_a_recorded_hash_that_does_not_match_the_data_stops_before_anything_is_written(lab: Any) -> None:
    with pytest.raises(ConfigError, match="the dataset has changed"):
        lab.job("data_hash=abc")
    assert not (lab.folder / "run").exists()


def test_a_checkpoint_of_another_model_is_refused(lab: Any) -> None:
    train(lab.job("max_steps=2"))
    with pytest.raises(InputError, match="does not fit this model"):
        lab.job(f"resume={lab.folder / 'run'}", "arch.hidden_size=32")


def test_a_folder_that_holds_a_run_is_not_overwritten(lab: Any) -> None:
    train(lab.job("max_steps=2"))
    with pytest.raises(ConfigError, match="there is a run in this folder already"):
        lab.job()


def test_a_nonfinite_loss_stops_the_run_and_is_logged_as_it_is(lab: Any) -> None:
    outcome = train(lab.job("fault=nan-weights@7", "log_interval=1"))
    assert (outcome.reason, outcome.state, outcome.step) == ("nonfinite", "crashed", 7)
    assert str(lab.scalars()["train/lm_loss"][-1]) == "(7, nan)"
    assert lab.events("nonfinite")[0]["step"] == 7
    assert lab.checkpoints() == []


def test_without_a_watchdog_a_nonfinite_run_goes_on_and_its_checkpoint_is_marked(lab: Any) -> None:
    outcome = train(lab.job("fault=nan-weights@7", "on_nonfinite=off"))
    assert outcome.reason == "finished"
    assert lab.events("checkpoint")[-1]["finite"] is False


def test_a_rollback_returns_to_the_last_good_checkpoint_and_finishes(lab: Any) -> None:
    job = lab.job("fault=nan-weights@7", "on_nonfinite=rollback", "checkpoint_interval=4")
    outcome = train(job)
    assert (outcome.reason, outcome.step, job.state.rollbacks) == ("finished", 16, 1)
    assert [(event["from_step"], event["step"]) for event in lab.events("rollback")] == [(8, 4)]
    assert all(torch.isfinite(tensor).all() for tensor in lab.weights(job.state).values())


def test_rollbacks_are_limited(lab: Any) -> None:
    outcome = train(
        lab.job(
            "fault=fp16-overflow:1e9@5", "on_nonfinite=rollback", "max_rollbacks=2", "checkpoint_interval=2"
        )
    )
    assert outcome.reason == "nonfinite"
    assert len(lab.events("rollback")) == 2


def test_skipping_leaves_the_weights_finite(lab: Any) -> None:
    class Poison(Fault):
        def before_step(self, state: Any) -> None:
            if state.step + 1 == 5:
                state.carry.z_H.fill_(float("nan"))
                state.carry.halted.fill_(False)

    job = lab.job("on_nonfinite=skip")
    job.fault = Poison()
    outcome = train(job)
    assert (outcome.reason, job.state.skipped) == ("finished", 1)
    assert [event["step"] for event in lab.events("skipped")] == [5]
    assert all(torch.isfinite(tensor).all() for tensor in lab.weights(job.state).values())


def test_a_full_disk_does_not_end_the_run_and_old_checkpoints_stay(lab: Any) -> None:
    outcome = train(lab.job("fault=disk-full:4@8", "checkpoint_interval=4"))
    assert outcome.reason == "finished"
    assert lab.checkpoints() == ["step_4"]
    assert [(event["step"], event["errno"]) for event in lab.events("checkpoint_failed")] == [
        (8, 28),
        (12, 28),
        (16, 28),
    ]


def test_only_the_newest_checkpoints_are_kept(lab: Any) -> None:
    train(lab.job("checkpoint_interval=2", "checkpoint_keep=2"))
    assert lab.checkpoints() == ["step_14", "step_16"]


def test_early_stopping_waits_for_its_patience(lab: Any) -> None:
    outcome = train(
        lab.job("epochs=16", "eval_interval=1", "early_stopping.patience=2", "early_stopping.min_delta=9")
    )
    assert (outcome.reason, outcome.step) == ("early_stopping", 12)
    assert len(lab.events("evaluated")) == 3


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_signal_saves_a_checkpoint_and_ends_in_good_order(lab: Any, name: str) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)
    job = lab.job()
    job.fault = At(5, lambda: os.kill(os.getpid(), number))
    outcome = train(job)
    assert (outcome.reason, outcome.step, outcome.signal, outcome.state) == ("signal", 5, number, "stopped")
    assert lab.checkpoints() == ["step_5"]
    assert signal.getsignal(number) is before


def test_a_crash_is_written_with_its_traceback_before_it_is_raised(lab: Any) -> None:
    def fail() -> None:
        raise RuntimeError("boom")

    job = lab.job()
    job.fault = At(3, fail)
    with pytest.raises(RuntimeError, match="boom"):
        train(job)
    crash = lab.events("exception")[0]
    assert (crash["type"], crash["message"], crash["step"]) == ("RuntimeError", "boom", 2)
    assert "Traceback" in (lab.folder / "run" / "train.log").read_text()
    assert json.loads((lab.folder / "run" / "run.json").read_text())["state"] == "crashed"


def send(lab: Any, action: dict[str, Any], name: str = "a") -> None:
    (lab.folder / "run" / "control" / f"{name}.json").write_text(json.dumps(action))


def test_actions_are_executed_at_a_step_boundary_and_answered(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hrmdoc.trainer.loop.inbox.POLL_S", 0.0)
    job = lab.job("checkpoint_interval=4")
    job.fault = At(3, lambda: send(lab, {"action": "set_lr", "lr": 5e-4, "id": "slower", "reason": "test"}))
    train(job)
    answer = lab.events("action")[0]
    assert (answer["id"], answer["status"], answer["step"], answer["lr"]) == ("slower", "done", 3, 5e-4)
    assert [value for _, value in lab.scalars()["train/lr"]][2:4] == pytest.approx([1e-3, 5e-4])
    assert list((lab.folder / "run" / "control").iterdir()) == []


def test_checkpoints_can_be_paused_and_resumed(lab: Any) -> None:
    send_later = lab.job("checkpoint_interval=2")
    send(lab, {"action": "pause_checkpoints"}, "a")
    train(send_later)
    assert lab.checkpoints() == []
    assert {event["event"] for event in lab.events()} >= {"checkpoint_skipped", "action"}


def resumed(lab: Any, steps: int, action: dict[str, str] | None = None) -> Any:
    """The run, gone on with to so many steps; an action waits for it."""
    job = lab.job(f"max_steps={steps}", "checkpoint_interval=2", f"resume={lab.folder / 'run'}")
    if action is not None:
        send(lab, action, "a")
    train(job)
    return job


def test_a_pause_outlives_a_restart_until_there_is_room(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    room = [3e9]
    monkeypatch.setattr(keeper.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=room[0]))
    train(lab.job("max_steps=2"))
    resumed(lab, 4, {"action": "pause_checkpoints", "reason": "pause-checkpoints"})
    resumed(lab, 6)
    assert lab.checkpoints() == ["step_2"], "still paused"
    room[0] = 9e9
    resumed(lab, 8)
    assert lab.checkpoints()[-1] == "step_8"
    assert not (lab.folder / "run" / "control" / "paused").exists()


def test_a_pause_for_another_reason_waits_for_who_made_it(lab: Any) -> None:
    train(lab.job("max_steps=2"))
    resumed(lab, 4, {"action": "pause_checkpoints", "reason": "a backup"})
    assert resumed(lab, 6).keeper.paused
    assert lab.checkpoints() == ["step_2"]
    resumed(lab, 8, {"action": "resume_checkpoints"})
    assert lab.checkpoints()[-1] == "step_8"


def test_a_stop_ends_the_run_with_a_checkpoint(lab: Any) -> None:
    job = lab.job()
    send(lab, {"action": "stop", "id": "enough"})
    outcome = train(job)
    assert (outcome.reason, outcome.step, outcome.state) == ("stopped", 1, "stopped")
    assert lab.checkpoints() == ["step_1"]


def test_a_rollback_without_a_checkpoint_is_answered_as_failed(lab: Any) -> None:
    job = lab.job("max_steps=3")
    send(lab, {"action": "rollback"})
    train(job)
    assert lab.events("action")[0]["status"] == "failed"


def test_a_malformed_action_is_refused_and_the_run_goes_on(lab: Any) -> None:
    job = lab.job("max_steps=3")
    send(lab, {"action": "set_lr", "lr": 1.0})
    assert train(job).reason == "finished"
    refused = lab.events("action")[0]
    assert refused["status"] == "refused"
    assert "out of bounds" in refused["why"]


def test_a_slow_loader_shows_as_time_waited_for_data(lab: Any) -> None:
    job = lab.job("max_steps=3", "fault=slow-loader:0.05")
    seen: list[float] = []
    job.progress = lambda _, values: seen.append(values["perf/data_time_s"])
    train(job)
    assert seen
    assert all(seconds >= 0.05 for seconds in seen)


def test_every_fault_names_a_cause_and_has_a_line_that_describes_it() -> None:
    for name, kind in faults.FAULTS.items():
        assert kind.cause, name
        assert (kind.__doc__ or "").startswith(f"{kind.cause}: "), name


@pytest.mark.parametrize(
    "text", ["", "nan weights", "nan-weights@", "nan-weights:x", "lr-to-high", "lr-zero:1-2"]
)
def test_a_fault_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        faults.fault_of(text)


def test_a_fault_takes_a_strength_and_a_step() -> None:
    fault = faults.fault_of("bad-batch:3@40")
    assert (fault.strength, fault.step) == (3.0, 40)
    assert faults.fault_of("nan-weights").step == 100
