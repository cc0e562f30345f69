"""Writes a patch with a backup and a journal, and takes it back byte for byte."""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hrmdoc.errors import PatchError
from hrmdoc.locks import acquire
from hrmdoc.paths import state_dir
from hrmdoc.remedies import files
from hrmdoc.remedies.files import digest
from hrmdoc.remedies.replace import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hrmdoc.remedies.patch import FileEdit, Patch

FOLDER = ".hrmdoc"
WAIT_S = 10.0
"""Seconds to wait for another process that patches the same file; a patch takes a few milliseconds."""


class Entry(Struct, frozen=True):
    """One written file in the journal. `backup` lies in the `backups` folder beside the journal; `run`: what
    the patch was made for, "" where that is not known."""

    id: str
    file: str
    remedy: str
    time: float
    before: str
    after: str
    backup: str
    undone: bool = False
    run: str = ""


def write(patch: Patch, run: str | Path = "") -> tuple[Entry, ...]:
    """Writes all files of a patch for a run, or none: each is backed up first, and one that fails takes the
    others back.

    Raises:
        PatchError: nothing to write, a file changed since it was read, is read-only, or cannot be written.
    """
    if not patch.edits:
        raise PatchError("there is no file to write", hint="paste the text shown, or use the overrides")
    for edit in patch.edits:
        _check_unchanged(edit)
        files.check_writable(edit.path)
    with _sole_writer(*(edit.path.resolve() for edit in patch.edits)):
        for edit in patch.edits:
            _check_unchanged(edit)
        written: list[Entry] = []
        try:
            where = os.path.abspath(run) if run else ""
            written.extend(_write_one(edit, patch.remedy, where) for edit in patch.edits)
        except PatchError:
            for entry in reversed(written):
                _undo(Path(entry.file), force=False)
            raise
    return tuple(written)


def _sole_writer(*targets: Path) -> ExitStack:
    """Keeps every other hrmdoc from patching these files meanwhile.

    Raises:
        PatchError: another one has been at it for long.
    """
    held = ExitStack()
    for target in sorted({_journal_for(target) for target in targets}):
        lock = target.with_name("lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            got = acquire(lock, WAIT_S)
        except OSError as error:
            held.close()
            raise PatchError(f"cannot write: {error.strerror}", file=error.filename or lock) from error
        if got is None:
            held.close()
            raise PatchError("another hrmdoc is patching here", file=lock, hint="try again once it has ended")
        held.enter_context(got)
    return held


def _check_unchanged(edit: FileEdit) -> None:
    files.check_link(edit.path)
    try:
        now = edit.path.read_bytes()
    except OSError as error:
        raise PatchError(f"cannot read the config again: {error.strerror}", file=edit.path) from error
    if now != edit.before:
        raise PatchError(
            "the file was changed meanwhile; nothing was written", file=edit.path, hint="make the patch again"
        )


def _write_one(edit: FileEdit, remedy: str, run: str) -> Entry:
    target = edit.path.resolve()
    journal = _journal_for(target)
    before, after = digest(edit.before), digest(edit.after)
    number = len(_entries(journal)) + 1
    entry = Entry(
        f"{number:04d}-{after[:8]}",
        str(target),
        remedy,
        time.time(),
        before,
        after,
        f"{number:04d}-{before[:8]}-{target.name}",
        run=run,
    )
    backup = journal.parent / "backups" / entry.backup
    try:
        backup.parent.mkdir(parents=True, exist_ok=True)
        replace(backup, edit.before)
        _append(journal, entry)
        replace(target, edit.after)
    except OSError as error:
        raise PatchError(f"cannot write: {error.strerror}", file=error.filename or target) from error
    return entry


def undo(path: str | Path, force: bool = False) -> Entry:
    """Restores `path` to what it was before the newest patch that still holds. Call it again to go further
    back.

    Args:
        force: also when the file was edited after the patch; those edits are lost.

    Raises:
        PatchError: no patch to undo, the file was edited since, or the backup is missing or damaged.
    """
    target = Path(path).resolve()
    _newest(target)  # what was never patched gets no folder for a lock
    with _sole_writer(target):
        return _undo(target, force=force)


def _undo(target: Path, *, force: bool) -> Entry:
    journal, entry = _newest(target)
    blob = _backup(journal, entry)
    if not target.exists() and not force:
        raise PatchError(
            "the file is not there any more", file=target, hint="`--undo --force` writes it as it was before"
        )
    try:
        now = target.read_bytes() if target.exists() else b""
    except OSError as error:
        raise PatchError(f"cannot read the config: {error.strerror}", file=target) from error
    if digest(now) not in {entry.after, entry.before} and not force:
        raise PatchError(
            "the file was edited after the patch", file=target, hint="`--undo --force` loses those edits"
        )
    try:
        if target.exists():
            files.check_writable(target)
        replace(target, blob)
        entry = msgspec.structs.replace(entry, file=str(target))
        _append(journal, msgspec.structs.replace(entry, undone=True))
    except OSError as error:
        raise PatchError(f"cannot write: {error.strerror}", file=error.filename or target) from error
    return entry


def history(path: str | Path) -> tuple[Entry, ...]:
    """The patches of `path` that still hold, oldest first."""
    target = Path(path).resolve()
    return tuple(entry for _, entry in _holding(target))


def undone(path: str | Path) -> tuple[Entry, ...]:
    """The patches of `path` that were taken back, in the order in which that was done."""
    target = Path(path).resolve()
    return tuple(
        entry
        for journal in _journals(target)
        for entry in _entries(journal)
        if entry.undone and _is_of(entry, journal, target)
    )


def _newest(target: Path) -> tuple[Path, Entry]:
    found = _holding(target)
    if found:
        return found[-1]
    if before := undone(target):
        raise PatchError(
            f"no patch is left to take back: {before[-1].remedy} was taken back already", file=target
        )
    for journal in filter(_is_torn, _journals(target)):
        hint = f"what the file was before lies in {journal.parent / 'backups'}"
        raise PatchError(
            "the last line of the journal is torn, so that it names no patch", file=journal, hint=hint
        )
    raise PatchError(
        "no patch of this file is known", file=target, hint="only what hrmdoc wrote can be undone"
    )


def _journals(target: Path) -> tuple[Path, Path]:
    return target.parent / FOLDER / "journal.jsonl", _state_journal(target)


def _holding(target: Path) -> list[tuple[Path, Entry]]:
    journals = _journals(target)
    found = [
        (journal, entry)
        for journal in journals
        for entry in _standing(journal)
        if _is_of(entry, journal, target)
    ]
    return sorted(found, key=lambda pair: pair[1].time)


def _is_of(entry: Entry, journal: Path, target: Path) -> bool:
    """Whether an entry is of this file: a journal beside it goes along where the folder is moved, so that the
    name tells it."""
    beside = journal.parent == target.parent / FOLDER
    return Path(entry.file).name == target.name if beside else entry.file == str(target)


def _standing(journal: Path) -> Iterator[Entry]:
    entries = _entries(journal)
    undone = {entry.id for entry in entries if entry.undone}
    return (entry for entry in entries if entry.id not in undone)


def _backup(journal: Path, entry: Entry) -> bytes:
    backup = journal.parent / "backups" / entry.backup
    try:
        blob = backup.read_bytes()
    except OSError as error:
        raise PatchError(f"the backup cannot be read: {error.strerror}", file=backup) from error
    if digest(blob) != entry.before:
        raise PatchError("the backup is damaged; nothing was written", file=backup)
    return blob


def _journal_for(target: Path) -> Path:
    """The journal beside the config, or in the user's state folder where that cannot be written."""
    beside = target.parent / FOLDER
    try:
        (beside / "backups").mkdir(parents=True, exist_ok=True)
        planted = beside.is_symlink() or (beside / "backups").is_symlink()
        if os.access(beside, os.W_OK | os.X_OK) and not planted:
            return beside / "journal.jsonl"
    except OSError:
        pass
    return _state_journal(target)


def _state_journal(target: Path) -> Path:
    return state_dir() / "patches" / digest(os.fsencode(target.parent))[:16] / "journal.jsonl"


def _entries(journal: Path) -> list[Entry]:
    try:
        lines = journal.read_bytes().splitlines()
    except OSError:
        return []
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(msgspec.convert(json.loads(line), Entry))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            if number == len(lines):
                break  # a torn last line: the write that it announced did not happen
            raise PatchError(f"the journal is damaged: {error}", file=journal, line=number) from error
    return entries


def _is_torn(journal: Path) -> bool:
    """Whether the last line of a journal cannot be read."""
    try:
        lines = journal.read_bytes().splitlines()
    except OSError:
        return False
    return len(_entries(journal)) < len(lines)


def _append(journal: Path, entry: Entry) -> None:
    line = json.dumps(msgspec.to_builtins(entry)).encode() + b"\n"  # with escapes for a name that is no UTF-8
    old = journal.read_bytes() if journal.exists() else b""
    replace(journal, old[: old.rfind(b"\n") + 1] + line)
