"""Where the output of a supervised command is kept: on a disk that has room, and never through a link."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
from pathlib import Path

from hrmdoc.live.room import free_space
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run

LITTLE = 100 << 20
"""Bytes of free space below which a word is said before the command starts."""
SPARE = "hrmdoc-run-"
NONE = 1 << 20
"""Bytes of free space that are as good as none."""


def where_there_is_room(log: Path) -> Path:
    """The log, or one of that name in the system's temporary folder where its own disk is full: a command
    whose output finds no room fails for it. Says where room is short."""
    place, other = log.absolute().parent, Path(tempfile.gettempdir())
    free = _room(place)
    if free < NONE and _room(other) >= LITTLE:
        kept = Path(tempfile.mkdtemp(prefix=SPARE)) / log.name
        _say(f"the disk of {place} is full: the output is kept in {kept}")
        return kept
    if free < LITTLE:
        _say(f"only {free / 1e6:.1f} MB are free in {place} for the output, and without room a command fails")
    return log


def is_spare(log: Path) -> bool:
    """Whether a log lies in a folder that `where_there_is_room` made for this user."""
    folder = log.parent
    made = folder.parent == Path(tempfile.gettempdir()) and folder.name.startswith(SPARE)
    return made and not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == os.getuid()


def _room(folder: Path) -> float:
    """Bytes that are free on the disk of a folder; as many as one likes where nobody knows: what is no disk,
    such as /proc and some network file systems, tells of none at all."""
    try:
        disk = shutil.disk_usage(folder)
    except OSError:
        return math.inf
    return disk.free if disk.total else math.inf


def _say(what: str) -> None:
    print(f"hrmdoc: {what}", file=sys.stderr)  # noqa: T201


class Room:
    """Whether there is room for what a command writes, while it runs.

    Args:
        log: where that goes.
    """

    def __init__(self, log: Path) -> None:
        self._log, self._place = log, log.absolute().parent
        self.full = False

    def news(self, run: Run) -> list[Fact]:
        """Says when the disk is full, and when it is no more, and gives that as facts of the run; nothing
        where it is as before."""
        full = _room(self._place) < NONE
        if full == self.full:
            return []
        self.full = full
        _say(
            f"no room is left for {self._log}: what the command writes may be lost, and it may fail for it"
            if full
            else f"there is room again for {self._log}"
        )
        return [Fact("run.output_lost", full, "run", ""), *free_space(run, self._place)]


def no_link(path: str, flags: int) -> int:
    """Opens a file, and no link that took its place meanwhile."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
