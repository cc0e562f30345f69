"""Where the data that ships with hrmdoc lies, and where hrmdoc keeps what belongs to no run."""

from __future__ import annotations

import os
from pathlib import Path


def data_dir(name: str) -> Path:
    """The folder `rules` or `playbooks`: inside the package when installed, beside it in an editable
    install."""
    here = Path(__file__).resolve().parent
    packaged = here / name
    return packaged if packaged.is_dir() else here.parent / name


def state_dir() -> Path:
    """The user's state folder, for what cannot be kept beside a run or a config. It need not exist yet."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "hrmdoc"
