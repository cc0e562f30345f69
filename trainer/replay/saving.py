"""Checkpoints of the text classifier: one file each, and how many of them stay."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

QUOTA = "HRMDOC_REPLAY_QUOTA"
"""Bytes that the folder of checkpoints may hold, where no small file system could be mounted."""


def save(folder: Path, step: int, content: Mapping[str, Any], keep: int) -> Path:
    """Writes `step_<N>.pt`, then deletes all but the newest `keep`; 0 keeps all.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    torch.save(dict(content), packed)
    path = folder / f"step_{step}.pt"
    _check_room(folder, packed.tell())
    path.write_bytes(packed.getbuffer())
    for old in kept(folder)[keep:] if keep else []:
        old.unlink()
    return path


def kept(folder: Path) -> list[Path]:
    """The checkpoints of a folder, the newest first."""
    return sorted(
        folder.glob("step_*.pt"), key=lambda path: int(path.stem.removeprefix("step_")), reverse=True
    )


def _check_room(folder: Path, wanted: int) -> None:
    """Refuses as a full disk does, where the room is limited by a number alone."""
    quota = os.environ.get(QUOTA, "")
    if quota.isdigit() and wanted + sum(path.stat().st_size for path in kept(folder)) > int(quota):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), str(folder))
