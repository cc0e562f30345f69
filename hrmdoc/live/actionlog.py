"""The one record of what was done to a run, or withheld: JSON lines, each with the hash of the one
before, so that it can be trusted afterwards.

Whoever changes or removes a line has to change all that follow. That the last ones are missing, or that all
were written anew, shows by the newest hash, which is kept in the user's state folder too, and which a person
may note elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hrmdoc import systems
from hrmdoc.live.journal import Journal
from hrmdoc.locks import acquire
from hrmdoc.paths import read_kept, replace_file, state_dir

FILE = "actions.jsonl"
BEGIN = "0" * 64
"""What the first line carries."""
WAIT_S = 5.0
"""Seconds to wait for another process that writes the same record; it needs a few milliseconds."""
MOST = 64 << 20
"""Bytes of a record that is read; none that hrmdoc wrote comes near."""


class ActionLog(Journal):
    """A journal whose lines are chained. Several processes may add to it: what a watch, a supervisor and a
    person do stands in one order."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._entries: list[dict[str, object]] = []

    def append(self, entries: Iterable[Mapping[str, object]]) -> None:
        """Adds entries. On a full or vanished disk they wait for the next ones; nothing ends for it."""
        self._entries += [dict(entry) for entry in entries]
        if self._path is None or not self._entries:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = acquire(self._path.with_name(f".{self._path.name}.lock"), WAIT_S)
            if lock is None:
                return
            with lock:
                self._write(self._path)
            self._entries = []

    def _write(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | systems.PLAIN
        with open(os.open(path, flags, 0o666), "ab+", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MOST:
                return  # none that hrmdoc wrote
            file.seek(0)
            before = file.read()
            torn = b"\n" if before and not before.endswith(b"\n") else b""
            lines = before.rstrip(b"\n").split(b"\n") if before else []
            added = _chained(self._entries, lines[-1] if lines else None)
            try:
                _write_all(file.fileno(), torn + b"".join(line + b"\n" for line in added))
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), len(before))  # half of it would stand there twice later
                raise
        _keep_head(path, len(lines) + len(added), added[-1])


def _chained(entries: Iterable[Mapping[str, object]], last: bytes | None) -> list[bytes]:
    lines = []
    for entry in entries:
        text = json.dumps({**entry, "prev": BEGIN if last is None else digest(last)}, ensure_ascii=False)
        last = text.encode(errors="backslashreplace")  # the name of a file may hold any bytes
        lines.append(last)
    return lines


def _write_all(descriptor: int, blob: bytes) -> None:
    while blob:
        blob = blob[os.write(descriptor, blob) :]


def digest(line: bytes) -> str:
    """The hash that the next line carries: SHA-256 of the line without its end."""
    return hashlib.sha256(line).hexdigest()


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a record is what was written.

    Attributes:
        lines: how many there are.
        head: the hash of the last one, to be noted elsewhere.
        flaw: what is wrong first, "" where nothing is; `line` says where (1-based).
        unchained: lines at the beginning that an older hrmdoc wrote without hashes.
        anchored: the newest hash is known from the user's state folder, so that an end cut off would show.
    """

    lines: int
    head: str
    flaw: str = ""
    line: int | None = None
    unchained: int = 0
    anchored: bool = False


def verify(path: Path, noted: str = "") -> Check:
    """Checks a record against itself, against what the state folder knows, and against a hash that a person
    noted.

    Raises:
        OSError: it cannot be read.
    """
    lines = _read(path)
    hashes = [digest(line) for line in lines]
    head = hashes[-1] if hashes else BEGIN
    known = _head(path)
    flaw, line, unchained = _broken(lines, hashes)
    if not flaw and known is not None:
        flaw, line = _missing(known, hashes)
    if not flaw and noted and noted not in hashes:
        flaw = "no line has the hash that was noted: lines after it were removed, or all were written anew"
        line = len(lines) + 1
    return Check(len(lines), head, flaw, line, unchained, known is not None)


def _read(path: Path) -> list[bytes]:
    blob = read_kept(path, MOST)
    return blob.rstrip(b"\n").split(b"\n") if blob.strip() else []


def _broken(lines: list[bytes], hashes: list[str]) -> tuple[str, int | None, int]:
    """The first line that does not follow the one before it, and how many at the beginning bear no hash."""
    before, unchained, begun = BEGIN, 0, False
    for number, (line, own) in enumerate(zip(lines, hashes, strict=True), 1):
        carried = _carried(line)
        if carried is None and not begun:
            unchained += 1
        elif carried is None and number < len(lines) and _carried(lines[number]) == own:
            pass  # torn by a crash: the next one knows it
        elif carried is None:
            return "this line is torn, or was changed", number, unchained
        elif carried != before:
            return _blame(number, begun=begun), max(1, number - 1) if begun else number, unchained
        begun = begun or carried is not None
        before = own
    return "", None, unchained


def _blame(number: int, *, begun: bool) -> str:
    if not begun:
        return "lines before this one were removed"
    return f"this line was changed, or lines between it and line {number} were removed"


def _carried(line: bytes) -> str | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    carried = entry.get("prev") if isinstance(entry, dict) else None
    return carried if isinstance(carried, str) else None


def _missing(known: tuple[int, str], hashes: list[str]) -> tuple[str, int | None]:
    """What the newest hash that the state folder knows says of the end."""
    count, head = known
    if count > len(hashes):
        return f"the last {count - len(hashes)} of {count} lines were removed", len(hashes) + 1
    if head != hashes[count - 1]:
        return "the lines were written anew: this is not the hash that was kept of it", count
    return "", None


def _place(path: Path) -> Path:
    return state_dir() / "heads" / f"{digest(os.fsencode(path.resolve()))[:16]}.json"


def _keep_head(path: Path, lines: int, last: bytes) -> None:
    """Notes the newest hash; where the state folder cannot be written, the chain has to do."""
    replace_file(
        _place(path), json.dumps({"file": str(path.resolve()), "lines": lines, "head": digest(last)})
    )


def _head(path: Path) -> tuple[int, str] | None:
    try:
        known: Any = json.loads(_place(path).read_bytes())
        count, head = known["lines"], known["head"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return (count, head) if isinstance(count, int) and count > 0 and isinstance(head, str) else None
