"""The archive for a helper."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from hrmdoc.analysis import AnalysisSession
from hrmdoc.cli.main import main
from hrmdoc.reports.bundle import write


def test_the_bundle_holds_a_minimal_reproduction_and_no_secret(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    lines = [json.dumps({"step": step, "loss": 2.0 - 0.001 * step, "grad_norm": 1.0}) for step in range(40)]
    log.write_text("\n".join([*lines, "token hf_" + "A" * 34]) + "\n")
    session = AnalysisSession(str(log))
    session.read([str(log)])
    names = write(session.diagnose(closed=True), tmp_path / "bundle.zip", 20)
    assert {"diagnosis.json", "report.html", "environment.json", "facts.json", "reproduce.md"} <= set(names)
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        texts = {name: archive.read(name).decode("utf-8") for name in names}
    assert "one device, 20 steps" in texts["reproduce.md"]
    assert {"python", "packages", "platform"} <= set(json.loads(texts["environment.json"]))
    assert not [name for name, text in texts.items() if "A" * 34 in text]


def test_an_archive_under_another_name_is_said_to_be_a_zip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n")
    assert main(["bundle", str(log), "-o", str(tmp_path / "x.tar.gz")]) == 0
    assert "is a zip archive, whatever its name says" in capsys.readouterr().err
    assert main(["bundle", str(log), "-o", str(tmp_path / "x.zip")]) == 0
    assert "whatever" not in capsys.readouterr().err
