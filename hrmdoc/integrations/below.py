"""The runs below a folder, examined one after the other in a thread, again and again as they grow.

What `hrmdoc serve` does in processes of its own, small enough for the process of another server.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

from hrmdoc.readers import RunGroup
from hrmdoc.reports.review import chapter_html
from hrmdoc.reports.verdict import SEVEREST
from hrmdoc.web.board import stamps_of
from hrmdoc.web.kept import Stamp
from hrmdoc.web.roots import Roots, key_of
from hrmdoc.web.rows import Row, examine, row_of

EVERY_S = 1.0
SHARE = 0.25
"""Of one core that examinations take at most: the server has its own work."""


@dataclass(slots=True)
class Entry:
    """One run. `version` grows with each examination."""

    key: str
    name: str
    group: RunGroup
    stamp: Stamp
    row: Row
    version: int = 1


class Below:
    """Examines what lies below a folder, from the first question on.

    Args:
        folder: it need not hold a run yet.
    """

    def __init__(self, folder: str) -> None:
        self._roots = Roots.of([folder])
        self._entries: dict[str, Entry] = {}
        self._pages: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._searched = False

    def rows(self) -> dict[str, Any]:
        """How each run stands, the worst first; and whether all were examined."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="hrmdoc", daemon=True)
                self._thread.start()
            entries = sorted(
                self._entries.values(), key=lambda one: (SEVEREST.index(one.row.verdict), one.name)
            )
        rows = [{"key": e.key, "name": e.name, "version": e.version, **asdict(e.row)} for e in entries]
        return {"runs": rows, "searched": self._searched}

    def page(self, key: str) -> str | None:
        """The middle of the page of one run as HTML, all text in it escaped; None where there is no such
        run."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        with self._lock:
            drawn = (key, entry.version)
            if drawn not in self._pages:
                self._pages = {drawn: chapter_html(examine(entry.group, self._roots), 1)}
            return self._pages[drawn]

    def _keep(self) -> None:
        while True:
            began = time.monotonic()
            try:
                self._step()
            except Exception as error:  # noqa: BLE001 (a thread has nobody to raise to; the next round may do)
                logging.getLogger("hrmdoc").warning("hrmdoc: %s: %s", type(error).__name__, error)
            took = time.monotonic() - began
            time.sleep(max(EVERY_S, took / SHARE - took))

    def _step(self) -> None:
        """Examines every run that is new or was written since it was last examined."""
        groups = {key_of(group.folder): group for group in self._roots.runs()}
        for key in self._entries.keys() - groups.keys():
            del self._entries[key]
        for (key, group), stamp in zip(groups.items(), stamps_of(list(groups.values())), strict=True):
            known = self._entries.get(key)
            if known is not None and known.stamp == stamp:
                continue
            row, name = row_of(group, self._roots), self._roots.name(group.folder)
            version = 1 if known is None else known.version + 1
            with self._lock:
                self._entries[key] = Entry(key, name, group, stamp, row, version)
        self._searched = True
