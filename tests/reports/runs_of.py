"""Runs as files, for tests of pages: healthy ones, sick ones, and ones whose every text is hostile."""

from __future__ import annotations

import json
import math
from pathlib import Path

START = 1_700_000_000.0
HOSTILE = "</title><script>window.hit=1</script><img src=x onerror='window.hit=1'>"


def write_run(folder: Path, *, lr: float = 3e-4, sick_from: int | None = None, at: float = 0.0) -> Path:
    """A run of 200 steps with its config; from `sick_from` on its loss explodes and ends in NaN."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"# my run\nlearning_rate: {lr}\nbatch_size: 32\nwarmup_steps: 0\n")
    rows = []
    for step in range(0, 400, 2):
        sick = sick_from is not None and step >= sick_from
        loss = (
            float("nan") if sick and step > (sick_from or 0) + 40 else _loss(step) * (20.0 if sick else 1.0)
        )
        rows.append({"step": step, "loss": loss, "learning_rate": lr, "timestamp": START + at + step})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def write_hostile(folder: Path) -> Path:
    """A run whose metric, message and config try to become markup."""
    folder.mkdir(parents=True)
    rows = [
        {"step": n, f"loss/{HOSTILE}": _loss(n), "loss": _loss(n) if n < 90 else float("nan")}
        for n in range(200)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "train.log").write_text(f"step 1 loss 2.0\nRuntimeError: CUDA out of memory {HOSTILE}\n")
    return folder


def _loss(step: int) -> float:
    return 3.0 * math.exp(-step / 120) + 0.4 + 0.02 * math.sin(step)
