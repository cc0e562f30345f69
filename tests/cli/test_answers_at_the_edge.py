"""What is answered where output is cut off, a terminal tells nonsense, or a file is no record of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hrmdoc as library

Command = Callable[..., Any]
BROKEN_PIPE = 141
"""As of a program that SIGPIPE ended."""


def piped_into_nothing(*words: str) -> int:
    """The exit status where the reader of the output is gone before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "hrmdoc", *words]
    try:
        return subprocess.run(
            command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120
        ).returncode
    finally:
        os.close(writing)


def test_a_verdict_holds_where_nobody_reads_the_rest(sick: Path, healthy: Path) -> None:
    assert piped_into_nothing("analyze", str(sick)) == 1
    assert piped_into_nothing("analyze", "--json", str(sick), str(healthy)) == 1
    assert piped_into_nothing("analyze", str(healthy)) == 0


def test_without_a_verdict_a_closed_pipe_is_no_success(apart: Path) -> None:
    del apart
    assert piped_into_nothing("rules", "list") == BROKEN_PIPE


def test_a_terminal_of_no_columns_gets_the_answer(spawn: Command, sick: Path) -> None:
    assert "CRITICAL" in spawn("analyze", "-q", sick, COLUMNS="0").out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("model.safetensors", b'\x10\0\0\0\0\0\0\0{"w": [1, 2]}  ', "weights or arrays"),
        ("a.log.gz", b"\x1f\x8b\x08garbage", "gzip data, which is damaged from its start"),
        ("config.yaml", b"learning_rate: 1.0e-4\noptimizer: adamw\n", "settings alone, no log of a run"),
    ],
)
def test_what_is_no_record_of_a_run_is_named_in_the_first_line(
    hrmdoc: Command, apart: Path, name: str, content: bytes, said: str
) -> None:
    (apart / name).write_bytes(content)
    done = hrmdoc("analyze", "-q", name)
    assert done.status == 2
    assert said in " ".join(done.out.split())


def test_a_line_that_is_too_long_is_told_of_once(hrmdoc: Command, apart: Path) -> None:
    (apart / "a.log").write_text("x" * 200_000)
    assert hrmdoc("analyze", "a.log").out.count("longer than 64 KiB") == 1


def test_a_link_to_nowhere_says_where_it_points(hrmdoc: Command, apart: Path) -> None:
    (apart / "latest").symlink_to("run-7")
    assert "is a link to 'run-7', which is not there" in hrmdoc("analyze", "latest").out


def test_a_file_url_is_answered_with_the_path(hrmdoc: Command, apart: Path) -> None:
    del apart
    assert "name the file itself: /tmp/x/a.log" in hrmdoc("analyze", "file:///tmp/x/a.log").err


def test_preflight_leads_with_the_worst_finding(hrmdoc: Command, apart: Path) -> None:
    (apart / "config.yaml").write_text("learning_rate: 1.0\noptimizer: adamw\n")
    first = hrmdoc("preflight", "config.yaml").out.splitlines()[0]
    assert first.startswith("! WARNING  Learning rate is far beyond what its optimizer can take (")


def test_preflight_sends_logs_and_mistyped_names_on_their_way(
    hrmdoc: Command, sick: Path, apart: Path
) -> None:
    (apart / "config.yaml").write_text("learning_rate: 1.0\n")
    assert "is a log, not a config\n  hint: hrmdoc analyze sick.log" in hrmdoc("preflight", sick.name).err
    assert "did you mean 'config.yaml'?" in hrmdoc("preflight", "confg.yaml").err


def test_a_config_that_did_not_run_is_not_judged_by_its_rate(hrmdoc: Command, apart: Path) -> None:
    rows = "".join(f"step {n} loss {3 * 0.97**n:.4f} lr 3e-4\n" for n in range(60))
    (apart / "train.log").write_text(rows)
    (apart / "config.yaml").write_text("learning_rate: 1.0\noptimizer: adamw\n")
    assert "lr-extreme" not in hrmdoc("analyze", ".").out


def test_results_are_told_in_one_short_line(sick: Path) -> None:
    analysis = library.analyze(sick)
    for result in (analysis.diagnosis, analysis.present[0], analysis.diagnosis.hypotheses[0]):
        assert len(repr(result)) < 200
        assert "\n" not in repr(result)


def test_the_trainer_words_its_errors_as_all_others_are(spawn: Command, apart: Path) -> None:
    pytest.importorskip("torch")
    del apart
    assert spawn("evaluate", "nope").err.startswith("hrmdoc: nope: ")


def test_reading_a_large_log_shows_how_far_it_has_come_on_a_terminal_alone(
    hrmdoc: Command, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "reading" not in hrmdoc("analyze", "-q", healthy).err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "reading" not in hrmdoc("analyze", "-q", healthy).err
    monkeypatch.setattr("hrmdoc.cli.shared.options.LARGE", 1)
    monkeypatch.setenv("TERM", "xterm")
    done = hrmdoc("analyze", "-q", healthy)
    assert "100% of 0 MB" in done.err
    assert done.out.startswith("✓ HEALTHY")


def test_an_aim_store_is_answered_with_the_way_to_read_it(spawn: Command, apart: Path) -> None:
    (apart / "project" / ".aim" / "meta").mkdir(parents=True)
    for path in ("project", "project/.aim"):
        done = spawn("analyze", path)
        said = " ".join((done.out + done.err).split())
        assert done.status == 2
        assert "is an Aim store" in said
        assert "pip install aim" in said
