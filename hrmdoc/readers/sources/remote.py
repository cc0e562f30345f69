"""Records that lie in object storage (`s3://`, `gs://`, `hf://`, others that fsspec knows): listed with one
request a thousand names, told apart by their first bytes, and read piece by piece, never copied.

fsspec and what it needs for a store come with the extra `remote`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from msgspec import Struct

from hrmdoc.errors import InputError, UsageError
from hrmdoc.readers.support import names

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

PIECE = 8 << 20
"""Bytes of one request."""
AT_ONCE = 256
"""Beginnings of objects that are asked for together."""
SCHEMES = frozenset(["s3", "s3a", "gs", "gcs", "hf", "az", "abfs", "abfss", "adl", "oci", "memory"])
_ETAGS = ("ETag", "etag", "generation", "md5Hash", "blob_id", "oid")


class Entry(Struct, frozen=True):
    """One object. `identity` changes whenever its content does."""

    path: str
    size: int
    mtime: float
    identity: str


def is_remote(path: str) -> bool:
    """Whether a path names a store rather than a file of this machine."""
    scheme, mark, rest = path.partition("://")
    return bool(mark and rest) and scheme in SCHEMES


def store(path: str) -> AbstractFileSystem:
    """The store that holds a path.

    Raises:
        UsageError: what is needed for it is not installed, or no such store is known.
    """
    try:
        import fsspec

        return fsspec.url_to_fs(path.partition("::")[0])[0]  # a name in a store opens no other place
    except (ImportError, ValueError) as error:
        raise UsageError(f"cannot be reached: {error}", file=path, hint=_instead(path)) from error


def _instead(path: str) -> str:
    """What makes a store readable, or brings one object here."""
    piped = _piped(path)
    return "pip install 'hrmdoc[remote]'" + (f", or: {piped}" if piped else "")


def _piped(path: str) -> str:
    """How the store's own program hands one object over; "" where none is known."""
    copying = {"s3": f"aws s3 cp {path} -", "gs": f"gcloud storage cat {path}"}
    fetch = copying.get(path.partition("://")[0], "")
    return f"{fetch} | hrmdoc analyze -" if fetch else ""


def resolved(path: str) -> list[str]:
    """The paths that a pattern such as `s3://bucket/runs/*` stands for; else the path itself."""
    if not any(mark in path for mark in "*?["):
        return [path]
    files = store(path)
    with _stated(path):
        return sorted(files.unstrip_protocol(one) for one in files.glob(path)) or [path]


def listed(path: str) -> list[Entry]:
    """All objects at and below a path that may be records, in the order of their names; of several
    checkpoints the newest alone.

    Raises:
        InputError: there is none, or the store refuses.
    """
    files = store(path)
    with _stated(path):
        files.invalidate_cache()
        found = files.find(path, detail=True)
        if not found and files.exists(path):
            found = {path: files.info(path)}
    if not found:
        raise InputError("no such file or folder", file=path)
    root = files.unstrip_protocol(files._strip_protocol(path)).rstrip("/")
    entries = (_entry(files.unstrip_protocol(name), details) for name, details in found.items())
    wanted = [one for one in entries if one.path == root or _may_be_record(one.path[len(root) + 1 :])]
    return sorted(_without_old_checkpoints(wanted), key=lambda one: names.natural(one.path))


def head(path: str, most: int) -> bytes:
    """The first `most` bytes of one object.

    Raises:
        OSError: the store refuses.
    """
    with _stated(path, as_os_error=True):
        return bytes(store(path).cat_file(path, start=0, end=most))


def heads(entries: Iterable[Entry], most: int) -> Iterator[tuple[Entry, bytes | Exception]]:
    """The first `most` bytes of each object, many asked for at once; an error in the place of those that the
    store refuses."""
    waiting = list(entries)
    for at in range(0, len(waiting), AT_ONCE):
        batch = waiting[at : at + AT_ONCE]
        files = store(batch[0].path)
        ends = [min(most, one.size) for one in batch]
        got = files.cat_ranges([one.path for one in batch], [0] * len(batch), ends, on_error="return")
        for one, begin in zip(batch, got, strict=True):
            yield one, begin if isinstance(begin, Exception) else bytes(begin)


def opened(path: str, size: int) -> BinaryIO:
    """An object as a file to be read from its beginning to its end.

    Args:
        size: as it was listed; bytes that came later are not read.
    """
    return cast("BinaryIO", io.BufferedReader(_Stream(path, size), buffer_size=1 << 20))


class _Stream(io.RawIOBase):
    """Ranges of one object, one after the other: a request each, and none for its size."""

    def __init__(self, path: str, size: int) -> None:
        self._path, self._size, self._at = path, size, 0
        self._store = store(path)
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        """Fills `into` from the piece at hand, or from the next one.

        Raises:
            OSError: the store refuses.
        """
        view = memoryview(into).cast("B")
        if not self._piece and self._at < self._size:
            end = min(self._at + PIECE, self._size)
            with _stated(self._path, as_os_error=True):
                self._piece = memoryview(self._store.cat_file(self._path, start=self._at, end=end))
            self._at = end
        count = min(len(view), len(self._piece))
        view[:count] = self._piece[:count]
        self._piece = self._piece[count:]
        return count


class _stated:  # noqa: N801 (reads as a statement)
    """Stores raise whatever their libraries do; who asks is told in our words."""

    def __init__(self, path: str, *, as_os_error: bool = False) -> None:
        self._path, self._as_os_error = path, as_os_error

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        del kind, trace
        if error is None or not isinstance(error, Exception):
            return
        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, ImportError):
            raise UsageError(f"cannot be reached: {what}", file=self._path, hint=_instead(self._path))
        if self._as_os_error:
            raise OSError(5, what)
        if isinstance(error, FileNotFoundError):
            raise InputError("no such file or folder", file=self._path)
        raise InputError(f"cannot be read: {what}", file=self._path, hint=_piped(self._path) or None)


def _entry(path: str, details: Mapping[str, Any]) -> Entry:
    moments = (details.get(key) for key in ("LastModified", "mtime", "updated", "last_modified", "created"))
    mtime = next((found for one in moments if (found := _seconds(one))), 0.0)
    if isinstance(commit := details.get("last_commit"), Mapping):
        mtime = _seconds(commit.get("date")) or mtime
    size = int(details.get("size") or 0)
    tag = next((str(details[key]) for key in _ETAGS if details.get(key)), "")
    return Entry(path, size, mtime, f"{size}-{tag or mtime}")


def _seconds(moment: object) -> float:
    if isinstance(moment, datetime):
        return moment.timestamp()
    if isinstance(moment, str):
        try:
            return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
        except ValueError:
            return 0.0
    return float(moment) if isinstance(moment, int | float) else 0.0


def _may_be_record(below: str) -> bool:
    """Whether a path below the root is worth a look, by its names alone."""
    *folders, name = below.split("/")
    return bool(name) and not names.is_no_log(name) and not any(map(names.is_no_log_folder, folders))


def _without_old_checkpoints(entries: list[Entry]) -> Iterator[Entry]:
    newest: dict[str, int] = {}
    for one in entries:
        for folder, number in _checkpoints(one.path):
            newest[folder] = max(number, newest.get(folder, -1))
    for one in entries:
        if all(number == newest[folder] for folder, number in _checkpoints(one.path)):
            yield one


def _checkpoints(path: str) -> Iterator[tuple[str, int]]:
    """The checkpoints that a path lies in: the folder above each, and its number."""
    parts = path.split("/")
    for at, part in enumerate(parts[:-1]):
        if (number := names.checkpoint_number(part)) is not None:
            yield "/".join(parts[:at]), number
