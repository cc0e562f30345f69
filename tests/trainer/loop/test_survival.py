"""What a run survives: kills, a restart by torchrun, a full disk, and losses that are no numbers."""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from hrmdoc.errors import InputError
from hrmdoc.trainer.faults.base import Fault
from hrmdoc.trainer.loop.loop import train
from tests.trainer.programs import launch


@pytest.mark.slow
def test_a_run_killed_five_times_ends_with_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    script = (
        "import importlib.util, pathlib, sys\n"
        "spec = importlib.util.spec_from_file_location('soak', sys.argv[1])\n"
        "soak = importlib.util.module_from_spec(spec); sys.modules['soak'] = soak\n"
        "spec.loader.exec_module(soak)\n"
        "print(soak.soak(pathlib.Path(sys.argv[2]), 5, seed=3, native=True).kills)"
    )
    file = Path(__file__).parents[2] / "soak.py"
    assert importlib.util.spec_from_file_location("soak", file) is not None
    done = subprocess.run(
        [sys.executable, "-c", script, str(file), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "5", done.stderr


@pytest.mark.slow
def test_a_killed_worker_is_restarted_by_torchrun_and_loses_only_the_steps_since_the_checkpoint(
    lab: Any,
) -> None:
    words = lab.words("fault=kill@8", "checkpoint_interval=3", "max_steps=10", "parallel.timeout_s=30")
    torchrun = (
        "--standalone",
        "--nproc-per-node",
        "2",
        "--max-restarts",
        "1",
        "--monitor-interval",
        "0.2",
        "-m",
        "hrmdoc.trainer",
    )
    command = [sys.executable, "-m", "torch.distributed.run", *torchrun, "train", *words]
    status, printed = launch(command, lab.folder / "run", timeout_s=900)
    assert status == 0, printed
    starts = [
        (event["event"], event["step"]) for event in lab.events() if event["event"] in ("started", "resumed")
    ]
    assert starts == [("started", 0), ("resumed", 6)], printed
    assert lab.events("resumed")[0]["restarts"] == 1
    assert lab.events("ended")[-1]["reason"] == "finished", printed
    steps = [step for step, _ in lab.scalars()["train/lm_loss"]]
    assert sorted(set(steps)) == list(range(1, 11)), printed


class Limit(Fault):
    """From a step on, no file may be larger than a checkpoint's half."""

    def before_step(self, state: Any) -> None:
        if state.step + 1 == self.step:
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (32 << 10, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
            )


def test_a_real_limit_on_the_disk_does_not_end_the_run_and_old_checkpoints_stay(lab: Any) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    job = lab.job("checkpoint_interval=4", "arch.hidden_size=32")
    job.fault = Limit(step=6)
    try:
        outcome = train(job)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert outcome.reason == "finished"
    assert lab.checkpoints() == ["step_4"]
    assert (lab.folder / "run" / "checkpoints" / "step_4" / "state.pt").stat().st_size > 32 << 10
    assert [event["step"] for event in lab.events("checkpoint_failed")] == [8, 12, 16]


class BadBatchOnce(Fault):
    """Poisons the rows in flight before one step, once for every time that the step comes at the full
    learning rate."""

    def before_step(self, state: Any) -> None:
        if state.step + 1 == self.step and state.lr_scale > 0.3 and state.carry is not None:
            state.carry.z_H.fill_(float("nan"))
            state.carry.halted.fill_(False)


def test_a_rollback_by_the_policy_reduce_lr_repeats_the_batches_at_a_lower_rate(lab: Any) -> None:
    words = (
        "on_nonfinite=rollback",
        "on_rollback=reduce_lr",
        "checkpoint_interval=4",
        "log_interval=1",
        "lr_warmup_steps=0",
    )
    job = lab.job(*words, "max_steps=12")
    job.fault = BadBatchOnce(step=7)
    outcome = train(job)
    assert (outcome.reason, job.state.rollbacks) == ("finished", 2)
    assert [event["lr_scale"] for event in lab.events("rollback")] == [0.5, 0.25]
    assert (
        job.state.feed.state_dict()["epoch"] == 2
    )  # 12 batches of 4 rows out of 16, counted from 0: nothing was skipped
    assert lab.scalars()["train/lr"][-1][1] == pytest.approx(2.5e-4)
    assert all(torch.isfinite(tensor).all() for tensor in lab.weights(job.state).values())


def test_a_run_that_is_started_again_goes_on_in_its_own_directory(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(lab.job("max_steps=4"))
    assert lab.job("resume=auto", f"run_dir={lab.folder / 'new'}").state.step == 0
    assert lab.job("resume=auto", f"run_dir={lab.folder / 'run'}").state.step == 4
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    again = lab.job()
    assert (again.state.step, again.run.path) == (4, lab.folder / "run")


def test_a_run_that_ended_before_its_first_checkpoint_begins_again_in_its_own_directory(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.job()
    job = lab.job("resume=auto", f"run_dir={lab.folder / 'run'}")
    assert job.state.step == 0
    assert any("before its first checkpoint" in line for line in lab.lines)


@pytest.mark.parametrize("how", ["auto", "run"])
def test_a_run_all_of_whose_checkpoints_are_damaged_is_refused_and_every_file_is_named(
    lab: Any, how: str
) -> None:
    train(lab.job("max_steps=6", "checkpoint_interval=2"))
    run = lab.folder / "run"
    for name in lab.checkpoints():
        file = run / "checkpoints" / name / "state.pt"
        file.write_bytes(file.read_bytes()[:-1])
    (run / "checkpoints" / "step_4" / "meta.json").write_bytes(b"\0")
    with pytest.raises(InputError, match="none of its 3 checkpoints is good") as raised:
        lab.job(f"resume={'auto' if how == 'auto' else run}", f"run_dir={run}", "max_steps=8")
    lines = str(raised.value).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:4]] == [
        str(run / "checkpoints" / name) for name in ("step_6/state.pt", "step_4/meta.json", "step_2/state.pt")
    ]
    assert "another run_dir" in lines[4]
    assert lab.events("started") == lab.events("started")[:1]
    assert lab.events("resumed") == []
    train(lab.job(f"run_dir={lab.folder / 'anew'}", "max_steps=2"))


def test_a_tiny_recursive_model_is_evaluated_with_its_average_and_resumed_with_it(lab: Any) -> None:
    words = (
        "preset=trm",
        "arch.L_cycles=2",
        "arch.puzzle_emb_len=2",
        "max_steps=8",
        "checkpoint_interval=4",
        "eval_interval=2",
    )
    train(lab.job(*words, run="whole"))
    middle = lab.folder / "whole" / "checkpoints" / "step_4"
    train(lab.job(f"resume={middle}", f"run_dir={lab.folder / 'rest'}", *words))
    whole, rest = (lab.events("evaluated", run=run)[-1] for run in ("whole", "rest"))
    assert whole["ema"] is True
    assert rest["metrics"] == whole["metrics"]
    own = lab.job(
        f"resume={lab.folder / 'whole'}", f"run_dir={lab.folder / 'own'}", *words, "max_steps=9", "ema=false"
    )
    from hrmdoc.trainer.data.iterate import test_batches
    from hrmdoc.trainer.model.evaluate import evaluate

    assert own.test is not None
    without = evaluate(own.state.model, test_batches(own.test, 4), own.state.generator.device)
    assert without["all"]["lm_loss"] != pytest.approx(whole["metrics"]["all.lm_loss"], rel=1e-6)


def test_a_run_that_learns_the_value_of_going_on_a_step_late_is_resumed_exactly(lab: Any) -> None:
    words = (
        "arch.q_target=reuse",
        "max_steps=10",
        "checkpoint_interval=5",
        "deterministic=true",
        "log_interval=1",
    )
    train(lab.job(*words, run="whole"))
    middle = lab.folder / "whole" / "checkpoints" / "step_5"
    train(lab.job(f"resume={middle}", f"run_dir={lab.folder / 'rest'}", *words))
    for tag in ("train/lm_loss", "train/q_continue_loss", "train/grad_norm"):
        whole, rest = (dict(lab.scalars(run)[tag]) for run in ("whole", "rest"))
        assert rest == {step: value for step, value in whole.items() if step > 5}, tag


def test_a_restart_without_a_run_dir_finds_the_run_of_its_launcher(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lab.folder)
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    words = [word for word in lab.words("max_steps=4") if not word.startswith("run_dir=")]
    from hrmdoc.trainer.commands.train import read_config
    from hrmdoc.trainer.setup.make import make_job

    first = make_job(read_config(None, words), None, lab.lines.append)
    train(first)
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert make_job(read_config(None, words), None, lab.lines.append).run.path == first.run.path
    monkeypatch.setenv("SLURM_JOB_ID", "78")
    assert make_job(read_config(None, words), None, lab.lines.append).run.path != first.run.path


def test_the_heart_beats_while_the_loop_is_busy_but_not_for_ever(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    monkeypatch.setattr("hrmdoc.trainer.rundir.directory.HEARTBEAT_S", 0.01)
    run = lab.job().run
    beats = []
    beaten = threading.Event()
    monkeypatch.setattr(run, "heartbeat", lambda step: (beats.append(step), beaten.set()))
    with run.busy(3):
        assert beaten.wait(10)
    count = len(beats)
    assert beats[0] == 3
    with run.busy(3, limit_s=0):
        pass
    assert len(beats) == count
