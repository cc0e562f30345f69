"""How these tests read a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from hrmdoc import rulebook
from hrmdoc.readers import text
from hrmdoc.readers.support.base import Context
from hrmdoc.record.run import Run
from hrmdoc.roles.spelled import names_of_settings

Read = Callable[..., Run]


@pytest.fixture
def read() -> Read:
    """Reads a log's text or bytes, in one piece or in the given ones, into a run."""

    def _read(log: str | bytes, cuts: Iterable[int] = (), **context: object) -> Run:
        data = log.encode() if isinstance(log, str) else log
        known = {"mtime": 1_767_300_000.0, "settings": names_of_settings(rulebook.load()), **context}
        session = text.open_session(Context("train.log", **known))  # type: ignore[arg-type]
        run = Run("train.log")
        start = 0
        for cut in sorted(cuts):
            run.extend(session.feed(data[start:cut]))
            start = cut
        run.extend(session.feed(data[start:]))
        run.extend(session.close())
        return run

    return _read
