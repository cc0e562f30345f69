"""`hrmdoc alerts test|list|retry|acknowledge`"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.errors import UsageError

if TYPE_CHECKING:
    from hrmdoc.alerts.message import Message
    from hrmdoc.alerts.outbox import Outbox
    from hrmdoc.routes import Route
    from hrmdoc.settings import Settings


@click.group("alerts")
def command() -> None:
    """Where alerts go: the routes under [alerts] in hrmdoc.toml, and what waits for delivery.

    `watch` and `run` send them. What a target did not take is kept on disk and tried again.
    """


@command.command("test")
def test() -> int:
    """Send one alert to each target, and say of each whether it was taken.

    PagerDuty gets one that resolves itself at once, an Alertmanager one that ends after a minute. The exit
    status is 1 where one was not taken.
    """
    from hrmdoc.alerts import trial

    settings = _settings()
    failed = 0
    for route, origin in _routes(settings):
        why = trial.send(route, origin, settings.alerts.link)
        failed += bool(why)
        click.echo(f"{route.name} ({route.target}): {'not delivered: ' + why if why else 'delivered'}")
    return int(failed > 0)


@command.command("list")
def list_() -> int:
    """Show every route, and what waits or was given up."""
    for route, origin in _routes(_settings()):
        click.echo(_described(route))
        outbox = _outbox(route, origin)
        if (failing := outbox.failing()).count:
            rest = max(0, round(failing.until - time.time()))
            tries = f"{failing.count} {'try' if failing.count == 1 else 'tries'} in a row"
            click.echo(f"  failing: {failing.why} ({tries}; the next in {rest} s)")
        for _, message in outbox.waiting():
            click.echo(f"  waits: {_message_line(message)}")
        for _, message in outbox.given_up():
            click.echo(f"  given up: {_message_line(message)}")
    return 0


@command.command("retry")
def retry() -> int:
    """Send what waits, and what was given up, now. The exit status is 1 where something still waits."""
    left = 0
    for route, origin in _routes(_settings()):
        left += _sent(route, _outbox(route, origin), origin)
    return int(left > 0)


@command.command("acknowledge")
@click.argument("key")
def acknowledge(key: str) -> int:
    """Acknowledge the alert with this KEY, which stands in its text, to PagerDuty."""
    from hrmdoc.alerts import trial

    routes = [(route, origin) for route, origin in _routes(_settings()) if route.target == "pagerduty"]
    if not routes:
        raise UsageError("no route has the target pagerduty, and no other knows of acknowledging")
    left = 0
    for route, origin in routes:
        outbox = _outbox(route, origin)
        outbox.put(trial.acknowledgement(key, time.time()))
        left += _sent(route, outbox, origin)
    return int(left > 0)


def _settings() -> Settings:
    from hrmdoc import settings

    found = settings.load(Path.cwd())
    if not found.alerts.routes:
        what = (
            f"[alerts] in {found.origin} does not count"
            if "alerts" in found.withheld
            else "no alert goes anywhere"
        )
        hint = (
            f"hrmdoc trust {found.origin}" if "alerts" in found.withheld else "see docs/operations/alerts.md"
        )
        raise UsageError(what, hint=hint)
    return found


def _routes(settings: Settings) -> Iterator[tuple[Route, str]]:
    from hrmdoc.alerts.alerter import checked

    for route in checked(settings.alerts, settings.alerts_origin):
        yield route, settings.alerts_origin


def _outbox(route: Route, origin: str) -> Outbox:
    from hrmdoc.alerts.alerter import folder_of
    from hrmdoc.alerts.outbox import Outbox

    return Outbox(folder_of(route, origin), route, lambda words: click.echo(f"hrmdoc: {words}", err=True))


def _sent(route: Route, outbox: Outbox, origin: str) -> int:
    """Tries what waits; how much of it was not taken."""
    from hrmdoc.alerts.targets import send

    outbox.retry()
    outbox.send_due(time.time(), lambda message: send(message, route, origin), at_once=True)
    left = len(outbox.waiting())
    click.echo(f"{route.name}: {outbox.delivered} delivered, {left} waiting")
    return left


def _described(route: Route) -> str:
    from hrmdoc.routes import shown

    where = shown(route.url) if route.url else ""
    for kind, name in (("variable", route.url_env), ("file", route.url_file)):
        where = f"the address in {kind} {name}" if name else where
    quiet = f", quiet {' '.join(route.quiet)} below {route.quiet_minimum}" if route.quiet else ""
    parts = (route.target, *((where,) if where else ()), f"from {route.minimum} on{quiet}")
    return f"{route.name}: {', '.join(parts)}"


def _message_line(message: Message) -> str:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(message.at))
    return f"{at}  {message.title}  {message.key}"
