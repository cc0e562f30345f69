"""Unpacks archives of logs: what a cluster, a tracker or a colleague hands over as one zip or tar file,
packed or not.

The files that may be records are unpacked into a folder of their own, which is removed when the process ends.
Nothing of an archive is trusted: names are made harmless, links and devices are left out, and what grows
beyond all measure is cut.
"""

from __future__ import annotations

import atexit
import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, cast

from hrmdoc.errors import InputError
from hrmdoc.readers.support import budget, names
from hrmdoc.readers.support.decode import PIECE, codec_of, decoder
from hrmdoc.record.records import Damage

_COPIED = 512  # what a cut takes with it: tarfile gives a whole read or none

_kept: dict[tuple[str, float, int], tuple[Path, list[Damage]]] = {}


class Member(NamedTuple):
    """A file inside: its name there, when it was written (Unix seconds), and how to read it."""

    name: str
    written: float
    open: Callable[[], IO[bytes]]


def unpacked(path: str, problems: list[Damage]) -> Path:
    """The folder that holds what may be records of the archive `path`; unpacked once in a process.

    Raises:
        InputError: it cannot be unpacked at all.
    """
    status = os.stat(path)
    key = os.path.realpath(path), status.st_mtime, status.st_size
    if key not in _kept:
        folder = Path(tempfile.mkdtemp(prefix="hrmdoc-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        noted: list[Damage] = []
        _unpack(path, folder, noted)
        _kept[key] = folder, noted
    folder, noted = _kept[key]
    problems += [one for one in noted if one not in problems]
    return folder


def _unpack(path: str, folder: Path, noted: list[Damage]) -> None:
    taken, left = 0, budget.may_unpack(os.path.getsize(path))
    outside = 0
    try:
        for member in _members(path):
            place = PurePosixPath(member.name.replace("\\", "/"))
            if not place.parts or _is_no_record(place):
                continue
            if not _is_inside(place, member.name):
                outside += 1
                continue
            if taken == budget.MAX_FILES or left <= 0:
                what = f"more than {budget.MAX_FILES:,} files" if left > 0 else "more than logs shrink to"
                noted.append(Damage(path, None, f"holds {what}; cut there", incomplete=True))
                return
            target = folder.joinpath(*place.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            taken += 1
            with closing(member.open()) as source, target.open("wb") as copy:
                while left > 0 and (piece := source.read(min(_COPIED, left))):
                    copy.write(piece)
                    left -= len(piece)
            with suppress(OSError, OverflowError):
                os.utime(target, (member.written, member.written))
        if outside:
            many = "a file" if outside == 1 else f"{outside:,} files"
            noted.append(Damage(path, None, f"names {many} outside of itself; left out", incomplete=True))
    except (
        InputError,
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
        zlib.error,
        lzma.LZMAError,
    ) as error:
        why = error.what if isinstance(error, InputError) else str(error)
        if not taken:
            raise InputError(f"the archive cannot be unpacked: {why}", file=path) from error
        noted.append(
            Damage(
                path,
                None,
                f"the archive is damaged within or after its file number {taken}: {why}",
                incomplete=True,
            )
        )


def _is_inside(place: PurePosixPath, name: str) -> bool:
    """Whether a member lies in the folder into which its archive is unpacked."""
    elsewhere = place.is_absolute() or ".." in place.parts or ":" in place.parts[0]
    return not elsewhere and "\0" not in name and len(name) <= 1000


def _is_no_record(place: PurePosixPath) -> bool:
    """Whether the names say that a member is no record of a run."""
    folders = (part for part in place.parts[:-1] if part != "..")
    return names.is_no_log(place.name) or any(map(names.is_no_log_folder, folders))


def _members(path: str) -> Iterator[Member]:
    with open(path, "rb") as file:
        head = file.read(1 << 16)
        file.seek(0)
        yield from _in_zip(path, file) if head.startswith(b"PK") else _in_tar(file, codec_of(head))


def _in_zip(path: str, file: IO[bytes]) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        if any(info.filename.endswith("/data.pkl") for info in archive.infolist()):
            raise InputError("it holds the weights of a PyTorch checkpoint, not logs", file=path)
        for info in _side_by_side(archive.infolist(), path):
            if info.is_dir() or (info.external_attr >> 16) & 0o170000 not in (0, 0o100000):
                continue
            if info.flag_bits & 1:
                raise InputError("it is encrypted; unpack it first", file=path)
            if info.file_size > budget.may_unpack(info.compress_size):
                raise InputError(f"{info.filename!r} grows more than a log can", file=path)
            written = 0.0  # a month of 0, as some tools write it, is no reason to leave a file out
            with suppress(ValueError, OverflowError):
                written = datetime(*info.date_time).timestamp()
            yield Member(info.filename, written, partial(archive.open, info))


def _side_by_side(members: list[zipfile.ZipInfo], path: str) -> list[zipfile.ZipInfo]:
    """The members, which lie one behind the other; no tool writes them over each other, and a few bytes that
    belong to thousands of members fill a disk."""
    ordered = sorted(members, key=lambda info: info.header_offset)
    for one, behind in pairwise(ordered):
        if one.header_offset + one.compress_size > behind.header_offset:
            raise InputError("its members lie over each other, which no tool writes", file=path)
    return members


class _BoundedHeader(tarfile.TarInfo):
    """A header whose name is read only up to a length that names have."""

    _LONG = (
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    )

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in self._LONG and self.size > budget.MAX_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]


def _in_tar(file: IO[bytes], codec: str) -> Iterator[Member]:
    stream = _Plain(file, codec)
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_BoundedHeader) as archive:
            for number, info in enumerate(archive):
                archive.members = []  # type: ignore[attr-defined]  # they are needed once
                if number >= budget.MAX_MEMBERS:
                    raise tarfile.ReadError(f"more than {budget.MAX_MEMBERS:,} members")
                if info.isreg():
                    yield Member(info.name, float(info.mtime), partial(_one_of, archive, info))
    except tarfile.TarError:
        if stream.error is None:
            raise
    if stream.error is not None:
        raise stream.error


def _one_of(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    """What lies in the archive, unbuffered: a buffer takes more than is asked for, and a cut takes the
    buffer."""
    found = archive.extractfile(info)
    return cast("IO[bytes]", found.raw) if isinstance(found, io.BufferedReader) else io.BytesIO()


class _Plain(io.RawIOBase):
    """The bytes of a packed file as a stream that is read once; it ends where they are damaged, and `error`
    says so."""

    def __init__(self, file: IO[bytes], codec: str) -> None:
        self.error: InputError | None = None
        self._pieces = self._plain(file, codec)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Exactly `size` bytes, fewer at the end."""
        parts: list[bytes] = []
        wanted = size if size >= 0 else budget.MAX_UNPACKED
        while wanted > 0:
            self._rest = self._rest or next(self._pieces, b"")
            if not self._rest:
                break
            part, self._rest = self._rest[:wanted], self._rest[wanted:]
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)

    def _plain(self, file: IO[bytes], codec: str) -> Iterator[bytes]:
        plain = decoder(codec)
        try:
            while block := file.read(PIECE):
                yield from (piece for piece in plain.feed(block) if piece)
            yield from (piece for piece in plain.close() if piece)
        except InputError as error:
            self.error = error
