"""Small runs as files: healthy, sick, broken off, and records that end or hold up whoever reads them."""

from __future__ import annotations

import math
from pathlib import Path

START = 1_700_000_000


def write_run(
    folder: Path, *, lr: float = 3e-4, sick: bool = False, steps: int = 40, oom: bool = False, host: str = ""
) -> Path:
    """A log of `steps` points, ten seconds apart, with its config; a sick one is NaN from its middle on."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(f"learning_rate: {lr}\nbatch_size: 32\nseed: {len(folder.name)}\n")
    lines = [
        _line(step, math.nan if sick and step > steps / 2 else _loss(step)) for step in range(1, steps + 1)
    ]
    if oom:
        lines.append("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    (folder / "train.log").write_text("".join(lines))
    if host:
        (folder / "run.json").write_text(f'{{"schema": "hrmdoc.run/1", "host": "{host}"}}')
    return folder


def _line(step: int, loss: float) -> str:
    second = START + 10 * step
    clock = f"2023-11-{14 + (second - START + 80_000) // 86_400:02d} {second // 3600 % 24:02d}"
    return f"{clock}:{second // 60 % 60:02d}:{second % 60:02d} INFO step={10 * step} loss={loss:.4f}\n"


def _loss(step: int) -> float:
    return 3.0 * math.exp(-step / 12) + 0.4 + 0.02 * math.sin(step)
