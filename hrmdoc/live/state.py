"""Where a watch keeps what it found: in the run's own folder, or in the user's state folder when that cannot
be written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hrmdoc.paths import state_dir


def kept_in(path: Path) -> Path:
    """The folder where a watch of the run at `path` keeps what it found; it need not exist."""
    if (path / "run.json").is_file() and _is_ours(path):
        return path
    supervised = supervised_folder(path)
    if supervised.is_dir() and not supervised.is_symlink() and _is_ours(supervised):
        return supervised
    return state_dir() / hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]


def state_folder(path: Path) -> Path | None:
    """A writable folder for `diagnosis.json` and `incidents.jsonl` of the run at `path`; None when there is
    none at all."""
    folder = kept_in(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def supervised_folder(log: Path) -> Path:
    """Where `hrmdoc run` keeps what belongs to the command that writes `log`."""
    return log.with_name(f"{log.name}.hrmdoc")


def _is_ours(folder: Path) -> bool:
    """Whether the folder belongs to this user, who may write there: a run that was received from somebody
    else keeps nothing."""
    try:
        return folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK)
    except OSError:
        return False
