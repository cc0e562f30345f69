"""Where a watch keeps what it found: in the run's own folder, or in the user's state folder when that cannot
be written."""

from __future__ import annotations

import os
from pathlib import Path

from hrmdoc.paths import kept_in


def state_folder(path: Path) -> Path | None:
    """A writable folder for `diagnosis.json` and `incidents.jsonl` of the run at `path`; None when there is
    none at all."""
    folder = kept_in(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
