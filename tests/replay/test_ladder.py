"""A patch may be made again where the run fails in the same way, and no more often than the story allows."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.errors import PatchError
from hrmdoc.remedies import store
from hrmdoc.remedies.choice import choose
from hrmdoc.replay.play import Replay
from hrmdoc.replay.stories import STORIES

REFUSED = (
    "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 5242880 bytes. Error code 12 (Cannot allocate memory)\n"
)


class Climb(Replay):
    """A replay whose runs have ended already."""

    def __init__(self, folder: Path, rungs: int, reruns: Sequence[Analysis], patches: int) -> None:
        super().__init__(replace(STORIES["oom"], rungs=rungs), folder, Console(file=io.StringIO()))
        self.reruns, self.patches, self.seen = list(reruns), patches, list[Analysis]()

    def _train(self, *_: Any) -> Analysis:
        return self.reruns.pop(0)

    def _patch(self, analysis: Analysis) -> Any:
        self.seen.append(analysis)
        if len(self.seen) > self.patches:
            raise PatchError("no remedy")
        return len(self.seen)


@pytest.mark.parametrize(
    ("rungs", "patches", "good_after", "made"), [(5, 9, 3, 3), (1, 9, 3, 1), (2, 9, 3, 2), (5, 2, 4, 2)]
)
def test_the_ladder_is_climbed_until_the_run_fits_or_nothing_is_left(
    tmp_path: Path, rungs: int, patches: int, good_after: int, made: int
) -> None:
    (tmp_path / "bad.log").write_text("step 1 loss 2.0\n" + REFUSED)
    (tmp_path / "good.log").write_text("".join(f"step {n} loss {2 / n:.4f}\n" for n in range(1, 50)))
    bad, good = (analyze(str(tmp_path / name)) for name in ("bad.log", "good.log"))
    assert bad.verdict == "critical"
    climb = Climb(tmp_path, rungs, [bad] * (good_after - 1) + [good] * 5, patches)
    healed, choices = climb._heal(bad)
    assert len(choices) == made
    assert healed is (good if made == good_after else bad)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_step_that_finds_no_memory_is_taken_in_halves(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    config, run = tmp_path / "config-of-the-user.yaml", tmp_path / "run"
    config.write_text(STORIES["oom"].config.replace("augment: true", "augment: false"))
    words = [*STORIES["oom"].program, str(config), f"run_dir={run}"]
    words[words.index("memory=60")] = "memory=40"
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1
    analysis = analyze(str(run))
    assert analysis.diagnosis.hypotheses[0].cause == "cpu-memory-exceeded"
    store.write(choose(analysis, None, config, every=False).patch)
    assert "batch_size: 128" in config.read_text()
    assert "gradient_accumulation_steps: 2" in config.read_text()
