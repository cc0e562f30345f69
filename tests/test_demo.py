"""The demo as a stranger sees it, on a run of a third of its length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hrmdoc import demo
from hrmdoc.analysis import analyze
from hrmdoc.cli.main import main

pytest.importorskip("torch")


@pytest.mark.slow
def test_the_demo_says_what_will_happen_and_ends_cured_with_puzzles_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shorter = demo.CONFIG.replace("max_steps: 2500", "max_steps: 800").replace("interval: 16", "interval: 10")
    monkeypatch.setattr(demo, "CONFIG", shorter)
    monkeypatch.setattr(demo, "ENOUGH_STEPS", 330)
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("HRM, the Hierarchical Reasoning Model, is ")
    assert "Cured." in out
    assert re.search(r"\n\+lr: 0\.00\d", out)
    solved = [int(share) for share in re.findall(r"step +\d+: (\d+)% of the puzzles", out)]
    assert solved[0] == 0
    assert solved[-1] > 0
    sick, mended = sorted(path.parent for path in (tmp_path / "runs").glob("sudoku*/run.json"))
    assert analyze(str(sick)).verdict in ("warning", "critical")
    assert analyze(str(mended)).verdict in ("healthy", "info")
    command = re.search(r"\$ hrmdoc (apply .* --config \S+) --write", out)
    assert command
    assert main([*command[1].split(), "--undo"]) == 0
    assert "lr: 1.0" in (tmp_path / "runs" / "demo.yaml").read_text()
