"""How a watched run stands, for Prometheus: on a port, or in a file that node-exporter reads (extra
`metrics`)."""

from __future__ import annotations

import importlib.util
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
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
    """What Prometheus is told of the run that this process watches.

    Args:
        queue: how the targets of alerts stand.
    """

    def __init__(self, queue: Queue = lambda: ()) -> None:
        if importlib.util.find_spec("prometheus_client") is None:
            hint = "pip install 'hrmdoc[metrics]'"
            raise UsageError("metrics need the package prometheus_client", hint=hint)
        from prometheus_client import CollectorRegistry

        self._queue = queue
        self._standing: _Standing | None = None
        self._actions: Counter[tuple[str, str]] = Counter()
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
        self._actions.update((action.remedy, action.status) for action in update.actions)
        run = clean(watch.following, 1000).encode(errors="backslashreplace").decode()
        open_, numbers = tuple(watch.incidents.open), dict(_progress_numbers(update))
        self._standing = _Standing(run, update.analysis.verdict, open_, numbers, time.time())
        if time.monotonic() - self._written >= WRITE_EVERY_S:
            self._write()

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

        standing = self._standing
        if standing is not None:
            yield from self._of_run(standing, GaugeMetricFamily)
            actions = CounterMetricFamily("hrmdoc_actions", "What was done to the run.", labels=_ACTION)
            for (remedy, status), count in self._actions.items():
                actions.add_metric([standing.run, remedy, status], count)
            yield actions
        waiting = GaugeMetricFamily("hrmdoc_alerts_waiting", "Alerts not delivered yet.", labels=["route"])
        failing = GaugeMetricFamily("hrmdoc_alerts_failures", "Failures in a row.", labels=["route"])
        sent = CounterMetricFamily("hrmdoc_alerts_delivered", "Alerts delivered.", labels=["route"])
        for route, queued, delivered, failures in self._queue():
            waiting.add_metric([route], queued)
            failing.add_metric([route], failures)
            sent.add_metric([route], delivered)
        yield from (waiting, failing, sent)

    def _of_run(self, standing: _Standing, gauge: Callable[..., Any]) -> Iterator[Metric]:
        run = standing.run
        yield _gauge(gauge, "watching", "Whether somebody watches the run.", run, float(self._watching))
        yield _gauge(gauge, "last_examined_timestamp_seconds", "When it was examined.", run, standing.at)
        verdicts = gauge("hrmdoc_verdict", "The verdict on the run: the one that is 1.", labels=_VERDICT)
        for verdict in VERDICTS:
            verdicts.add_metric([run, verdict], float(verdict == standing.verdict))
        yield verdicts
        incidents = gauge("hrmdoc_incident_open", "Incidents that are open.", labels=_INCIDENT)
        for one in standing.open:
            incidents.add_metric([run, one.symptom, one.severity, one.cause], 1.0)
        yield incidents
        passed = time.monotonic() - standing.steady if self._watching else 0.0
        for name, value in standing.numbers.items():
            ages = name in ("heartbeat_age_seconds", "quiet_seconds")
            yield _gauge(gauge, name, _HELP[name], run, value + passed if ages else value)

    def _write(self) -> bool:
        """Whether the file holds the newest; a disk that is full is tried again at the next update."""
        from prometheus_client import generate_latest

        self._written = time.monotonic()
        return self._file is None or replace_file(self._file, generate_latest(self.registry).decode())


_ACTION = ["run", "remedy", "status"]
_VERDICT = ["run", "verdict"]
_INCIDENT = ["run", "incident", "severity", "cause"]
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


def _gauge(gauge: Callable[..., Any], name: str, what: str, run: str, value: float) -> Any:
    found = gauge(f"hrmdoc_{name}", what, labels=["run"])
    found.add_metric([run], value)
    return found


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
