"""Writing files so that a reader, or a crash, never sees half of one."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomic(path: Path, text: str, *, durable: bool = False) -> None:
    """Replaces `path` by `text` in one step. `durable` also waits until the disk has it.

    Raises:
        OSError: it cannot be written; the old file is untouched.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def fsync_folder(folder: Path) -> None:
    """Makes the names in `folder` last through a power cut, where the system can."""
    if os.name == "nt":  # Windows opens no folders
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
