"""How much room is left where a run keeps its checkpoints, as a fact of the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run

KEY = "env.disk_free_gib"
NEWS = 0.02
"""A change by less than this share is none."""


def free_space(run: Run, folder: Path) -> Iterator[Fact]:
    """The free space (GiB) of the disk that holds the checkpoints of the run in `folder`, where it
    changed."""
    checkpoints = folder / "checkpoints"
    try:
        free = shutil.disk_usage(checkpoints if checkpoints.is_dir() else folder).free / 2**30
    except OSError:
        return
    known = run.fact(KEY)
    before = known.value if known is not None and isinstance(known.value, float) else None
    if before is None or abs(free - before) > NEWS * max(free, before):
        yield Fact(KEY, free, "run", "")
