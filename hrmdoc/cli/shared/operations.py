"""Where `watch` and `run` report a run, other than on the terminal."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urldefrag

import click
import msgspec

from hrmdoc.beats import VARIABLE, is_redis, target

if TYPE_CHECKING:
    from hrmdoc.alerts.alerter import Alerter
    from hrmdoc.live.many.news import News
    from hrmdoc.live.watch import Observer, Update, Watch
    from hrmdoc.metrics import Metrics
    from hrmdoc.settings import Settings


F = TypeVar("F", bound=Callable[..., Any])


def metrics_options(function: F) -> F:
    """`--metrics`, `--metrics-file`: for Prometheus."""
    function = click.option(
        "--metrics-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Keep metrics in this file, for node-exporter's textfile collector.",
    )(function)
    return click.option("--metrics", metavar="[HOST]:PORT", help="Answer Prometheus here, such as :9464.")(
        function
    )


def measure_option(function: F) -> F:
    """`--measure`: how often the machine is measured."""
    return click.option(
        "--measure",
        type=click.FloatRange(min=0),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        callback=lambda _context, _option, seconds: seconds or None,
        help="Between two samples of GPU, memory, disk and processes of the run; 0: none.",
    )(function)


def heartbeat_option(function: F) -> F:
    """`--heartbeat`: where the run says that it lives."""
    return click.option(
        "--heartbeat",
        metavar="PLACE",
        help=f"Where the run says that it lives: FOLDER or redis://HOST:PORT/DB#KEY [default: ${VARIABLE}].",
    )(function)


def named_beat(places: Sequence[str]) -> str | None:
    """Of several places the one that is read for what it says: Redis before files."""
    return next(iter(sorted(places, key=is_redis, reverse=True)), None)


def beating(settings: Settings, where: str | None, name: str = "") -> Settings:
    """The settings with the heartbeat that the command line or the environment names.

    Args:
        name: of the run, for a key in Redis that is to be said to the run itself; "" leaves it open.

    Raises:
        ConfigError: it is no such place.
    """
    found = where or os.environ.get(VARIABLE) or settings.heartbeat
    if found is None:
        return settings
    if name and is_redis(found) and not urldefrag(found).fragment:
        found += "#" + quote(f"hrmdoc:heartbeat:{name}")
    target(found, name)
    return msgspec.structs.replace(settings, heartbeat=found)


@contextmanager
def beating_by_environment(settings: Settings) -> Iterator[None]:
    """Lets what is started meanwhile know where it is to say that it lives."""
    before, where = os.environ.get(VARIABLE), settings.heartbeat
    foreign = where is not None and Path(where).is_file() and Path(where).suffix != ".json"
    if where is not None and not foreign:  # a file of the user's own is never written
        os.environ[VARIABLE] = where
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


@contextmanager
def reporting(
    settings: Settings,
    metrics: str | None = None,
    metrics_file: Path | None = None,
    *,
    restarts: bool = False,
) -> Iterator[Observer]:
    """Shows every update of a watch to the user's targets and to Prometheus; at the end the targets get a
    last, bounded try.

    Args:
        restarts: another run that is watched is the same command, started again.

    Raises:
        ConfigError: a target can never be reached.
        UsageError: the metrics cannot be shown.
    """
    from hrmdoc.alerts.alerter import Alerter

    alerter = Alerter(settings.alerts, settings.alerts_origin)
    shown = _metrics(alerter, metrics, metrics_file)
    alerter.start()

    def observe(watch: Watch, update: Update) -> None:
        alerter.follow(watch.following, watch.incidents.latest.values(), again=restarts)
        alerter.notify(update.changes)
        if shown is not None:
            shown.see(watch, update)

    try:
        yield observe
    finally:
        alerter.close()
        if shown is not None:
            shown.close()


@contextmanager
def reporting_many(
    settings: Settings, metrics: str | None, metrics_file: Path | None, home: Path | None
) -> Iterator[Callable[[News], None]]:
    """As `reporting`, of the runs of a fleet; `home`: where watchers keep together what is to be reported.

    Raises:
        ConfigError: a target can never be told.
        UsageError: the metrics cannot be shown.
    """
    from hrmdoc.alerts.alerter import Alerter

    alerter = Alerter(settings.alerts, settings.alerts_origin, home=home)
    shown = _metrics(alerter, metrics, metrics_file, many=True)
    alerter.start()

    def observe(news: News) -> None:
        watch = news.watch
        if watch is None:
            return
        if news.update is not None and watch.incidents.latest:
            alerter.follow_beside(watch.following, watch.incidents.latest.values())
        if news.kind == "elsewhere":
            alerter.leave(watch.following)
        if shown is not None and news.kind in ("examined", "treated") and news.update is not None:
            shown.see(watch, news.update)
        elif shown is not None:
            shown.forget(watch)

    try:
        yield observe
    finally:
        alerter.close()
        if shown is not None:
            shown.close()


def _metrics(
    alerter: Alerter, address: str | None, file: Path | None, *, many: bool = False
) -> Metrics | None:
    if address is None and file is None:
        return None
    from hrmdoc.metrics import Metrics

    shown = Metrics(alerter.standing, many=many)
    if address is not None:
        host, port = shown.serve(address)
        click.echo(f"hrmdoc: metrics at http://{host or platform.node()}:{port}/metrics", err=True)
    if file is not None:
        shown.write_to(file)
    return shown
