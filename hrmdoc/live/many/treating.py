"""Remedies of many runs, in threads: a run answers at the end of its step, and no other waits for that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hrmdoc.live.many.entry import Entry
from hrmdoc.live.watch import Update, Watch

AT_ONCE = 8


class Treating:
    """Treats runs; while one is treated nobody else reads or examines it."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._begun: dict[str, tuple[Entry, Watch, Update]] = {}

    def begin(self, entry: Entry, watch: Watch, update: Update) -> None:
        """Treats a run by what was found, as far as there is anything to treat or to verify."""
        if entry.treated is not None or not watch.treats(update.analysis):
            return
        self._pool = self._pool or ThreadPoolExecutor(AT_ONCE, "treatment")
        entry.treated = self._pool.submit(watch.treat, update.analysis)
        self._begun[entry.name] = entry, watch, update

    def done(self) -> list[tuple[Entry, Watch, Update]]:
        """What was treated since the last call, and what was done; a treatment that broke did
        nothing, and the next examination begins it anew."""
        over = [one for one in self._begun.values() if one[0].treated is None or one[0].treated.done()]
        found = []
        for entry, watch, update in over:
            del self._begun[entry.name]
            future, entry.treated = entry.treated, None
            if future is not None and not future.cancelled() and future.exception() is None:
                found.append((entry, watch, Update(update.analysis, [], actions=future.result())))
        return found

    def close(self) -> list[tuple[Entry, Watch, Update]]:
        """Waits for what was begun, so that it stands in the record; nothing new begins."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        return self.done()
