"""The verdict for restarts: the process counts before its log, and the same failure twice is a loop."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from hrmdoc import rulebook
from hrmdoc.analysis import Analysis, analyze
from hrmdoc.cli.main import cli
from hrmdoc.paths import supervised_folder
from hrmdoc.settings import Settings
from hrmdoc.supervision.attempts import Attempt
from hrmdoc.supervision.state import State, load, save
from hrmdoc.supervision.verdict import STATUS, verdict

pytestmark = pytest.mark.usefixtures("apart")

LOST = "".join(f"step {i} | loss nan\n" for i in range(21, 30))
CURVE = "".join(f"step {i} | loss {3 - i / 20:.2f}\n" for i in range(1, 21))
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
    "23.65 GiB of which 1.50 GiB is free.\n"
)
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.\n"
LIMIT = "slurmstepd: error: *** JOB 7 ON node-1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n"


def examined(text: str) -> Analysis:
    Path("o.log").write_text(text)
    return analyze("o.log", settings=Settings())


def failed(number: int, failure: str, step: int | None, *, interrupted: bool = False) -> Attempt:
    return Attempt(number, "o.log", "here", 0.0, 1.0, 1, step, failure, interrupted)


@pytest.mark.parametrize(
    ("text", "status", "call"),
    [
        (CURVE, 0, "OK"),
        (CURVE, None, "OK"),
        (CURVE, -9, "RESTART"),
        (CURVE, 137, "RESTART"),
        (CURVE, 1, "RESTART"),
        (CURVE, -15, "RESTART"),
        (CURVE + OOM, 1, "FIX FIRST"),
        (CURVE + OOM, None, "FIX FIRST"),
        (CURVE + XID, 1, "RESTART ELSEWHERE"),
        (CURVE + LIMIT, None, "RESTART"),
        (CURVE + "KeyboardInterrupt\n", 1, "STOP"),
        (CURVE + "step 21 | loss nan\nstep 22 | loss nan\nstep 23 | loss nan\n", 0, "FIX FIRST"),
    ],
)
def test_the_call_follows_from_the_cause_and_the_status(text: str, status: int | None, call: str) -> None:
    assert verdict(examined(text), status=status).call == call


def test_of_a_run_that_was_stopped_by_hand_its_stop_is_told_and_not_what_it_learned() -> None:
    rows = (f"step {i}/1000 | loss {3 * 0.99**i + 0.2:.4f}\n" for i in range(10, 560, 10))
    found = verdict(examined("".join(rows) + "KeyboardInterrupt\n"))
    assert found.line.startswith("STOP: Stopped by hand at step 550; Somebody stopped the run")
    assert found.failure == "interrupted"


def _regression(steps: int, total: int) -> str:
    """A squared error that comes to its noise, every fifth step."""
    losses = (10 * math.exp(-step / 12) + 0.01 + step % 7 / 2000 for step in range(0, steps, 5))
    return "".join(f"step {5 * at}/{total} loss {loss:.4f}\n" for at, loss in enumerate(losses))


@pytest.mark.parametrize(
    ("total", "status", "call"),
    [(200, None, "OK"), (400, None, "RESTART"), (400, 1, "RESTART"), (200, 0, "OK")],
)
def test_what_is_no_more_than_an_oddity_stops_no_run(total: int, status: int | None, call: str) -> None:
    analysis = examined(_regression(200, total))
    assert analysis.verdict == "info"
    assert any(one.cause == "solved" for one in analysis.diagnosis.hypotheses)
    assert verdict(analysis, status=status).call == call


def test_a_run_that_was_taken_away_did_not_fail() -> None:
    assert verdict(examined(CURVE), status=-15).interrupted
    assert verdict(examined(CURVE + LIMIT), status=-15).interrupted
    assert not verdict(examined(CURVE), status=-9).interrupted
    assert not verdict(examined(CURVE + OOM), status=143).interrupted, "the log says that it failed before"


def test_a_log_that_claims_to_be_interrupted_is_neither_restarted_nor_left_uncounted_for_it() -> None:
    assert verdict(examined(CURVE + LIMIT), status=0).call == "OK"
    assert not verdict(examined(CURVE + LIMIT), status=1).interrupted
    before = failed(1, verdict(examined(CURVE + LIMIT), status=1).failure, 20)
    assert verdict(examined(CURVE + LIMIT), status=1, history=[before]).call == "STOP"


def test_silence_is_a_failure_whatever_the_signal_that_ended_it() -> None:
    found = verdict(examined(CURVE), status=-15, hung=True)
    assert (found.call, found.failure, found.interrupted) == ("RESTART", "hung", False)


def test_the_same_failure_twice_at_the_same_step_is_a_loop_and_nothing_less_is() -> None:
    found = verdict(examined(CURVE), status=-9)
    assert (found.failure, found.step) == ("signal 9", 20)

    def call(*history: Attempt) -> str:
        return verdict(examined(CURVE), status=-9, history=history).call

    assert call(failed(1, "signal 9", 19)) == "RESTART"
    assert call(failed(1, "exit status 1", 20)) == "RESTART"
    assert call(failed(1, "signal 9", 20), failed(2, "signal 9", 10)) == "RESTART", "another came between"
    assert call(failed(1, "signal 9", 20)) == "STOP"
    assert call(failed(1, "signal 9", 20), failed(2, "", 12, interrupted=True)) == "STOP"


def test_an_interruption_at_the_same_step_is_no_loop() -> None:
    before = failed(1, "asked to end", 20, interrupted=True)
    assert verdict(examined(CURVE), status=-15, history=[before, before]).call == "RESTART"


def test_every_cause_says_what_it_means_for_a_restart_and_the_check_asks_for_it() -> None:
    book = rulebook.load()
    mute = replace(book.causes["gpu-fault"], restart=None)
    problems = rulebook.check(replace(book, causes={**book.causes, "gpu-fault": mute}))
    assert rulebook.check(book) == []
    assert len(problems) == 1
    assert problems[0].startswith("cause gpu-fault: `restart` says what it means")


def test_a_cause_that_says_nothing_does_not_bring_about_a_restart() -> None:
    analysis = examined(CURVE + LIMIT)
    mute = {name: replace(cause, restart=None) for name, cause in analysis.book.causes.items()}
    silent = replace(analysis.book, causes=mute)
    changed = type(analysis)(
        analysis.run, silent, analysis.situation, analysis.symptoms, analysis.diagnosis, analysis.state
    )
    assert verdict(changed, status=1).call == "FIX FIRST"


@pytest.mark.parametrize(
    ("text", "words", "status", "said"),
    [
        (CURVE + OOM, (), 12, "FIX FIRST: GPU memory ran out at step 20; "),
        (CURVE + LOST, (), 12, "FIX FIRST: Loss is NaN or infinite from step 21, to the end at step 29; "),
        (CURVE, ("--status", "0:9"), 10, "RESTART: it was ended by SIGKILL at step 20"),
        (CURVE, ("--status", "0"), 0, "OK: the run finished at step 20"),
        (CURVE + XID, ("--status", "1"), 11, "RESTART ELSEWHERE: "),
    ],
)
def test_the_command_says_it_in_one_line_and_by_its_status(
    text: str, words: tuple[str, ...], status: int, said: str
) -> None:
    Path("o.log").write_text(text)
    done = CliRunner().invoke(cli, ["verdict", *words, "o.log"], standalone_mode=False)
    assert done.return_value == status
    assert done.output.startswith(said)
    assert done.output.count("\n") == 1
    as_json = json.loads(CliRunner().invoke(cli, ["verdict", "--json", *words, "o.log"]).output)
    assert (STATUS[as_json["verdict"]], as_json["status"], as_json["attempts"]) == (status, status, 1)


def test_analyze_adds_it_and_exits_by_it() -> None:
    Path("o.log").write_text(CURVE + OOM)
    done = CliRunner().invoke(cli, ["analyze", "--verdict", "o.log"], standalone_mode=False)
    assert done.return_value == 12
    assert done.output.rstrip().splitlines()[-1].startswith("FIX FIRST: ")


@pytest.mark.parametrize("words", [("--status", "often", "o.log"), ("empty.log",), ("nowhere.log",)])
def test_bad_input_is_an_error(words: tuple[str, ...]) -> None:
    from hrmdoc.cli.main import main

    Path("o.log").write_text(CURVE)
    Path("empty.log").write_text("")
    assert main(["verdict", *words]) == 2


def test_of_a_supervised_log_the_last_attempt_is_judged_with_those_before_it() -> None:
    Path("o.log").write_text(CURVE)
    Path("o-2.log").write_text(CURVE)
    kept = [failed(1, "signal 9", 20), Attempt(2, "o-2.log", "here", 2.0, 3.0, -9, 20)]
    assert save(Path("o.log"), State(("train",), attempts=tuple(kept)))
    done = CliRunner().invoke(cli, ["verdict", "o.log"], standalone_mode=False)
    assert done.return_value == STATUS["STOP"]
    assert "a crash loop" in done.output


def test_a_state_that_cannot_be_read_is_an_error_with_its_place() -> None:
    from hrmdoc.errors import InputError

    assert load(Path("o.log")) is None
    supervised_folder(Path("o.log")).mkdir()
    (supervised_folder(Path("o.log")) / "state.json").write_text("{")
    with pytest.raises(InputError, match="no state of a supervisor"):
        load(Path("o.log"))
    (supervised_folder(Path("o.log")) / "state.json").unlink()
    os.symlink("elsewhere", supervised_folder(Path("o.log")) / "state.json")
    with pytest.raises(InputError, match="cannot be read"):
        load(Path("o.log"))
