"""Reads a config file that is to be changed, and refuses what should not be touched."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hrmdoc.errors import PatchError
from hrmdoc.paths import instead_of

if TYPE_CHECKING:
    from pathlib import Path

BIGGEST = 256_000
"""Bytes; a config is never that long, a log or a tokenizer may be."""


@dataclass(frozen=True, slots=True)
class Source:
    """A config file as it was read: its bytes, its text, and the digest that tells a later change."""

    path: Path
    blob: bytes
    text: str

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes."""
        return digest(self.blob)


def digest(blob: bytes) -> str:
    """Hex SHA-256."""
    return hashlib.sha256(blob).hexdigest()


def read(path: Path) -> Source:
    """The file at `path`.

    Raises:
        PatchError: missing, not a regular file, a link out of its folder, huge, binary, or not UTF-8.
    """
    check_link(path)
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise PatchError("not a regular file", file=path)
        if info.st_size > BIGGEST:
            raise PatchError(
                f"{info.st_size / 1000:,.0f} kB is more than a config file has",
                file=path,
                hint="name the config file itself",
            )
        blob = path.read_bytes()
    except OSError as error:
        hint = instead_of(str(path)) if isinstance(error, FileNotFoundError) else None
        raise PatchError(f"cannot read the config: {error.strerror}", file=path, hint=hint) from error
    if b"\0" in blob:
        raise PatchError("a binary file (or UTF-16 text) is not edited", file=path, hint="save it as UTF-8")
    try:
        return Source(path, blob, blob.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = blob.count(b"\n", 0, error.start) + 1
        raise PatchError("the text is not UTF-8", file=path, line=line, hint="save it as UTF-8") from error


def check_link(path: Path) -> None:
    """Refuses a link whose target lies outside its own folder, so that a patch never lands somewhere
    unexpected.

    Raises:
        PatchError: naming the target.
    """
    if not path.is_symlink():
        return
    folder, target = path.parent.resolve(), path.parent / os.path.realpath(path)
    if target.is_symlink():
        raise PatchError("is a link that leads to itself", file=path, hint="name the file itself")
    if folder not in target.parents:
        raise PatchError(
            f"is a link to {target}, outside its folder", file=path, hint="name the file itself to change it"
        )


def check_writable(path: Path) -> None:
    """Refuses a file that its owner protected, or whose folder takes no new file.

    Raises:
        PatchError: saying which.
    """
    target = path.resolve()
    if not target.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(
        target, os.W_OK
    ):
        raise PatchError("the file is read-only", file=path, hint="make it writable, or use the overrides")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PatchError(
            "the folder is read-only", file=path, hint="copy the config elsewhere, or use the overrides"
        )
