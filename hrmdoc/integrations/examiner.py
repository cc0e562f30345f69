r"""The examining side of a monitor: rows of metrics become records, and the run is examined as `watch`
does it.

Everything here runs in the monitor's own thread. Since an examination holds Python's lock now and then,
examinations are spaced so that they take no more than a share of one core: what they cost is measured.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hrmdoc.analysis import Analysis, AnalysisSession
from hrmdoc.integrations.given import Row
from hrmdoc.live.incidents import Incident, IncidentLog
from hrmdoc.live.pulse import Pulse
from hrmdoc.paths import open_kept, replace_file
from hrmdoc.readers.support.budget import Budget
from hrmdoc.record.records import Points, Record, Tick
from hrmdoc.settings import Settings
from hrmdoc.text.clean import clean

SOURCE = "hrmdoc.Monitor"
SETTLE_S = 1.0
"""Seconds that a warning must last before it is reported, as for `watch`."""
QUIET_LOOK_S = 15.0
"""Seconds after which a quiet run is examined all the same: silence is a symptom too."""
AT_LEAST_S, AT_MOST_S = 1.0, 60.0
"""Seconds between two examinations."""

MOST_NAMED = 20
"""Metrics that are told to be passed over; names may be made up at every step."""
_log = logging.getLogger("hrmdoc")


class Examiner:
    """Examines one run.

    Args:
        name: what reports call the run.
        settings: by default those nearest to the working folder.
        facts: canonical facts that the caller states.
        folder: where the diagnosis and the incidents are kept; None keeps none.
        share: of one core that examinations may take.

    Raises:
        HrmdocError: the settings or the user's rules are wrong.
    """

    def __init__(
        self,
        name: str,
        *,
        settings: Settings | None = None,
        facts: Mapping[str, Any] | None = None,
        folder: Path | None = None,
        share: float = 0.002,
    ) -> None:
        self._session = AnalysisSession(name, settings=settings, facts=facts)
        self._file = str(folder / "metrics.jsonl") if folder else ""
        self._folder, self._share = folder, share
        kept = folder / "incidents.jsonl" if folder else None
        self._incidents = IncidentLog(kept, SETTLE_S, self._session.book)
        self._pulse = Pulse(self._session.run, lambda: ())
        self._rows = _line_count(self._file) if self._file else 0
        self._budget = Budget(SOURCE, 0)
        self._broken: set[str] = set()
        self._passed_over: set[str] = set()
        self._urgent = False
        self._spent = time.thread_time()
        """Of this thread's CPU time, what earlier examinations were charged with. All between two of them
        counts, and loading the rules does not."""
        self._version, self._looked, self._next = -1, -math.inf, -math.inf
        self.analysis: Analysis | None = None

    @property
    def open(self) -> list[Incident]:
        """Incidents that are open now, the earliest first."""
        return self._incidents.open

    def take(self, given: Iterable[Row | Record]) -> None:
        """Takes in what the loop gave since the last call."""
        columns: dict[str, list[tuple[int, float, float, int]]] = {}
        for one in given:
            if not isinstance(one, Row):
                self._session.run.add(one)
                continue
            self._rows += 1
            found = dict(numbers(one.metrics))
            if len(found) < len(one.metrics):
                self._say_passed_over(one.metrics, found)
            for name, value in found.items():
                columns.setdefault(name, []).append((one.step, value, one.time, self._rows))
        for points in self._budget.limited(self._points(name, cells) for name, cells in columns.items()):
            self._session.run.add(points)
        self._pulse.feel()

    def _say_passed_over(self, metrics: Mapping[str, Any], found: Mapping[str, float]) -> None:
        """Says which metrics are not examined, each of them once; None is a value that is not there yet."""
        named = {_name(name): value for name, value in metrics.items() if value is not None}
        news = [name for name in named if name not in found and name not in self._passed_over]
        news = news[: MOST_NAMED - len(self._passed_over)]
        if news:
            self._passed_over.update(news)
            told = ", ".join(f"{clean(name, 80)!r} ({type(named[name]).__name__})" for name in news)
            with suppress(Exception):  # a handler of the training's
                _log.warning("hrmdoc: passed over, since it is no single number: %s", told)

    def _points(self, name: str, cells: list[tuple[int, float, float, int]]) -> Points:
        steps, values, times, lines = zip(*cells, strict=True)
        found = np.array(values, np.float64)
        if name not in self._broken and not np.isfinite(found).all():
            self._broken.add(name)
            self._urgent = True  # the first value of a metric that is no number does not wait for its turn
        return Points(
            name,
            np.array(steps, np.int64),
            found,
            np.array(times, np.float64),
            self._file,
            np.array(lines, np.int64),
            precision=3,
            source=SOURCE,
        )

    def due(self) -> bool:
        """Whether it is time to examine."""
        now = time.monotonic()
        if self._urgent:
            return True
        news = self._session.run.version != self._version or self._incidents.due(time.time())
        return now >= self._next and (news or now - self._looked >= QUIET_LOOK_S)

    def examine(self, *, closed: bool = False) -> list[Incident]:
        """Examines the run; what opened, changed or is over since the last examination.

        Args:
            closed: the run has ended; nothing is waited for any more.
        """
        for damage in self._budget.rest() if closed else ():
            self._session.run.add(damage)
        self._version, self._urgent = self._session.run.version, False
        self._session.run.clock = Tick() if closed else self._pulse.tick()
        self.analysis = analysis = self._session.diagnose(closed=closed, prescriptions=closed)
        changes = self._incidents.update(analysis, time.time(), closed=closed)
        if self._folder is not None and (changes or closed):
            from hrmdoc.reports.as_json import dumps

            replace_file(self._folder / "diagnosis.json", dumps(analysis))
        first, self._looked = math.isinf(self._looked), time.monotonic()
        spent, self._spent = time.thread_time() - self._spent, time.thread_time()
        rest = 0.0 if first else spent / self._share  # the first examination loads what others find loaded
        self._next = self._looked + min(max(AT_LEAST_S, rest), AT_MOST_S)
        return changes


def _line_count(file: str) -> int:
    """How many lines an earlier run in the same folder left."""
    try:
        with open_kept(Path(file)) as rows:
            return sum(block.count(b"\n") for block in iter(lambda: rows.read(1 << 20), b""))
    except OSError:
        return 0


def _name(name: object) -> str:
    """The name of a metric, which may be any object."""
    try:
        return str(name)
    except Exception:  # noqa: BLE001 (as below)
        return f"a {type(name).__name__}"


def numbers(metrics: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    """The metrics that are one number each, tensors and arrays of one element among them."""
    for name, value in metrics.items():
        if type(value) is float and type(name) is str:
            yield name, value
            continue
        try:
            if isinstance(value, str | bytes):
                continue
            item = getattr(value, "item", None)
            yield str(name), float(value if item is None else item())
        except (Exception, SystemExit):  # noqa: BLE001 (a tensor may raise what it likes; it is no number)
            continue
