"""How watched runs stand, for Prometheus: on a port, or in a file that node-exporter reads (extra
`metrics`)."""

from __future__ import annotations

import importlib.util
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import UsageError
from hrmdoc.paths import replace_file
from hrmdoc.record.records import Tick
from hrmdoc.record.series import Series
from hrmdoc.reports.status_line import RECENT, speed
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from prometheus_client import Metric

    from hrmdoc.live.incidents import Incident
    from hrmdoc.live.watch import Update, Watch

VERDICTS = ("healthy", "info", "warning", "critical", "incomplete", "no_data")
WRITE_EVERY_S = 1.0
SPARE = 100
"""The file is written again after this many times what that took at least, as with a thousand runs."""
Queue = Callable[[], Iterable[tuple[str, int, int, int]]]
"""Of each route: its name, how many alerts wait, how many were delivered, how often it failed in a row."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a run stood when it was examined last."""

    run: str
    verdict: str
    open: tuple[Incident, ...]
    numbers: dict[str, float]
    at: float
    steady: float = field(default_factory=time.monotonic)


class Metrics:
    """What Prometheus is told of the runs that this process watches.

    Args:
        queue: how the targets of alerts stand.
        many: several runs are watched at once; else a run takes the place of the one before.
    """

    def __init__(self, queue: Queue = lambda: (), *, many: bool = False) -> None:
        if importlib.util.find_spec("prometheus_client") is None:
            hint = "pip install 'hrmdoc[metrics]'"
            raise UsageError("metrics need the package prometheus_client", hint=hint)
        from prometheus_client import CollectorRegistry

        self._queue = queue
        self._many = many
        self._standing: dict[str, _Standing] = {}
        self._actions: Counter[tuple[str, str, str]] = Counter()
        self._pause_s = WRITE_EVERY_S
        self._watching = True
        self._written = -math.inf
        self._file: Path | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def serve(self, address: str) -> tuple[str, int]:
        """Answers on `HOST:PORT`, or on every interface where it is `:PORT`.

        Returns:
            Host and port; 0 asks for any port.

        Raises:
            UsageError: it is no address, or somebody else has it.
        """
        from prometheus_client import start_http_server

        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"--metrics wants [HOST]:PORT, not {address!r}", hint="--metrics :9464")
        try:
            server, _ = start_http_server(int(port), host.strip("[]") or "0.0.0.0", registry=self.registry)  # noqa: S104 (asked for)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"--metrics {address}: cannot listen there: {why}") from error
        return host, int(server.server_port)

    def write_to(self, file: Path) -> None:
        """Keeps them in this file too.

        Raises:
            UsageError: it cannot be written.
        """
        self._file = file
        if not self._write():
            raise UsageError("--metrics-file cannot be written", file=file)

    def see(self, watch: Watch, update: Update) -> None:
        """Takes in one update of a watch."""
        run = _label(watch)
        if not self._many and run not in self._standing:
            self._standing, self._actions = {}, Counter()
        self._actions.update((run, action.remedy, action.status) for action in update.actions)
        open_, numbers = tuple(watch.incidents.open), dict(_progress_numbers(update))
        standing = _Standing(run, update.analysis.verdict, open_, numbers, time.time())
        self._standing = {**self._standing, run: standing}  # another thread reads it meanwhile
        if time.monotonic() - self._written >= self._pause_s:
            self._write()

    def forget(self, watch: Watch) -> None:
        """A run that nobody watches here any more is told of no more."""
        run = _label(watch)
        self._standing = {name: one for name, one in self._standing.items() if name != run}

    def close(self) -> None:
        """Says in the file that nobody watches any more."""
        self._watching = False
        self._write()

    def describe(self) -> list[Metric]:
        """Nothing: a registry asks for it before the first update."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All series as they are now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        standing = [*self._standing.values()]
        if standing:
            yield from self._of_runs(standing, GaugeMetricFamily)
            actions = CounterMetricFamily("hrmdoc_actions", "What was done to the run.", labels=_ACTION)
            for labels, count in self._actions.items():
                actions.add_metric(list(labels), count)
            yield actions
        waiting = GaugeMetricFamily("hrmdoc_alerts_waiting", "Alerts not delivered yet.", labels=["route"])
        failing = GaugeMetricFamily("hrmdoc_alerts_failures", "Failures in a row.", labels=["route"])
        sent = CounterMetricFamily("hrmdoc_alerts_delivered", "Alerts delivered.", labels=["route"])
        for route, queued, delivered, failures in self._queue():
            waiting.add_metric([route], queued)
            failing.add_metric([route], failures)
            sent.add_metric([route], delivered)
        yield from (waiting, failing, sent)

    def _of_runs(self, standing: Sequence[_Standing], gauge: Callable[..., Any]) -> Iterator[Metric]:
        watching = gauge("hrmdoc_watching", "Whether somebody watches the run.", labels=["run"])
        examined = gauge("hrmdoc_last_examined_timestamp_seconds", "When it was examined.", labels=["run"])
        verdicts = gauge("hrmdoc_verdict", "The verdict on the run: the one that is 1.", labels=_VERDICT)
        incidents = gauge("hrmdoc_incident_open", "Incidents that are open.", labels=_INCIDENT)
        numbers = {name: gauge(f"hrmdoc_{name}", what, labels=["run"]) for name, what in _HELP.items()}
        for one in standing:
            watching.add_metric([one.run], float(self._watching))
            examined.add_metric([one.run], one.at)
            for verdict in VERDICTS:
                verdicts.add_metric([one.run, verdict], float(verdict == one.verdict))
            for incident in one.open:
                incidents.add_metric([one.run, incident.symptom, incident.severity, incident.cause], 1.0)
            passed = time.monotonic() - one.steady if self._watching else 0.0
            for name, value in one.numbers.items():
                numbers[name].add_metric([one.run], value + (passed if name in _AGES else 0.0))
        yield from (watching, examined, verdicts, incidents)
        yield from (family for family in numbers.values() if family.samples)

    def _write(self) -> bool:
        """Whether the file holds the newest; a disk that is full is tried again at the next update."""
        from prometheus_client import generate_latest

        if self._file is None:
            return True
        began = time.monotonic()
        done = replace_file(self._file, generate_latest(self.registry).decode())
        self._written = time.monotonic()
        self._pause_s = max(WRITE_EVERY_S, SPARE * (self._written - began))
        return done


_ACTION = ["run", "remedy", "status"]
_VERDICT = ["run", "verdict"]
_INCIDENT = ["run", "incident", "severity", "cause"]
_AGES = ("heartbeat_age_seconds", "quiet_seconds")
_HELP = {
    "step": "The newest step.",
    "steps_planned": "Steps that the run is to take.",
    "loss": "The newest training loss; NaN where it is not finite.",
    "reward": "The newest reward.",
    "steps_per_second": "Steps a second over the last points.",
    "throughput": "The newest throughput, in the unit that the run logs.",
    "tokens_per_second": "The newest tokens a second.",
    "heartbeat_age_seconds": "Seconds since the heartbeat was renewed.",
    "quiet_seconds": "Seconds since the run made progress.",
}
_ROLES = {
    "loss": "train.loss",
    "reward": "rl.reward",
    "throughput": "throughput",
    "tokens_per_second": "tokens_per_second",
}


def _label(watch: Watch) -> str:
    """What a run is called: a name may hold any bytes, a label not."""
    return clean(watch.following, 1000).encode(errors="backslashreplace").decode()


def _progress_numbers(update: Update) -> Iterator[tuple[str, float]]:
    """What can be known of the run now."""
    run, progress = update.analysis.run, update.analysis.run.progress
    if progress is not None:
        yield "step", float(progress.steps[-1])
        pace = speed(progress)
        if math.isfinite(pace := pace if math.isfinite(pace) else _watched(progress, run.clock)):
            yield "steps_per_second", pace
    planned = update.analysis.situation.facts.get("run.total_steps")
    if isinstance(planned, int | float):
        yield "steps_planned", float(planned)
    for name, role in _ROLES.items():
        if (series := run.best(role)) is not None:
            yield name, float(series.values[-1])
    clock = run.clock or Tick()
    ages = (("heartbeat_age_seconds", clock.heartbeat), ("quiet_seconds", clock.quiet))
    yield from ((name, age) for name, age in ages if math.isfinite(age))


def _watched(series: Series, clock: Tick | None) -> float:
    """Steps a second of a log without times, by when its points arrived here; NaN where that is not known."""
    steps = series.steps[-RECENT:]
    if clock is None or not clock.usual > 0 or len(steps) < 2:
        return math.nan
    return max(0.0, float(steps[-1] - steps[0])) / (len(steps) - 1) / clock.usual
