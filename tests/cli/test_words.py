"""The words of an answer: said in the user's terms, on every terminal, in one style."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hrmdoc as library
from hrmdoc.cli.shared.commands import COMMANDS

Command = Callable[..., Any]


def test_evidence_is_weighed_in_words_and_risks_say_what_they_ask_for(hrmdoc: Command, sick: Path) -> None:
    shown = hrmdoc("analyze", sick).out
    assert "for      nonfinite-sudden, loss-nonfinite" in shown
    assert not any(mark in shown for mark in ("+3.", "−1.", "[guarded]", "[manual]", "[safe]"))
    assert "[by hand]" in shown
    assert "times as likely" in hrmdoc("analyze", "-v", sick).out


def test_a_remedy_without_a_config_names_the_program_s_own_key(hrmdoc: Command, apart: Path) -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity"
    point = "{{'loss': {:.2f}, 'grad_norm': 1.0, 'learning_rate': 5e-05, 'epoch': {:.1f}}}\n"
    lines = "".join(point.format(2 - i / 100, i / 9) for i in range(9))
    (apart / "a.log").write_text(lines + f"Traceback (most recent call last):\n{oom} of 23.65 GiB\n")
    shown = hrmdoc("analyze", "a.log").out
    assert "per_device_train_batch_size" in shown
    assert "data.micro_batch_size" not in shown


@pytest.mark.parametrize(
    "setting",
    [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"COLUMNS": "20"}],
)
def test_every_terminal_gets_the_answer(spawn: Command, sick: Path, setting: dict[str, str]) -> None:
    done = spawn("analyze", sick, **setting)
    assert done.status == 1
    assert "CRITICAL" in done.out
    assert done.err == ""


def test_without_unicode_signs_are_spelt_in_ascii(spawn: Command, sick: Path) -> None:
    out = spawn("analyze", sick, PYTHONIOENCODING="ascii").out
    assert out.isascii()
    assert out.startswith("X CRITICAL  ")
    assert "?" not in out.partition("What shows")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["anlyze", "x"],
            "hrmdoc: no such command 'anlyze'; did you mean 'analyze'?\n  hint: hrmdoc --help\n",
        ),
        (["analyze"], "hrmdoc: missing argument 'PATH...'\n  hint: hrmdoc analyze --help\n"),
        (["watch", "x", "--interval", "soon"], "hrmdoc: invalid value for '--interval'"),
        (
            ["analyze", "sikc.log"],
            "hrmdoc: sikc.log: no such file or folder\n  hint: did you mean 'sick.log'?\n",
        ),
        (
            ["analyze", "s3://b/a.log"],
            "aws s3 cp s3://b/a.log - | hrmdoc analyze -",
        ),
        (["analyze", "https://x.org/a.log"], "curl -sL https://x.org/a.log | hrmdoc analyze -"),
    ],
)
def test_errors_have_one_style_and_a_way_out(
    hrmdoc: Command, sick: Path, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del sick
    monkeypatch.setenv(
        "AWS_EC2_METADATA_DISABLED", "true"
    )  # where s3fs is installed, nobody is asked for credentials
    done = hrmdoc(*words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "Usage:" not in done.err


def test_quiet_prints_the_verdict_alone(hrmdoc: Command, sick: Path, healthy: Path) -> None:
    assert len(hrmdoc("analyze", "-q", sick).out.splitlines()) == 2
    assert len(hrmdoc("analyze", "-q", healthy).out.splitlines()) == 1
    assert len(hrmdoc("analyze", "-q", sick, healthy).out.splitlines()) == 1


def test_color_can_be_asked_for_and_refused(spawn: Command, sick: Path) -> None:
    assert "\x1b[" in spawn("analyze", "--color", "always", sick).out
    assert "\x1b[" not in spawn("analyze", "--color", "never", sick, FORCE_COLOR="1").out


@pytest.mark.parametrize(
    "command", ["analyze", "watch", "apply", "report", "run", "trust", "compare", "explain"]
)
def test_help_shows_examples(hrmdoc: Command, command: str) -> None:
    shown = hrmdoc(command, "--help").out
    examples = [line for line in shown.partition("Examples:")[2].splitlines() if line.strip()]
    assert examples
    assert all(f"hrmdoc {command}" in line for line in examples)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("hrmdoc ana", "analyze"),
        ("hrmdoc explain loss-sp", "loss-spike"),
        ("hrmdoc apply x --remedy roll", "roll-back"),
    ],
)
def test_a_shell_completes_commands_and_ids(spawn: Command, typed: str, offered: str) -> None:
    words = len(typed.split()) - 1
    done = spawn(_HRMDOC_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(words))
    assert offered in done.out


def test_results_are_one_line_each(sick: Path) -> None:
    analysis = library.analyze(sick)
    for one in (analysis, analysis.run):
        assert "\n" not in repr(one)
        assert len(repr(one)) < 300
    assert "critical" in repr(analysis)


def test_a_torn_archive_is_not_called_healthy(hrmdoc: Command, healthy: Path, apart: Path) -> None:
    with zipfile.ZipFile("run.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(healthy, "a/train.log")
        archive.writestr("a/more.log", os.urandom(200_000).hex())
    whole = (apart / "run.zip").read_bytes()
    at = whole.index(b"a/more.log") + 5000
    (apart / "run.zip").write_bytes(whole[:at] + bytes(200) + whole[at + 200 :])
    done = hrmdoc("analyze", "run.zip")
    assert done.status == 2
    assert done.out.startswith("? INCOMPLETE  not all could be read (")


def test_all_commands_have_a_line_of_help(hrmdoc: Command) -> None:
    shown = hrmdoc("--help").out
    assert all(f"  {name} " in shown for name in COMMANDS)
