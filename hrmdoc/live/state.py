"""Where a watch keeps what it found: in the run's own folder, or in the user's state folder when that cannot
be written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hrmdoc.paths import state_dir


def state_folder(path: Path) -> Path | None:
    """A writable folder for `diagnosis.json` and `incidents.jsonl` of the run at `path`; None when there is
    none at all."""
    own = path if path.is_dir() else None
    if own is not None and (own / "run.json").is_file() and _is_ours(own):
        return own
    folder = state_dir() / hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _is_ours(folder: Path) -> bool:
    """Whether the folder belongs to this user, who may write there: a run that was received from somebody
    else keeps nothing."""
    try:
        return folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK)
    except OSError:
        return False
