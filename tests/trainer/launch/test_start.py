from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.errors import UsageError
from hrmdoc.trainer.launch import slurm
from hrmdoc.trainer.launch import start as launch
from hrmdoc.trainer.main import main


def put(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/bash\n" + text)
    file.chmod(0o755)
    return file


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for Slurm: `sbatch` keeps the script, `srun` runs its command here, `scontrol` notes what it
    was asked."""
    programs = tmp_path / "bin"
    put(programs, "sbatch", f'cp "$1" {tmp_path}/submitted.sh; echo "Submitted batch job 4711"\n')
    put(programs, "srun", 'shift; exec "$@"\n')
    put(
        programs,
        "scontrol",
        f'if [ "$1" = show ]; then echo localhost; else echo "$@" >> {tmp_path}/asked; fi\n',
    )
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return tmp_path


def test_the_options_become_a_script_that_a_shell_accepts(
    cluster: Path, lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (
        "--account",
        "m12",
        "--qos=debug",
        "--constraint=gpu&hbm80g",
        "--nodes",
        "2",
        "--gpus-per-node",
        "4",
    )
    assert main(["train", "--slurm", *options, "--time", "02:30:00", *lab.words("run_name=a b")[:-1]]) == 0
    text = (cluster / "submitted.sh").read_text()
    for line in (
        "--account=m12", "--qos=debug", "--constraint='gpu&hbm80g'", "--nodes=2", "--gpus-per-node=4",
        "--time=02:30:00",        "--signal=B:USR1@120", "--requeue", "--ntasks-per-node=1",
    ):  # fmt: skip
        assert f"#SBATCH {line}\n" in text
    for part in (
        "--nnodes=2",
        "--nproc-per-node=4",
        "--rdzv-backend=c10d",
        "OMP_NUM_THREADS",
        "resume=auto",
        "hrmdoc.trainer",
    ):
        assert part in text
    assert subprocess.run(["bash", "-n", str(cluster / "submitted.sh")], check=False).returncode == 0
    printed = capsys.readouterr().out
    assert "Submitted batch job 4711" in printed
    assert f"hrmdoc watch {lab.folder / 'run'}" in printed


def test_a_dry_run_prints_the_script_and_submits_nothing(
    cluster: Path, lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--slurm", "--dry-run", *lab.words()]) == 0
    assert capsys.readouterr().out.startswith("#!/bin/bash\n#SBATCH --job-name=run\n")
    assert not (cluster / "submitted.sh").exists()
    assert list(lab.folder.glob("*.sbatch")) == []


@pytest.mark.slow
def test_a_job_saves_before_its_time_is_up_is_requeued_and_goes_on(
    cluster: Path, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = lab.words(
        "checkpoint_interval=100000",
        "epochs=400",
        "eval_interval=400",
        "max_steps=1600",
        "fault=slow-loader:0.02",
    )
    assert main(["--slurm", *words]) == 0
    env = {
        **os.environ,
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NODELIST": "localhost",
        "SLURM_CPUS_PER_TASK": "1",
    }
    job = subprocess.Popen(
        ["bash", str(cluster / "submitted.sh")], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    log = lab.folder / "run" / "train.log"
    end = time.monotonic() + 120
    while (
        not (log.exists() and "step 4/" in log.read_text()) and time.monotonic() < end and job.poll() is None
    ):
        time.sleep(0.1)
    job.send_signal(10)
    output = job.communicate(timeout=120)[0].decode()
    assert (cluster / "asked").read_text() == "requeue 4711\n", output
    (stopped,) = lab.events("signal")
    assert stopped["signal"] == "SIGUSR1"
    assert lab.checkpoints() == [f"step_{stopped['step']}"]
    for name, value in {**env, "SLURM_RESTART_COUNT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert lab.job("max_steps=1600", "epochs=400", "eval_interval=400").state.step == stopped["step"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--slrum"], "did you mean '--slurm'"),
        (["--slurm", "--nodes", "two"], "--nodes is a number"),
        (["--slurm", "--nodes"], "--nodes needs a value"),
        (["--slurm", "--time=soon"], "such as --time=04:00:00"),
        (["--slurm", "--account=a b;rm"], "not a value for Slurm"),
        (["--account=m12"], "goes with --slurm only"),
        (["--slurm", "--detach"], "do not go together"),
    ],
)
def test_wrong_options_are_refused(words: list[str], expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        launch.parse(words)
    assert expected in str(caught.value)


def test_without_slurm_or_when_it_refuses_the_reason_is_told(
    cluster: Path, lab: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(cluster / "bin", "sbatch", 'echo "sbatch: error: Invalid account" >&2; exit 1\n')
    assert main(["--slurm", *lab.words()]) == 2
    assert "sbatch refused the job: sbatch: error: Invalid account" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(cluster / "nothing"))
    assert main(["--slurm", *lab.words()]) == 2
    assert "sbatch is not on the PATH" in capsys.readouterr().err


def test_a_login_node_is_recognised_and_a_compute_node_is_not(
    cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = dict(os.environ)
    assert slurm.login_node({**env, "SLURM_JOB_ID": "1"}, gpu=False, host="login07") is None
    assert slurm.login_node({**env, "PATH": "/nowhere"}, gpu=False, host="login07") is None
    assert slurm.login_node(env, gpu=True, host="workstation") is None
    assert "login07 looks like a login node" in str(slurm.login_node(env, gpu=True, host="login07.cluster"))
    assert "there is no GPU" in str(slurm.login_node(env, gpu=False, host="c0412"))


def test_a_run_in_the_background_says_how_to_follow_and_stop_it(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--detach", *lab.words("max_steps=2")]) == 0
    printed = capsys.readouterr()
    run = lab.folder / "run"
    assert printed.out == f"{run}\n"
    assert f"hrmdoc watch {run}" in printed.err
    assert "kill -TERM" in printed.err
    end = time.monotonic() + 90
    while not (run.exists() and lab.checkpoints() == ["step_2"]) and time.monotonic() < end:
        time.sleep(0.1)
    assert lab.checkpoints() == ["step_2"], (lab.folder / "run.out").read_text()
