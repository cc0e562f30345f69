"""What `watch` and `run` tell of a run elsewhere than on the terminal."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from hrmdoc.alerts.alerter import Alerter
    from hrmdoc.live.watch import Look, Observer, Watch
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


@contextmanager
def telling(
    settings: Settings, metrics: str | None = None, metrics_file: Path | None = None
) -> Iterator[Observer]:
    """Shows every look of a watch to the targets of the user and to Prometheus; at the end the targets get a
    last, bounded try.

    Raises:
        ConfigError: a target can never be told.
        UsageError: the metrics cannot be shown.
    """
    from hrmdoc.alerts.alerter import Alerter

    alerter = Alerter(settings.alerts, settings.alerts_origin)
    shown = _metrics(alerter, metrics, metrics_file)
    alerter.start()

    def observe(watch: Watch, look: Look) -> None:
        alerter.follow(watch.following, watch.incidents.latest.values())
        alerter.tell(look.changes)
        if shown is not None:
            shown.see(watch, look)

    try:
        yield observe
    finally:
        alerter.close()
        if shown is not None:
            shown.close()


def _metrics(alerter: Alerter, address: str | None, file: Path | None) -> Metrics | None:
    if address is None and file is None:
        return None
    from hrmdoc.metrics import Metrics

    shown = Metrics(alerter.standing)
    if address is not None:
        host, port = shown.serve(address)
        click.echo(f"hrmdoc: metrics at http://{host or platform.node()}:{port}/metrics", err=True)
    if file is not None:
        shown.write_to(file)
    return shown
