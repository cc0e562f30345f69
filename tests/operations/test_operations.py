"""The examples for systemd, Slurm and Kubernetes do what they say, as far as it can be tried here."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hrmdoc.cli.main import cli

EXAMPLES = Path(__file__).parents[2] / "docs" / "operations"
TRAINING = """
import os, sys, time
print(f"step {10 * int(os.environ['HRMDOC_ATTEMPT'])} | loss 1.0", flush=True)
exec(sys.argv[1])
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a training, and a stand-in for scontrol that notes what it is asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "scontrol").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    (programs / "hrmdoc").write_text(f'#!/bin/sh\nexec {sys.executable} -m hrmdoc "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    (tmp_path / "train.py").write_text(TRAINING)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURMD_NODENAME", "node-3")
    monkeypatch.setenv("BACKOFF", "0.05")
    return tmp_path


def job(monkeypatch: pytest.MonkeyPatch, body: str) -> subprocess.Popen[bytes]:
    assert " " not in body, "the words of the command are split at spaces"
    monkeypatch.setenv("COMMAND", f"{sys.executable} train.py {body}")
    return subprocess.Popen(["bash", str(EXAMPLES / "slurm" / "job.sh")], stdout=subprocess.DEVNULL)


def asked(cluster: Path) -> list[str]:
    """What scontrol was asked, but for comments."""
    lines = (cluster / "asked").read_text().splitlines()
    return [line for line in lines if "Comment=" not in line]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = EXAMPLES / "systemd" / "hrmdoc-run@.service"
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "hrmdoc" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("body", "status", "wanted"),
    [
        ("print('done')", 0, []),
        ("raise(ValueError('x'))", 1, []),
        ("os._exit(3)if(os.environ['HRMDOC_ATTEMPT']=='1')else(None)", 0, []),
        (
            "sys.exit('NVRM:\\x20Xid\\x20(PCI:0000:3b:00):\\x2079,\\x20pid=4711,\\x20GPU\\x20has\\x20fallen\\x20off\\x20the\\x20bus.')",
            1,
            ["requeuehold 7", "update JobId=7 ExcNodeList=node-3", "release 7"],
        ),
    ],
)
def test_a_slurm_job_goes_back_into_the_queue_only_where_that_may_help(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, body: str, status: int, wanted: list[str]
) -> None:
    assert job(monkeypatch, body).wait(timeout=120) == status
    assert asked(cluster) == wanted


def test_a_preempted_slurm_job_ends_its_training_and_goes_back_into_the_queue(
    cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = job(monkeypatch, "time.sleep(600)")
    for _ in range(1200):
        if (cluster / "train.log").is_file() and "step" in (cluster / "train.log").read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 143
    assert asked(cluster) == ["requeue 7"]


@pytest.mark.parametrize(
    ("code", "restarts", "wanted"), [("0:9", "0", ["requeue 7"]), ("0:9", "3", []), ("0:0", "0", [])]
)
def test_the_slurm_epilog_requeues_by_the_verdict_within_its_budget(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, code: str, restarts: str, wanted: list[str]
) -> None:
    (cluster / "slurm-7.out").write_text("".join(f"step {i} | loss {2 - i / 100}\n" for i in range(20)))
    monkeypatch.setenv("SLURM_JOB_EXIT_CODE2", code)
    monkeypatch.setenv("SLURM_JOB_RESTART_COUNT", restarts)
    subprocess.run(["bash", str(EXAMPLES / "slurm" / "epilog.sh")], check=True)
    assert asked(cluster) == wanted


@pytest.mark.parametrize(("least", "status"), [("0", 0), ("999999999", 1)])
def test_the_slurm_prolog_refuses_a_node_without_room(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, least: str, status: int
) -> None:
    monkeypatch.setenv("LEAST_GB", least)
    done = subprocess.run(["bash", str(EXAMPLES / "slurm" / "prolog.sh")], capture_output=True, check=False)
    assert done.returncode == status


CALL = re.compile(r"hrmdoc (run|watch|verdict)\b(.*)")


def commands() -> list[list[str]]:
    """Every call of hrmdoc in the examples, up to the command that it is about."""
    texts = [path.read_text() for path in EXAMPLES.rglob("*") if path.suffix in (".service", ".sh", ".yaml")]
    plain = "\n".join(texts).replace('", "', " ")
    return [[name, *words.split(" -- ")[0].split()] for name, words in CALL.findall(plain)]


def test_every_option_in_the_examples_exists() -> None:
    calls = commands()
    assert {call[0] for call in calls} == {"run", "watch", "verdict"}
    for name, *words in calls:
        known = {option for one in cli.get_command(None, name).params for option in one.opts}  # type: ignore[arg-type, union-attr]
        assert [word for word in words if word.startswith("--") and word not in known] == []


def test_the_kubernetes_files_are_yaml_and_fail_the_job_by_the_statuses_of_the_verdict() -> None:
    from hrmdoc.supervision.verdict import STATUS

    load = YAML(typ="safe").load
    job = load(EXAMPLES / "kubernetes" / "job.yaml")
    codes = job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"]
    assert codes == [STATUS["FIX FIRST"], STATUS["STOP"]]
    script = job["spec"]["template"]["spec"]["containers"][0]["args"][0]
    assert subprocess.run(["sh", "-n"], input=script.encode(), check=False).returncode == 0
    assert (
        load(EXAMPLES / "kubernetes" / "sidecar.yaml")["spec"]["initContainers"][0]["restartPolicy"]
        == "Always"
    )
