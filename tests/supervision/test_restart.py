"""A command is started again after what passes, never into a loop, and by whichever supervisor comes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from hrmdoc.cli.main import main
from hrmdoc.errors import UsageError
from hrmdoc.live.actionlog import verify
from hrmdoc.paths import supervised_folder
from hrmdoc.settings import Settings
from hrmdoc.supervision.plan import Plan
from hrmdoc.supervision.restart import Supervisor
from hrmdoc.supervision.resume import stated
from hrmdoc.supervision.state import State, load
from hrmdoc.supervision.supervise import Outcome
from tests.waiting import until_written

pytestmark = pytest.mark.usefixtures("apart")

PROGRAM = """
import os, signal, sys, time

attempt = int(os.environ["HRMDOC_ATTEMPT"])
def steps(first, count, pause=0.0):
    for i in range(first, first + count):
        print(f"step {{i}} | loss {{2 - i / 1000}}", flush=True)
        time.sleep(pause)
{body}
"""
SOON = Plan(restarts=3, backoff=0.05, grace=0.3)


def program(body: str) -> list[str]:
    Path("train.py").write_text(PROGRAM.format(body=body))
    return [sys.executable, "train.py"]


def supervisor(command: list[str], plan: Plan = SOON) -> Supervisor:
    return Supervisor(command, Path("o.log"), plan, Settings())


def state() -> State:
    found = load(Path("o.log"))
    assert found is not None
    return found


def told() -> list[tuple[str, str]]:
    lines = (supervised_folder(Path("o.log")) / "actions.jsonl").read_text().splitlines()
    return [(entry["status"], entry["what"]) for entry in map(json.loads, lines)]


def run(body: str, plan: Plan = SOON) -> Outcome:
    return supervisor(program(body), plan).run()


def test_a_command_that_is_killed_twice_and_then_finishes() -> None:
    outcome = run("steps(10 * attempt, 5)\nif attempt < 3: os.kill(os.getpid(), 9)\nprint('done')")
    assert outcome.status == 0
    assert [(one.status, one.step, one.call) for one in state().attempts] == [
        (-9, 14, "RESTART"),
        (-9, 24, "RESTART"),
        (0, 34, "OK"),
    ]
    assert [Path(name).exists() for name in ("o.log", "o-2.log", "o-3.log", "o-4.log")] == [True] * 3 + [
        False
    ]
    assert [status for status, _ in told()] == ["started", "ended"] * 3 + ["ended"]
    assert verify(supervised_folder(Path("o.log")) / "actions.jsonl").flaw == ""
    assert "Killed" not in Path("o.log").read_text(), "the keeper of the status says nothing"


def test_the_same_failure_twice_at_the_same_step_ends_it() -> None:
    outcome = run("steps(0, 5)\nos._exit(3)")
    assert outcome.status == 3
    assert len(state().attempts) == 2
    assert state().verdict.startswith("STOP: the same failure twice at step 4")


def test_what_has_to_be_mended_first_is_not_started_again() -> None:
    outcome = run("steps(0, 5)\nraise ValueError('x')")
    assert (outcome.status, len(state().attempts)) == (1, 1)
    assert state().verdict.startswith("FIX FIRST")


def test_a_run_that_finished_with_nan_is_not_started_again_and_keeps_its_status() -> None:
    outcome = run("steps(0, 30)\nfor i in range(30, 40): print(f'step {i} | loss nan')")
    assert (outcome.status, len(state().attempts), state().attempts[0].call) == (0, 1, "FIX FIRST")


def test_the_budget_ends_it_although_it_comes_further_each_time() -> None:
    plan = Plan(restarts=2, backoff=0.01, grace=0.3)
    run("steps(10 * attempt, 5)\nos._exit(3)", plan)
    assert len(state().attempts) == 3
    assert told()[-1][0] == "given up"


def test_a_hang_is_ended_though_it_ignores_sigterm_and_what_it_forked_too() -> None:
    body = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if attempt == 1:\n"
        "    if os.fork() == 0: time.sleep(600)\n"
        "    steps(0, 5)\n    time.sleep(600)\n"
        "steps(5, 5)"
    )
    plan = Plan(restarts=1, backoff=0.05, hang=1.0, grace=0.2)
    outcome = run(body, plan)
    assert outcome.status == 0
    assert [one.failure for one in state().attempts] == ["hung", ""]
    assert ("stopped", "attempt 1") in told()
    assert not [
        one
        for one in psutil.process_iter(["cmdline"])
        if str(Path("train.py")) in (one.info["cmdline"] or []) and one.cwd() == os.getcwd()
    ]


def test_a_heartbeat_alone_is_a_sign_of_life() -> None:
    body = (
        "steps(0, 3)\nfor i in range(15):\n    open('beat', 'w').write(str(i)); time.sleep(0.1)\nsteps(3, 3)"
    )
    plan = Plan(restarts=0, hang=1.0, grace=0.2)
    command = program(body)
    outcome = Supervisor(command, Path("o.log"), plan, Settings(), beats=(Path("beat"),)).run()
    assert (outcome.status, outcome.hung) == (0, False)


def test_it_goes_on_from_the_newest_whole_checkpoint() -> None:
    body = (
        "print('words', sys.argv[1:], os.environ['HRMDOC_CHECKPOINT'], flush=True)\n"
        "os.makedirs('c', exist_ok=True)\n"
        "steps(10 * attempt, 3)\n"
        "open(f'c/step_{attempt}.pt', 'w').write('weights')\n"
        "open(f'c/step_{attempt + 5}.pt', 'w').write('')  # torn: nothing in it\n"
        "os._exit(0 if attempt == 3 else 3)"
    )
    resumption = stated("--resume {checkpoint}", "c")
    Supervisor(program(body), Path("o.log"), SOON, Settings(), resumption).run()
    words = [Path(name).read_text().splitlines()[0] for name in ("o.log", "o-2.log", "o-3.log")]
    assert words == [
        "words [] ",
        "words ['--resume', 'c/step_1.pt'] c/step_1.pt",
        "words ['--resume', 'c/step_2.pt'] c/step_2.pt",
    ]
    assert [one.checkpoint for one in state().attempts] == ["", "c/step_1.pt", "c/step_2.pt"]


def begun(*options: str) -> subprocess.Popen[bytes]:
    words = ["run", "--log", "o.log", "--restart", "3", "--backoff", "0.05", *options, "--"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hrmdoc", *words, sys.executable, "train.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until_written("step 3", Path("o.log"))
    return process


def test_a_killed_supervisor_is_succeeded_by_one_that_finds_the_command_running() -> None:
    command = program(
        "steps(0, 40, 0.05)\nsteps(40, 60, 0.05 if attempt == 1 else 0)\nsys.exit(7 if attempt == 1 else 0)"
    )
    process = begun()
    with pytest.raises(UsageError, match="another hrmdoc supervises"):
        supervisor(command).run()
    process.kill()
    process.communicate()
    pid = state().pid
    assert psutil.Process(pid).is_running(), "the training goes on"
    outcome = supervisor(command).run()
    assert outcome.status == 0
    assert [(one.number, one.status) for one in state().attempts] == [(1, 7), (2, 0)]
    assert told()[1] == ("adopted", f"attempt 1, which still runs as process {pid}")


def test_one_that_ended_while_nobody_looked_is_judged_by_the_status_that_was_kept() -> None:
    command = program("steps(0, 10, 0.05)\nsys.exit(5 if attempt == 1 else 0)")
    process = begun()
    process.kill()
    process.communicate()
    until_written("5", supervised_folder(Path("o.log")) / "status")
    assert supervisor(command).run().status == 0
    assert [(one.number, one.status) for one in state().attempts] == [(1, 5), (2, 0)]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_asks_the_supervisor_to_end_asks_for_no_restart(number: int, status: int) -> None:
    program("steps(10 * attempt, 400, 0.05 if attempt == 1 else 0)")
    Path("train.py").write_text(Path("train.py").read_text().replace("KeyboardInterrupt", ""))
    process = begun()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == status
    assert (state().phase, len(state().attempts), state().attempts[0].interrupted) == ("interrupted", 1, True)
    assert supervisor([sys.executable, "train.py"]).run().status == 0, "the next one goes on"
    assert [one.number for one in state().attempts] == [1, 2]


def test_a_signal_ends_the_pause_between_two_starts() -> None:
    made = supervisor(program("steps(0, 3)\nos._exit(3)"), Plan(restarts=3, backoff=600.0))
    threading.Timer(4.0, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    assert made.run().status == 3
    assert state().phase == "interrupted"


def test_a_command_started_anew_keeps_the_logs_of_the_former_ones() -> None:
    run("steps(0, 5)")
    run("steps(0, 5)")
    assert [one.number for one in state().attempts] == [2]
    assert Path("o-2.log").exists()


def test_a_program_that_is_missing_is_an_error_and_leaves_no_log() -> None:
    with pytest.raises(UsageError, match="cannot start 'nowhere'"):
        supervisor(["nowhere"]).run()
    assert not Path("o.log").exists()


def test_a_state_of_another_kind_is_an_error_with_its_place() -> None:
    supervised_folder(Path("o.log")).mkdir()
    (supervised_folder(Path("o.log")) / "state.json").write_text('{"phase": "dancing"}')
    assert main(["run", "--log", "o.log", "--restart", "1", "--", "true"]) == 2


def test_a_program_that_asks_for_too_much_memory_is_mended_first() -> None:
    outcome = run("steps(0, 5)\nraise MemoryError")
    assert (outcome.status, len(state().attempts)) == (1, 1)
    assert state().verdict.startswith("FIX FIRST")
