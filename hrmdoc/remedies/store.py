"""Writes a patch with a backup and a journal, and takes it back byte for byte."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hrmdoc.errors import PatchError
from hrmdoc.paths import state_dir
from hrmdoc.remedies import files
from hrmdoc.remedies.files import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hrmdoc.remedies.patch import FileEdit, Patch

FOLDER = ".hrmdoc"


class Entry(Struct, frozen=True):
    """One written file in the journal. `backup` lies in the `backups` folder beside the journal."""

    id: str
    file: str
    remedy: str
    time: float
    before: str
    after: str
    backup: str
    undone: bool = False


_ENTRY = msgspec.json.Decoder(Entry)


def write(patch: Patch) -> tuple[Entry, ...]:
    """Writes all files of a patch, or none: each is backed up first, and one that fails takes the others
    back.

    Raises:
        PatchError: nothing to write, a file changed since it was read, is read-only, or cannot be written.
    """
    if not patch.edits:
        raise PatchError("there is no file to write", hint="paste the text shown, or use the overrides")
    for edit in patch.edits:
        _check_unchanged(edit)
        files.check_writable(edit.path)
    written: list[Entry] = []
    try:
        written.extend(_write_one(edit, patch.remedy) for edit in patch.edits)
    except PatchError:
        for entry in reversed(written):
            undo(entry.file)
        raise
    return tuple(written)


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


def _write_one(edit: FileEdit, remedy: str) -> Entry:
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
    journal, entry = _newest(target)
    blob = _backup(journal, entry)
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
        if entry.undone and entry.file == str(target)
    )


def _newest(target: Path) -> tuple[Path, Entry]:
    found = _holding(target)
    if found:
        return found[-1]
    if before := undone(target):
        raise PatchError(
            f"no patch is left to take back: {before[-1].remedy} was taken back already", file=target
        )
    raise PatchError(
        "no patch of this file is known", file=target, hint="only what hrmdoc wrote can be undone"
    )


def _journals(target: Path) -> tuple[Path, Path]:
    return target.parent / FOLDER / "journal.jsonl", _state_journal(target)


def _holding(target: Path) -> list[tuple[Path, Entry]]:
    journals = _journals(target)
    found = [
        (journal, entry) for journal in journals for entry in _standing(journal) if entry.file == str(target)
    ]
    return sorted(found, key=lambda pair: pair[1].time)


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
        if os.access(beside, os.W_OK | os.X_OK):
            return beside / "journal.jsonl"
    except OSError:
        pass
    return _state_journal(target)


def _state_journal(target: Path) -> Path:
    return state_dir() / "patches" / digest(str(target.parent).encode())[:16] / "journal.jsonl"


def _entries(journal: Path) -> list[Entry]:
    try:
        lines = journal.read_bytes().splitlines()
    except OSError:
        return []
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(_ENTRY.decode(line))
        except msgspec.MsgspecError as error:
            if number == len(lines):
                break  # a torn last line: the write that it announced did not happen
            raise PatchError(f"the journal is damaged: {error}", file=journal, line=number) from error
    return entries


def _append(journal: Path, entry: Entry) -> None:
    line = msgspec.json.encode(entry) + b"\n"
    old = journal.read_bytes() if journal.exists() else b""
    if old and not old.endswith(b"\n"):
        old = old[: old.rfind(b"\n") + 1]
    replace(journal, old + line)


def replace(path: Path, blob: bytes) -> None:
    """Puts `blob` in the place of `path` in one step; the mode bits of an existing file stay.

    Raises:
        OSError: the folder cannot be written, the disk is full.
    """
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(blob)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
