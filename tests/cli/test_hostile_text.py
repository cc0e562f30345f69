"""What a run wrote reaches what reads our output as data: a program, a build, a spreadsheet."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from hrmdoc.record import run as run_module
from tests.cli.conftest import Command

HALF = (
    '{"step": 1, "loss": NaN, "message": "RuntimeError: \\udcff CUDA out of memory ##[set-output name=x]y"}\n'
)


NAME = os.fsdecode(b"b\xffd.jsonl")


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_half_a_character_of_a_log_or_of_its_name_is_written_as_unicode(
    form: str, spawn: Command, apart: Path
) -> None:
    (apart / NAME).write_text(HALF * 3)
    done = spawn("analyze", "--format", form, NAME, PYTHONIOENCODING="utf-8:strict")
    assert done.status == 1, done.err
    assert "CUDA out of memory" in done.out
    if form != "text":
        json.loads(done.out)


@pytest.mark.parametrize("form", ["jsonl", "markdown", "junit", "github", "gitlab", "sarif", "text"])
def test_no_form_of_an_answer_holds_a_command_to_a_build(form: str, hrmdoc: Command, apart: Path) -> None:
    (apart / "run.jsonl").write_text(HALF * 3)
    out = hrmdoc("analyze", "--format", form, "run.jsonl").out
    assert "CUDA out of memory" in out
    assert "##[" not in out


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 here")
def test_every_command_takes_a_run_whose_name_is_no_unicode(hrmdoc: Command, apart: Path) -> None:
    (apart.parent / "state" / "hrmdoc").mkdir(parents=True)
    (apart / NAME).write_text(HALF * 3)
    folder = apart / os.fsdecode(b"run\xff")
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(HALF * 3)
    config = folder / "config.yaml"
    config.write_text("learning_rate: 0.1\nper_device_train_batch_size: 8\n")
    assert hrmdoc("report", NAME, "-o", "page.html").status == 0
    assert "CUDA out of memory" in (apart / "page.html").read_text()
    assert hrmdoc("triage", ".").status == 1
    assert hrmdoc("bundle", folder, "-o", "b.zip").status == 0
    assert hrmdoc("apply", folder, "--config", config, "--write").status == 0
    assert "learning_rate: 0.1\n" not in config.read_text()
    assert hrmdoc("apply", folder, "--config", config, "--undo").status == 0
    assert "learning_rate: 0.1\n" in config.read_text()


def test_the_name_of_a_metric_is_no_formula_in_an_export(hrmdoc: Command, apart: Path) -> None:
    (apart / "m.jsonl").write_text("".join(f'{{"step": {n}, "loss": 1.0, "=1+1": 2.0}}\n' for n in range(5)))
    assert hrmdoc("series", "m.jsonl", "-o", "x.csv").status == 0
    assert "'=1+1" in (apart / "x.csv").read_text().splitlines()[0].split(",")


def test_a_table_of_all_new_names_in_each_line_is_refused(
    hrmdoc: Command, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "MOST_CELLS", 1000)
    (apart / "m.jsonl").write_text("".join(f'{{"step": {n}, "loss": 1.0, "n{n}": 2.0}}\n' for n in range(50)))
    done = hrmdoc("series", "m.jsonl", "-o", "x.csv")
    assert done.status == 2
    assert "50 steps of 51 metrics" in done.err
