"""Puts new bytes in the place of a file, which stays the same file in all else: owner, rights, extended
attributes and further names (hard links)."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from hrmdoc import systems


def replace(path: Path, blob: bytes) -> None:
    """Puts `blob` in the place of `path` in one step, and waits until the disk has it.

    A file with further names, or whose owner or attributes this user cannot give to a new file, is written
    in place instead: then a power cut may leave half of it, for which there is the backup.

    Raises:
        OSError: the folder cannot be written, the disk is full; the file is as it was.
    """
    old = path.stat() if path.exists() else None
    if old is not None and old.st_nlink > 1:
        _write_in_place(path, blob)
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(blob)
            stream.flush()
            alike = old is None or _make_alike(path, old, stream.fileno())
            systems.permit(stream.fileno(), 0o644 if old is None else stat.S_IMODE(old.st_mode))
            os.fsync(stream.fileno())
        if alike:
            temporary.replace(path)
            _sync_folder(path.parent)
            return
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    temporary.unlink()
    _write_in_place(path, blob)


def _make_alike(path: Path, old: os.stat_result, new: int) -> bool:
    """Gives the open file `new` the owner and the extended attributes (access lists are some) of `path`;
    whether that could be done."""
    made = os.fstat(new)
    try:
        if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(new, old.st_uid, old.st_gid)
        if hasattr(os, "listxattr"):
            for name in os.listxattr(path):
                value = os.getxattr(path, name)
                if name not in os.listxattr(new) or os.getxattr(new, name) != value:
                    os.setxattr(new, name, value)
    except OSError:
        return False
    return True


def _write_in_place(path: Path, blob: bytes) -> None:
    with path.open("r+b") as stream:
        before = stream.read()
        try:
            _overwrite(stream.fileno(), blob)
        except OSError:
            with suppress(OSError):
                _overwrite(stream.fileno(), before)
            raise


def _overwrite(descriptor: int, blob: bytes) -> None:
    place = os.lseek(descriptor, 0, os.SEEK_SET)
    while place < len(blob):
        place += os.write(descriptor, blob[place:])
    os.ftruncate(descriptor, len(blob))
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Makes the new name last through a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
