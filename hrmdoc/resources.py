"""Where the data that ships with hrmdoc lies."""

from __future__ import annotations

from pathlib import Path


def data_dir(name: str) -> Path:
    """The folder `rules` or `playbooks`: inside the package when installed, beside it in an editable install."""
    here = Path(__file__).resolve().parent
    packaged = here / name
    return packaged if packaged.is_dir() else here.parent / name
