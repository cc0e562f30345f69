"""The checkpoints that a folder holds: which is the newest, the best, and what may go."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from hrmdoc.errors import InputError

from . import checkpoint

NAME = re.compile(r"step_(\d+)")
STALE_S = 3600.0  # no disk takes longer for the next part of a checkpoint


def found(folder: Path) -> list[Path]:
    """Every checkpoint in `folder`, newest step first. Unfinished ones have other names and do not show."""
    steps = [
        (int(match[1]), path)
        for path in _entries(folder)
        if (match := NAME.fullmatch(path.name)) and path.is_dir()
    ]
    return [path for _, path in sorted(steps, reverse=True)]


def best_first(folder: Path) -> list[checkpoint.Meta]:
    """The finite checkpoints in `folder` that were evaluated, the best first."""
    metas = (_meta_or_none(path) for path in found(folder))
    ranked = [meta for meta in metas if meta is not None and meta.finite and meta.evaluated]
    return sorted(ranked, key=lambda meta: meta.rank, reverse=True)


def best_good(folder: Path, device: torch.device | str = "cpu") -> tuple[checkpoint.Meta, checkpoint.State]:
    """The best checkpoint that is whole and its state; the newest good one where none was evaluated.

    Raises:
        InputError: there is no good one.
    """
    for meta in best_first(folder):
        try:
            return meta, checkpoint.load(folder / f"step_{meta.step}", device)[0]
        except InputError:
            continue  # damaged since it was written: the next one
    path, state, _ = newest_good(folder, device)
    return checkpoint.read_meta(path), state


def newest_good(
    folder: Path, device: torch.device | str = "cpu", like: Mapping[str, torch.Tensor] | None = None
) -> tuple[Path, checkpoint.State, list[InputError]]:
    """The newest checkpoint that is whole and finite, its state as `load` gives it, and why newer ones were
    passed over.

    Raises:
        InputError: there is no good one.
    """
    passed: list[InputError] = []
    for path in found(folder):
        try:
            if not checkpoint.read_meta(path).finite:
                raise InputError("the checkpoint holds weights that are not finite", file=path)
            return path, checkpoint.load(path, device, like)[0], passed
        except InputError as error:
            passed.append(error)
    if not passed:
        raise InputError(
            "there is no checkpoint",
            file=folder,
            hint="start the run anew, without resume, in another run_dir",
        )
    # A run that silently began at step 0 would look well and cost days: that has to be asked for.
    why = "".join(f"\n  {Path(error.file or folder)}: {error.what}" for error in passed)
    number = "its only checkpoint is" if len(passed) == 1 else f"none of its {len(passed)} checkpoints is"
    raise InputError(
        f"the run cannot be resumed: {number} {'no good' if len(passed) == 1 else 'good'}{why}",
        file=folder,
        hint="restore one of these files from a backup, or begin at step 0 in another run_dir, "
        "without resume",
    )


def prune(folder: Path, keep: int) -> list[Path]:
    """Deletes all but the newest `keep` checkpoints, and never the last good one nor the best. Returns what
    was deleted."""
    paths = found(folder)
    good = next((path for path in paths if _is_good(path)), None)
    best = next((folder / f"step_{meta.step}" for meta in best_first(folder)), None)
    gone = [path for path in paths[keep:] if path not in (good, best)]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    for path in _entries(folder):
        if path.name.startswith(".step_") and not _being_written(path):
            shutil.rmtree(path, ignore_errors=True)
    return gone


def _being_written(part: Path) -> bool:
    """Whether the process that an unfinished checkpoint is named after is alive, is another one and wrote
    lately (numbers of processes come again); what a killed one left is of no use."""
    number = part.suffix[1:]
    if not number.isdigit() or int(number) == os.getpid():
        return False
    try:
        if time.time() - max(file.stat().st_mtime for file in (part, *part.rglob("*"))) > STALE_S:
            return False
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # alive, and somebody else's
        return True
    return True


def _is_good(path: Path) -> bool:
    meta = _meta_or_none(path)
    return meta is not None and meta.finite


def _meta_or_none(path: Path) -> checkpoint.Meta | None:
    try:
        return checkpoint.read_meta(path)
    except InputError:
        return None


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
