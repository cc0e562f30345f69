"""One file (or standard input) of a run, and who reads it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

STDIN = "-"


class Source(Struct, frozen=True):
    """What `discover` found.

    Attributes:
        path: the file as the user would name it; `-` is standard input.
        reader: the name of the reader that is surest of it; empty for standard input, which is sniffed when
            it is read.
        logger: the logger that its points belong to; several files of one logger share it.
        rank: the global rank that the file's name or folder gives, else None.
        started: when the file was begun, Unix seconds: from its name, else its modification time.
        mtime: modification time, Unix seconds.
        size: bytes on disk when it was found.
        codec: compression or UTF-16, see `hrmdoc.readers.support.decode`.
        part: which run of a database the user named, as in `mlflow.db#first-try`; empty for the newest.
        stored: where the bytes lie, when `path` names a place inside an archive; else empty.
        identity: changes whenever the content of the file does.
    """

    path: str
    reader: str
    logger: str
    rank: int | None = None
    started: float = 0.0
    mtime: float = 0.0
    size: int = 0
    codec: str = ""
    part: str = ""
    stored: str = ""
    identity: str = ""

    @property
    def file(self) -> Path:
        """The file to open."""
        return Path(self.stored or self.path)
