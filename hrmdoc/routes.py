"""Routes of alerts, as `[alerts]` in the settings states them: what is sent where, and when."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from hrmdoc.errors import ConfigError

Severity = Literal["info", "warning", "critical"]
Target = Literal["webhook", "command", "apprise", "pagerduty", "alertmanager"]
ORDER = ("info", "warning", "critical")
_NOON = r"([01]\d|2[0-3]):[0-5]\d"
Hours = Annotated[str, Meta(pattern=rf"^{_NOON}-{_NOON}$")]
Name = Annotated[str, Meta(pattern=r"^([a-z0-9][a-z0-9-]{0,39})?$")]
Seconds = Annotated[float, Meta(ge=0.0, le=86_400.0)]
WAIT_S, WINDOW_S = 5.0, 300.0
_AT_ONCE = {"group": "incident", "wait_s": 0.0, "window_s": 0.0}
_GROUPS_ITSELF: dict[str, dict[str, Any]] = {"alertmanager": _AT_ONCE}
"""An Alertmanager groups and waits by its own settings."""


class Route(Struct, forbid_unknown_fields=True, frozen=True):
    """One target, and what it is sent.

    Attributes:
        url, url_env, url_file: the address itself, or where it stands: an address may be a secret.
        token_env, token_file: where the secret stands: PagerDuty's routing key, or the bearer token of a
            webhook or an Alertmanager.
        command: a command line; it gets the alert as JSON on standard input.
        minimum: the least severity that is sent.
        quiet: hours, such as `22:00-07:00`, in which only what is at least `quiet_minimum` is sent; the rest
            waits for their end. In `zone`, else in this machine's.
        group: one message for all incidents of a run and cause, or one for each incident.
        wait_s: seconds that the first message of a group waits for others to join it.
        window_s: seconds between two messages of a group, unless it became more severe.
        recovery: whether the end is sent.
    """

    target: Target
    name: Name = ""
    url: str | None = None
    url_env: str | None = None
    url_file: str | None = None
    token_env: str | None = None
    token_file: str | None = None
    command: str | None = None
    minimum: Severity = "warning"
    quiet: tuple[Hours, ...] = ()
    quiet_minimum: Severity = "critical"
    zone: str | None = None
    group: Literal["cause", "incident"] = "cause"
    wait_s: Seconds = WAIT_S
    window_s: Seconds = WINDOW_S
    recovery: bool = True

    def __repr__(self) -> str:
        """Without the address, which may be a secret."""
        return f"Route({self.name!r}, {self.target!r})"

    def accepts(self, severity: str) -> bool:
        """Whether it is sent incidents so severe."""
        return ORDER.index(severity) >= ORDER.index(self.minimum)

    def holds(self, severity: str, now: float) -> bool:
        """Whether what is so severe waits for the end of quiet hours at `now`, Unix seconds."""
        if not self.quiet or ORDER.index(severity) >= ORDER.index(self.quiet_minimum):
            return False
        import zoneinfo  # few have quiet hours

        zone = zoneinfo.ZoneInfo(self.zone) if self.zone else None
        clock = datetime.datetime.fromtimestamp(now, zone).strftime("%H:%M")
        return any(_within(clock, hours) for hours in self.quiet)


class Alerts(Struct, forbid_unknown_fields=True, frozen=True):
    """Where `watch` and `run` report incidents beside the terminal; nothing is sent unless a target stands
    here.

    Attributes:
        command: gets each incident as JSON on standard input.
        webhook: gets it as the body of a POST.
        minimum: the least severity that these two are sent.
        link: an address that alerts carry; `{run}` in it stands for the path of the run.
        route: further targets.
    """

    command: str | None = None
    webhook: str | None = None
    minimum: Severity = "warning"
    link: str | None = None
    route: tuple[Route, ...] = ()

    def __repr__(self) -> str:
        """Without addresses, which may be secrets."""
        return f"Alerts({', '.join(route.name or route.target for route in self.routes)})"

    @property
    def routes(self) -> tuple[Route, ...]:
        """All routes, each with a name: that of its target where it has none, with a number where that is
        taken."""
        found: dict[str, Route] = {}
        for route in (*self._plain(), *self.route):
            base = route.name or route.target
            name, number = base, 2
            while name in found and not route.name:
                name, number = f"{base}-{number}", number + 1
            if name in found:
                raise ConfigError(f"alerts.route: two routes are named {name!r}")
            found[name] = msgspec.structs.replace(route, name=name, **_GROUPS_ITSELF.get(route.target, {}))
        return tuple(found.values())

    def _plain(self) -> tuple[Route, ...]:
        """`command` and `webhook`, which are sent every change by itself and at once."""

        def plain(target: Target, **where: str) -> Route:
            settings: dict[str, Any] = {"minimum": self.minimum, **_AT_ONCE, **where}
            return Route(target, **settings)

        command = () if self.command is None else (plain("command", command=self.command),)
        return command if self.webhook is None else (*command, plain("webhook", url=self.webhook))


USER_IN_ADDRESS = (
    "its address holds a user or a password, which no request carries; token_env or token_file name a token"
)


def check(route: Route, origin: str = "") -> None:
    """Refuses a route that can never reach anybody; `origin` is the file of the settings.

    Raises:
        ConfigError: naming the route and what it lacks or has too much. No address stands in it.
    """
    wrong = _addressed(route) or _authorized(route) or _timed(route)
    if wrong:
        raise ConfigError(f"alerts: route {route.name!r}: {wrong}", file=origin or None)


def _addressed(route: Route) -> str:
    """What is wrong with the place that it names."""
    given = [name for name in ("url", "url_env", "url_file") if getattr(route, name) is not None]
    if route.target == "command":
        return "a command takes no address" if given else _worded(route.command or "")
    if route.command is not None:
        return f"`command` does not belong to {route.target}"
    if len(given) > 1:
        return f"one of {', '.join(given)} is enough"
    if not given and route.target != "pagerduty":
        return "`url`, `url_env` or `url_file` is missing"
    if route.url is None or route.target == "apprise":
        return ""
    return "`url` must be an http or https address" if not is_web(route.url) else _with_user(route.url)


def _with_user(url: str) -> str:
    """What is wrong with an address that holds a user and a password, which are sent to nobody."""
    return USER_IN_ADDRESS if "@" in url.partition("://")[2].partition("/")[0] else ""


_OF_A_SHELL = frozenset({"|", "||", "&&", "&", ";", "<", ">", ">>", "2>", "2>>", "2>&1", "&>"})
"""Words that mean something to a shell alone; a `;` may end a word, too."""


def _worded(command: str) -> str:
    """What is wrong with a command line."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"`command` is no command line: {error}"
    if not words:
        return "`command` is missing"
    shells = next(
        (word for word in words if word in _OF_A_SHELL or (word.endswith(";") and len(word) > 1)), ""
    )
    return f"`command` is run without a shell, and {shells!r} is for one: sh -c '...'" if shells else ""


def _authorized(route: Route) -> str:
    """What is wrong with its secret."""
    tokens = [name for name in ("token_env", "token_file") if getattr(route, name) is not None]
    if len(tokens) > 1:
        return "token_env or token_file is enough"
    if route.target == "pagerduty" and not tokens:
        return "`token_env` or `token_file` must name where the routing key stands"
    return f"a {route.target} takes no token" if tokens and route.target in ("command", "apprise") else ""


def _timed(route: Route) -> str:
    """What is wrong with its quiet hours."""
    import zoneinfo

    try:
        if route.zone is not None:
            zoneinfo.ZoneInfo(route.zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"no time zone {route.zone!r}"
    return ""


def is_web(url: str) -> bool:
    """Whether it is an address that a POST can go to."""
    return url.startswith(("http://", "https://"))


def shown(url: str) -> str:
    """An address without what may be secret in it: the scheme and host alone."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address"
    return f"{parts.scheme}://{host}{port}/…" if host else f"{parts.scheme or '?'}://…"


def secret_file(path: str, origin: str) -> Path:
    """The file that `url_file` or `token_file` names: from the folder of the settings, or from home by
    `~`."""
    return Path(origin).parent / Path(path).expanduser()


def _within(clock: str, hours: str) -> bool:
    begin, end = hours.split("-")
    return begin <= clock < end if begin <= end else clock >= begin or clock < end
