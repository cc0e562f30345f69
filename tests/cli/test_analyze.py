"""`hrmdoc analyze` as a user meets it."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hrmdoc.paths import data_dir

Command = Callable[..., Any]
SCHEMA = json.loads((data_dir("reports") / "diagnosis.schema.json").read_text())
SECRET = "hf_" + "abcdefghijklmnopqrstuvwx"
HOSTILE = [
    *(f"{{'loss': {2 - i / 100}, 'epoch': {i / 100}}}" for i in range(40)),
    f"\x1b[31mRuntimeError: \x1b]0;owned\x07CUDA error: an illegal memory access was encountered "
    f"{SECRET} /home/alice/run",
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "ValueError: <img src=x onerror=alert(1)> Authorization: Bearer abcdefghijklmnop",
]


def valid(text: str) -> dict[str, Any]:
    document = json.loads(text)
    Draft202012Validator(SCHEMA).validate(document)
    assert isinstance(document, dict)
    return document


def test_a_healthy_run_exits_with_0_and_says_what_was_checked(hrmdoc: Command, healthy: Path) -> None:
    done = hrmdoc("analyze", healthy)
    assert done.status == 0
    assert "✓ HEALTHY" in done.out
    assert re.search(r"Checked: .*loss \(\d+\)", done.out, re.DOTALL)
    assert done.err == ""


def test_a_sick_run_exits_with_1_and_tells_step_place_and_what_to_type_next(
    hrmdoc: Command, sick: Path
) -> None:
    done = hrmdoc("analyze", sick)
    assert done.status == 1
    assert "✗ CRITICAL" in done.out
    assert "loss-nonfinite" in done.out
    assert "sick.log:101" in done.out
    assert "hrmdoc explain " in done.out


def test_the_command_shown_as_next_can_be_pasted(hrmdoc: Command, sick: Path) -> None:
    shown = hrmdoc("analyze", sick).out
    commands = re.findall(r"hrmdoc (explain|report) (\S+)", shown)
    assert {name for name, _ in commands} == {"explain", "report"}
    for name, argument in commands:
        assert hrmdoc(name, argument).status == 0


@pytest.mark.parametrize("threshold", ["critical", "never"])
def test_fail_on_moves_the_exit_status(hrmdoc: Command, sick: Path, threshold: str) -> None:
    assert hrmdoc("analyze", "--fail-on", threshold, sick).status == (1 if threshold == "critical" else 0)


@pytest.mark.parametrize("columns", ["50", "80", "100"])
def test_no_line_is_wider_than_the_window_or_ends_in_blanks(
    hrmdoc: Command, sick: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = hrmdoc("analyze", sick.name).out.splitlines()
    assert not [line for line in lines if line != line.rstrip()]
    assert not [line for line in lines if len(line) > int(columns)]


def test_one_remedy_is_offered_once_and_a_cause_has_at_most_two(hrmdoc: Command, sick: Path) -> None:
    printed = hrmdoc("analyze", sick).out.partition("Probable causes")[2]
    remedies = re.findall(r"→ (.+?)  \[", printed)
    assert remedies
    assert len(remedies) == len(set(remedies)) <= 4


@pytest.mark.parametrize("verdict", ["healthy", "critical"])
def test_json_holds_to_the_schema(hrmdoc: Command, healthy: Path, sick: Path, verdict: str) -> None:
    document = valid(hrmdoc("analyze", "--json", healthy if verdict == "healthy" else sick).out)
    assert document["verdict"] == verdict


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 5000, bytes(range(256)) * 40, b"a" * 10_000_000],
    ids=["empty", "nul", "binary", "one long line"],
)
def test_what_holds_no_record_is_no_data_in_json_and_exits_with_2(
    hrmdoc: Command, apart: Path, content: bytes
) -> None:
    path = apart / "x.log"
    path.write_bytes(content)
    done = hrmdoc("analyze", "--json", path)
    assert done.status == 2
    document = valid(done.out)
    assert document["verdict"] == "no_data"
    assert document["input_errors"]
    assert "NO DATA" in hrmdoc("analyze", path).out


@pytest.mark.parametrize(
    "content", ["hello", "hello\nthis is no log\n", "lr: 0.1 is what I chose\n\nthanks\n"]
)
def test_text_that_tells_nothing_is_no_data_and_no_damage(hrmdoc: Command, apart: Path, content: str) -> None:
    path = apart / "snippet.txt"
    path.write_text(content)
    done = hrmdoc("analyze", "--json", path)
    document = valid(done.out)
    assert (done.status, document["verdict"], document["input_errors"]) == (2, "no_data", [])
    printed = hrmdoc("analyze", path).out
    assert "without a metric or a message that the rules know" in printed
    assert "Not read" not in printed


def test_why_nothing_could_be_read_is_said_once_with_its_place(hrmdoc: Command, apart: Path) -> None:
    (apart / "store" / ".aim").mkdir(parents=True)
    printed = " ".join(hrmdoc("analyze", apart / "store").out.split())
    assert printed.count("which only Aim can read") == 1
    assert ".aim: is an Aim store" in printed


def test_columns_of_numbers_without_names_ask_for_their_meaning(hrmdoc: Command, apart: Path) -> None:
    path = apart / "curve.csv"
    path.write_text("".join(f"{n},{9 / n:.3f}\n" for n in range(1, 40)))
    done = hrmdoc("analyze", path)
    assert done.status == 2
    assert "--role train.loss=col2" in done.out
    assert "NO DATA" not in hrmdoc("analyze", path, "--role", "train.loss=col2").out


def test_an_empty_folder_and_a_loop_of_links_are_no_data(hrmdoc: Command, apart: Path) -> None:
    (apart / "empty").mkdir()
    loop = apart / "loop"
    loop.mkdir()
    (loop / "again").symlink_to(loop)
    (loop / "a.log").symlink_to(loop / "b.log")
    (loop / "b.log").symlink_to(loop / "a.log")
    for folder in ("empty", "loop"):
        done = hrmdoc("analyze", "--json", folder)
        assert (done.status, valid(done.out)["verdict"]) == (2, "no_data")


def test_a_path_that_does_not_exist_is_an_error_on_stderr(hrmdoc: Command) -> None:
    done = hrmdoc("analyze", "--json", "nowhere.log")
    assert (done.status, done.out) == (2, "")
    assert "nowhere.log: no such file or folder" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_no_data(hrmdoc: Command, sick: Path) -> None:
    sick.chmod(0)
    assert hrmdoc("analyze", sick).status == 2


def test_a_truncated_last_record_costs_no_more_than_itself(hrmdoc: Command, apart: Path) -> None:
    path = apart / "log.jsonl"
    path.write_text(
        "".join(f'{{"step": {i}, "loss": {2 - i / 100}}}\n' for i in range(50)) + '{"step": 50, "lo'
    )
    document = valid(hrmdoc("analyze", "--json", path).out)
    assert document["run"]["points"] == 50
    assert document["input_errors"] == [
        {"file": str(path), "line": 51, "what": "the last line is incomplete"}
    ]


def test_compressed_several_and_piped_logs_are_read_alike(
    hrmdoc: Command, spawn: Command, sick: Path
) -> None:
    packed = sick.with_suffix(".log.gz")
    packed.write_bytes(gzip.compress(sick.read_bytes()))
    expected = valid(hrmdoc("analyze", "--json", sick).out)
    unpacked = valid(hrmdoc("analyze", "--json", packed).out)
    piped = spawn("analyze", "-", "--json", stdin=sick.read_bytes())
    for document in (unpacked, valid(piped.out)):
        assert document["verdict"] == "critical"
        assert [s["id"] for s in document["symptoms"]] == [s["id"] for s in expected["symptoms"]]
    other = sick.with_name("rank1.log")
    shutil.copy(sick, other)
    assert hrmdoc("analyze", sick, other).status == 1


def test_codes_markup_and_secrets_of_a_log_never_reach_the_terminal(hrmdoc: Command, apart: Path) -> None:
    path = apart / "hostile.log"
    path.write_text("\n".join(HOSTILE) + "\n")
    for words in (
        ("analyze", path),
        ("analyze", "-v", path),
        ("analyze", "--json", path),
        ("series", "--facts", path),
    ):
        done = hrmdoc(*words)
        assert "\x1b" not in done.out
        assert SECRET not in done.out
        assert "abcdefghijklmnop" not in done.out
        assert "alice" not in done.out


def test_markup_in_the_name_of_a_metric_is_plain_text(hrmdoc: Command, apart: Path) -> None:
    path = apart / "m.jsonl"
    path.write_text("".join(f'{{"step": {i}, "[bold red]loss[/]": {2 - i / 100}}}\n' for i in range(50)))
    assert "[bold red]loss[/]" in hrmdoc("series", path).out


def test_the_largest_numbers_bring_no_warning(spawn: Command, apart: Path) -> None:
    path = apart / "huge.jsonl"
    path.write_text(
        "".join(f'{{"step": {i * 10**17}, "loss": {"1e308" if i % 2 else "-1e308"}}}\n' for i in range(50))
    )
    for words in (("analyze", path), ("series", path), ("report", path)):
        done = spawn(*words)
        assert "Warning" not in done.err
        assert done.status in (0, 1)


def test_a_closed_pipe_and_a_full_disk_end_quietly(sick: Path) -> None:
    command = f"{sys.executable} -m hrmdoc analyze {sick} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "✗ CRITICAL  Loss is NaN or infinite, from point 100"
    assert done.stdout.splitlines()[1] in ("0", "1")
    assert done.stderr == ""
    listing = f"{sys.executable} -m hrmdoc rules list | head -1 > /dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", listing], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("141\n", "")  # as of a program that SIGPIPE ended


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_in_one_line(sick: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hrmdoc", "analyze", str(sick)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No space left" in done.stderr


def test_no_color_and_a_pipe_leave_plain_text(spawn: Command, sick: Path) -> None:
    assert "\x1b" not in spawn("analyze", sick, NO_COLOR="1", FORCE_COLOR="").out


def test_what_a_watch_left_in_a_run_folder_is_not_read_as_part_of_the_run(
    hrmdoc: Command, sick: Path, apart: Path
) -> None:
    run = apart / "run"
    run.mkdir()
    shutil.copy(sick, run / "train.log")
    points = valid(hrmdoc("analyze", "--json", run).out)["run"]["points"]
    (run / "diagnosis.json").write_text(hrmdoc("analyze", "--json", run).out)
    (run / "incidents.jsonl").write_text('{"symptom": "x", "step": 3, "at": 1.0, "probability": 0.5}\n' * 30)
    (run / "actions.jsonl").write_text('{"remedy": "x", "step": 3, "at": 1.0}\n' * 30)
    assert valid(hrmdoc("analyze", "--json", run).out)["run"]["points"] == points


def test_oddities_without_harm_are_named_and_good_signs_are_none(hrmdoc: Command, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"step {i} | loss {4 * 0.97**i + 0.5:.4f} | lr 0.05 | optimizer AdamW\n" for i in range(200))
    )
    (tmp_path / "training_args.yaml").write_text("learning_rate: 0.05\noptim: adamw_torch\n")
    done = hrmdoc("analyze", tmp_path)
    assert "1 harmless oddity: lr-above-typical" in done.out
    assert "lr-above-typical" in done.out
    assert "learns-well" not in done.out


def _trained_at(rate: float, losses: list[float], evaluations: list[float]) -> str:
    """What a trainer prints whose default is AdamW and whose log names no optimizer."""
    lines = []
    for at, loss in enumerate(losses):
        left = rate * (1 - at / len(losses))
        row = {"loss": round(loss, 4), "grad_norm": 1.1, "learning_rate": left, "epoch": round(at / 6, 2)}
        lines.append(f"{row}\n")
        if at % 6 == 5:
            lines.append(f"{{'eval_loss': {evaluations[at // 6]:.4f}, 'epoch': {(at + 1) / 6:.2f}}}\n")
    return "".join(lines)


def test_a_rate_far_too_high_is_reported_though_the_loss_comes_down_from_where_it_was_thrown(
    hrmdoc: Command, apart: Path
) -> None:
    path = apart / "train.log"
    path.write_text(_trained_at(3.0, [23.2 - 0.84 * i for i in range(24)], [0.77, 8.1, 3.2, 0.75]))
    done = hrmdoc("analyze", path)
    assert done.status == 1
    assert "Learning rate is far beyond what its optimizer can take" in done.out


def test_a_high_rate_with_which_the_run_learns_is_no_alarm(hrmdoc: Command, apart: Path) -> None:
    path = apart / "train.log"
    path.write_text(_trained_at(1.0, [2.3 * 0.88**i for i in range(24)], [1.2, 0.6, 0.3, 0.2]))
    assert hrmdoc("analyze", path).status == 0


@pytest.mark.parametrize("points", [1, 2])
def test_one_or_two_points_are_not_enough_to_call_a_run_healthy(
    hrmdoc: Command, apart: Path, points: int
) -> None:
    (apart / "train.log").write_text("".join(f"step {step} loss {2 - step / 10}\n" for step in range(points)))
    done = hrmdoc("analyze", apart / "train.log")
    assert done.status == 2
    assert "not enough to judge" in done.out.splitlines()[0]
