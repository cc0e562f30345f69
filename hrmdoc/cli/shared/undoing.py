"""`hrmdoc apply --undo`: which file is meant, and what it was before."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from hrmdoc.errors import InputError, PatchError

_CONFIGS = (".yaml", ".yml", ".py", ".sh")
"""What ends so is a config and no run."""


def undo(path: Path, config: Path | None, *, force: bool) -> int:
    """Takes back the newest patch of a config: of the one that is named, or of the run at `path`."""
    from hrmdoc.live.notes import note_undone
    from hrmdoc.remedies import store

    target = config or path
    if config is None and path.suffix.lower() not in _CONFIGS and (path.is_dir() or not store.history(path)):
        with suppress(InputError):  # a config that was never patched is no run
            target = _patched_config(path)
    entry = store.undo(target, force)
    note_undone(entry)
    click.echo(f"taken back: {entry.file}", err=True)
    return 0


def _patched_config(path: Path) -> Path:
    """The config of the run at `path` that was patched last."""
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.remedies import store
    from hrmdoc.remedies.targets import targets

    session = AnalysisSession(str(path))
    session.read([str(path)])
    analysis = session.diagnose(closed=True, prescriptions=False)
    where = targets(analysis.run, analysis.situation, analysis.book)
    candidates = [*where.files, *where.records]
    for known in (store.history, store.undone):
        for candidate in candidates:
            if known(candidate):
                return candidate
    raise PatchError("no config of this run was patched", file=path, hint="name the file with --config")
