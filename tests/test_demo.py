"""The demo and the replays as a stranger sees them, on runs of a third of their length or less."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hrmdoc.analysis import analyze
from hrmdoc.cli.main import main
from hrmdoc.replay.stories import STORIES

pytest.importorskip("torch")


def shortened(name: str, monkeypatch: pytest.MonkeyPatch, enough_steps: int, **words: str) -> None:
    """Plays `name` with other words in its config."""
    config = STORIES[name].config
    for old, new in words.items():
        config = re.sub(rf"^( *{old}:) \S+", rf"\1 {new}", config, flags=re.MULTILINE)
    monkeypatch.setitem(STORIES, name, replace(STORIES[name], config=config, enough_steps=enough_steps))


@pytest.mark.slow
def test_the_demo_says_what_will_happen_and_ends_cured_with_puzzles_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shortened("lr-too-high", monkeypatch, 330, max_steps="800", eval_interval="10")
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("HRM, the Hierarchical Reasoning Model, is ")
    assert "Cured." in out
    assert re.search(r"\n\+lr: 0\.00\d", out)
    solved = [int(share) for share in re.findall(r"step +\d+: (\d+)% of the puzzles", out)]
    assert solved[0] == 0
    assert solved[-1] > 0
    runs = tmp_path / "runs"
    assert sorted(path.parent.name for path in runs.glob("*/run.json") if not path.parent.is_symlink()) == [
        "lr-too-high-healed",
        "lr-too-high-sick",
    ]
    assert analyze(str(runs / "lr-too-high-sick")).verdict in ("warning", "critical")
    assert analyze(str(runs / "lr-too-high-healed")).verdict in ("healthy", "info")
    command = re.search(r"\$ hrmdoc (apply .* --config \S+) --write", out)
    assert command
    assert main([*command[1].split(), "--undo"]) == 0
    assert "lr: 1.0" in (runs / "lr-too-high.yaml").read_text()
