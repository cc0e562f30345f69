"""Several runs on one command line, and folders that hold several."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hrmdoc.analysis import analyze
from hrmdoc.reports.terminal import show

Command = Callable[..., Any]


@pytest.fixture
def runs(apart: Path, healthy_lines: list[str]) -> Path:
    """A folder of three runs, of which the one in the middle is sick, with what else lies in such folders."""
    folder = apart / "runs"
    for name, lines in (
        ("a", healthy_lines),
        ("b", [*healthy_lines[:90], *["{'loss': nan, 'epoch': 0.9}"] * 9]),
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "train.log").write_text("\n".join(lines) + "\n")
        (folder / name / "config.yaml").write_text("learning_rate: 5e-5\n")
    (folder / "c").mkdir()
    (folder / "c" / "train.log").write_text("\n".join(healthy_lines[:80]) + "\n")
    (folder / "latest").symlink_to("c")
    (folder / "report.html").write_text("<html>loss 3 step 4</html>\n" * 9)
    return folder


def lines_of(text: str) -> list[tuple[str, str]]:
    """Verdict and run of each line of the table."""
    body = text.split("\n\n")[1]
    words = [line.split() for line in body.splitlines()]
    return [(one[1], one[2]) for one in words]


@pytest.mark.parametrize("named", [["runs"], ["runs/a", "runs/b", "runs/c"], ["runs/*"]])
def test_several_runs_are_a_line_each_the_worst_first_and_its_status_counts(
    hrmdoc: Command, runs: Path, named: list[str]
) -> None:
    del runs
    done = hrmdoc("analyze", *named)
    assert done.status == 1
    assert done.out.startswith("✗ CRITICAL  3 runs: 1 critical, 2 healthy\n")
    assert lines_of(done.out) == [("CRITICAL", "runs/b"), ("HEALTHY", "runs/a"), ("HEALTHY", "runs/c")]
    assert "hrmdoc analyze runs/b" in done.out


def test_several_healthy_runs_exit_with_0_and_one_that_cannot_be_read_with_2(
    hrmdoc: Command, runs: Path, apart: Path
) -> None:
    assert hrmdoc("analyze", runs / "a", runs / "c").status == 0
    (apart / "empty.log").write_text("nothing\n")
    assert hrmdoc("analyze", runs / "a", "empty.log").status == 2


def test_one_run_joins_what_its_names_do_not(hrmdoc: Command, apart: Path, healthy_lines: list[str]) -> None:
    for name, part in (("monday.log", healthy_lines[:60]), ("tuesday.log", healthy_lines[60:])):
        (apart / name).write_text("\n".join(part) + "\n")
    assert "2 runs" in hrmdoc("analyze", "monday.log", "tuesday.log").out
    joined = json.loads(hrmdoc("analyze", "--one-run", "--json", "monday.log", "tuesday.log").out)
    alone = [json.loads(hrmdoc("analyze", "--json", day).out) for day in ("monday.log", "tuesday.log")]
    assert joined["run"]["points"] == sum(one["run"]["points"] for one in alone)


def test_logs_of_ranks_are_one_run_by_themselves(hrmdoc: Command, apart: Path) -> None:
    for rank in range(3):
        (apart / f"rank{rank}.log").write_text("".join(f"step={i} loss={2 - i / 90}\n" for i in range(60)))
    found = json.loads(hrmdoc("analyze", "--json", *(apart / f"rank{rank}.log" for rank in range(3))).out)
    assert found["run"]["ranks"] == [0, 1, 2]


def test_json_of_several_runs_is_one_document_the_worst_first(hrmdoc: Command, runs: Path) -> None:
    found = json.loads(hrmdoc("analyze", "--json", runs).out)
    assert found["schema"] == "hrmdoc.runs/1"
    assert [one["verdict"] for one in found["runs"]] == ["critical", "healthy", "healthy"]


def test_a_report_counts_each_run_once_and_nothing_else(hrmdoc: Command, runs: Path) -> None:
    for named in ([runs], sorted(runs.iterdir())):
        assert hrmdoc("report", "-o", "review.md", *named).status == 0
        headings = [line for line in Path("review.md").read_text().splitlines() if line.startswith("## ")]
        assert sorted(line[-1] for line in headings if "runs/" in line) == ["a", "b", "c"]


def test_the_first_line_of_a_piped_answer_is_the_verdict(hrmdoc: Command, sick: Path, healthy: Path) -> None:
    assert hrmdoc("analyze", sick).out.startswith("✗ CRITICAL  Loss is NaN or infinite")
    assert hrmdoc("analyze", healthy).out.startswith("✓ HEALTHY  no fault found in ")


def test_on_a_terminal_the_verdict_is_the_last_line_too(sick: Path) -> None:
    page = io.StringIO()
    show(analyze(sick), Console(file=page, width=100, force_terminal=True, color_system=None))
    lines = page.getvalue().strip().splitlines()
    assert lines[0].startswith("✗ CRITICAL  Loss is NaN or infinite")
    assert lines[-1] == lines[0]


@pytest.mark.parametrize("command", ["analyze", "apply", "series", "report"])
def test_an_empty_path_asks_for_the_variable_that_should_name_it(hrmdoc: Command, command: str) -> None:
    done = hrmdoc(command, "")
    assert done.status == 2
    assert done.err == "hrmdoc: a path is empty\n  hint: is the variable that should name it set?\n"


def test_of_a_folder_of_rival_logs_one_is_read_and_the_others_are_named(
    hrmdoc: Command, apart: Path, healthy_lines: list[str]
) -> None:
    (apart / "logs").mkdir()
    (apart / "logs" / "first.log").write_text("".join(f"step {i} loss {4 - i / 50:.3f}\n" for i in range(90)))
    (apart / "logs" / "second.log").write_text(
        "".join(f"step {i} loss {3 - i / 70:.3f}\n" for i in range(90)) + "RuntimeError: CUDA error: out\n"
    )
    os.utime(apart / "logs" / "first.log", (1_800_000_000, 1_800_000_000))
    assert hrmdoc("verdict", "logs").status == 0
    for command in (("verdict", "logs"), ("series", "logs"), ("compare", "logs", "logs/second.log")):
        assert "2 runs lie here; this is the newest, logs/first.log" in hrmdoc(*command).err


def test_a_verdict_on_what_cannot_be_read_says_why(hrmdoc: Command, apart: Path) -> None:
    (apart / "train.log.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 900)
    done = hrmdoc("verdict", "train.log.gz")
    assert done.status == 2
    assert "train.log.gz: begins as gzip data, which is damaged from its start" in done.err


def test_a_pipe_that_is_named_is_told_how_streams_are_read(hrmdoc: Command, apart: Path) -> None:
    os.mkfifo(apart / "pipe")
    assert "redirect it to standard input and pass `-`" in " ".join(hrmdoc("analyze", "pipe").out.split())
