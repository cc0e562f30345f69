"""Plain text logs: what a training prints, with bars, prefixes, tracebacks and all."""

from __future__ import annotations

from pathlib import Path

from hrmdoc.readers.log.session import TextSession
from hrmdoc.readers.support.base import Context, Session

NAME = "text"
TITLE = "plain text logs (stdout, stderr, train.log, slurm output)"
WHOLE = False

_SUFFIXES = frozenset([".log", ".out", ".err", ".txt", ".stdout", ".stderr"])
_BOMS = (b"\xff\xfe", b"\xfe\xff")
_BINARY = bytes(range(1, 8)) + bytes(range(14, 27))


def sniff(path: Path, head: bytes) -> float:
    """How sure this reader is: text of any kind is read when no other format claims it."""
    if not head:
        return 0.1 if path.suffix.lower() in _SUFFIXES else 0.0
    named = path.suffix.lower() in _SUFFIXES or path.name.startswith(("slurm-", "std"))
    if head.startswith(_BOMS):
        return 0.4
    odd = len(head) - len(head.translate(None, _BINARY))
    if odd > len(head) // 20 or head.count(0) > len(head) // 4:
        return 0.02 if named else 0.0
    return 0.4 if named else 0.15


def open_session(context: Context) -> Session:
    """Starts to read one log."""
    return TextSession(context)
