"""A supervised command outlives whatever ends its supervisor, and is asked what the supervisor is asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from hrmdoc.analysis import AnalysisSession
from hrmdoc.cli.main import cli
from hrmdoc.live.incidents import Incident
from hrmdoc.supervision.supervise import StopPolicy, supervise
from tests.waiting import until_written

TRAINING = """
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: print("checkpoint saved", flush=True))
for i in range(int(sys.argv[1])):
    print(f"step {i} | loss {2 - i / 100}", flush=True)
    time.sleep(0.05)
print("done", flush=True)
"""


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "train.py").write_text(TRAINING)
    return tmp_path


def heeding() -> None:
    """What is started in the background of a script is born deaf to these, and so are its children."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def begun(steps: int) -> subprocess.Popen[bytes]:
    """A supervised training that has printed something."""
    words = [
        sys.executable,
        "-m",
        "hrmdoc",
        "run",
        "--log",
        "o.log",
        "--",
        sys.executable,
        "train.py",
        str(steps),
    ]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=heeding,
    )
    until_written("step 3", Path("o.log"))
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_the_training_goes_on_where_its_supervisor_is_killed_or_its_terminal_lost(number: int) -> None:
    process = begun(60)
    os.kill(process.pid, number)
    assert until_written("done", Path("o.log")).count("step ") == 60
    process.communicate(timeout=60)
    assert process.returncode == (-number if number == signal.SIGKILL else 0)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGUSR1, 0), (signal.SIGQUIT, 131), (signal.SIGTERM, 143)]
)
def test_signals_are_passed_on(number: int, status: int) -> None:
    process = begun(60)
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode == status
    assert ("checkpoint saved" in Path("o.log").read_text()) is (number == signal.SIGUSR1)


def test_a_typo_in_the_settings_is_found_before_the_start() -> None:
    Path("hrmdoc.toml").write_text("fail_onn = 3\n")
    words = [sys.executable, "-m", "hrmdoc", "run", "--log", "o.log", "--", "touch", "started"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "hrmdoc.toml" in done.stderr) == (2, True)
    assert sorted(os.listdir()) == ["hrmdoc.toml", "train.py"]


def test_output_and_errors_are_kept_apart_where_they_are_asked_apart() -> None:
    program = "import sys; print('step 1 | loss 2.0'); print('a word', file=sys.stderr)"
    words = [sys.executable, "-m", "hrmdoc", "run", "--log", "o.log", "--", sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "step 1 | loss 2.0\n"
    assert done.stderr.startswith("a word\n")
    assert Path("o.stderr.log").read_text() == "a word\n"
    words[5] = "p.log"
    both = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert both.returncode == 0
    assert sorted(Path("p.log").read_text().splitlines()) == ["a word", "step 1 | loss 2.0"]
    assert not Path("p.stderr.log").exists()


def test_a_log_goes_on_behind_what_it_holds_and_only_what_is_new_is_shown() -> None:
    Path("o.log").write_text("step 0 | loss 9.0\n")
    words = [sys.executable, "-m", "hrmdoc", "run", "--log", "o.log", "--", "echo", "step 1 | loss 2.0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "step 1 | loss 2.0\n"
    assert Path("o.log").read_text() == "step 0 | loss 9.0\nstep 1 | loss 2.0\n"


def test_silence_stops_a_command_only_where_that_is_asked_for() -> None:
    book = AnalysisSession("x").book
    silent = Incident("stall", "opened", "critical", "", "", None, 0.0)
    lost = Incident("loss-nonfinite", "opened", "critical", "", "", None, 0.0)
    warning = Incident("loss-plateau", "opened", "warning", "", "", None, 0.0)
    asked = {
        policy: [policy.asks(one, book) for one in (silent, lost, warning)]
        for policy in (
            StopPolicy(),
            StopPolicy("critical"),
            StopPolicy("warning"),
            StopPolicy("critical", True),
        )
    }
    assert list(asked.values()) == [
        [False, False, False],
        [False, True, False],
        [False, True, True],
        [True, True, False],
    ]


FALLS = "for i in range(1, 61): print(f'step {i}/100 | loss {3 - i / 30}', flush=True)\n"


@pytest.mark.parametrize(
    ("ends", "word", "call"),
    [
        (
            "import os; os.kill(os.getpid(), 9)",
            "the command was ended by SIGKILL",
            "RESTART: it was ended by SIGKILL",
        ),
        (
            "import os; os.kill(os.getpid(), 11)",
            "the command was ended by SIGSEGV",
            "RESTART: it was ended by SIGSEGV",
        ),
        (
            "raise SystemExit(3)",
            "the command ended with exit status 3",
            "RESTART: it ended with exit status 3",
        ),
        ("", "", "OK: the run finished"),
    ],
)
def test_how_a_command_ended_is_in_its_diagnosis_and_known_afterwards(
    ends: str, word: str, call: str
) -> None:
    outcome = supervise([sys.executable, "-c", FALLS + ends], Path("o.log"))
    shown = [one.evidence for one in outcome.analysis.present if one.id == "command-failed"]
    assert shown == ([f"hrmdoc run: {word}"] if word else [])
    assert outcome.analysis.verdict == ("warning" if word else "healthy")
    assert CliRunner().invoke(cli, ["verdict", "o.log"]).output.startswith(f"{call} at step 60")
    with open("o.log", "a") as file:
        file.write("step 61/100 | loss 1.0\n")
    os.utime("o.log", (time.time() + 60, time.time() + 60))
    assert "it ended without a word" in CliRunner().invoke(cli, ["verdict", "o.log"]).output


def test_what_a_traceback_tells_is_not_told_once_more() -> None:
    outcome = supervise([sys.executable, "-c", FALLS + "1 / 0"], Path("o.log"))
    blamed = {one.symptom for one in outcome.analysis.diagnosis.hypotheses[0].for_}
    assert "unhandled-exception" in blamed
    assert "command-failed" not in blamed


def test_a_command_that_is_stopped_for_an_incident_is_in_the_record_of_what_was_done() -> None:
    lost = (
        FALLS
        + "for i in range(61, 99): print(f'step {i} | loss nan', flush=True)\nimport time; time.sleep(60)"
    )
    outcome = supervise([sys.executable, "-c", lost], Path("o.log"), stop=StopPolicy("critical"))
    assert outcome.stopped_by is not None
    assert outcome.stopped_by.symptom == "loss-nonfinite"
    assert "command-failed" not in {one.id for one in outcome.analysis.present}
    told = CliRunner().invoke(cli, ["log", "o.log"]).output
    assert " stopped      the command, at step " in told
    assert "for loss-nonfinite" in told
