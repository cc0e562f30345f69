"""The archive for a helper."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from hrmdoc.analysis import AnalysisSession
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
