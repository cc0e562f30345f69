"""Which incidents belong together, what of them a target was sent, and what it is to be sent next.

No file, no clock, no network: what is kept is kept by `ledger`, and the time is an argument.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from msgspec import Struct, field

from hrmdoc.alerts.message import Message, Status, worst_first
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import ORDER, Route

UNEXPLAINED = ("", "unknown")
STATEFUL = ("pagerduty", "alertmanager", "webhook", "command")
"""Targets that are notified of a beginning even where the end is known by then."""


class Place(Struct, frozen=True):
    """Where a run is, as each message says."""

    run: str
    host: str
    link: str


class Group(Struct):
    """Incidents that are reported together.

    Attributes:
        key: names it towards the target, from its first message to its end.
        news: Unix seconds of the earliest beginning or worsening that the target does not know of yet.
        notified: the severity that it was sent, "" while it takes nothing of this group to be open.
        told_at: Unix seconds of the last message.
        number: messages so far.
    """

    key: str
    since: float
    members: dict[str, Incident] = field(default_factory=dict)
    news: float | None = None
    notified: str = ""
    told_at: float = 0.0
    number: int = 0

    @property
    def severity(self) -> str:
        """That of the most severe member, of the open ones while there are any."""
        return worst_first(list(self.members.values()))[0].severity

    @property
    def over(self) -> bool:
        """Whether no member is open."""
        return not any(one.is_open for one in self.members.values())


class Groups:
    """The groups of one run for one route.

    Args:
        route: how they are grouped, and when sent.
        groups: what was kept of them, by name.
    """

    def __init__(self, route: Route, groups: dict[str, Group]) -> None:
        self._route = route
        self.groups = groups

    def take(self, incident: Incident, place: Place, now: float) -> bool:
        """Takes in one change, once: whether it said anything new."""
        home = self._home(incident.symptom)
        if not incident.is_open:
            return home is not None and self._end(home, incident, now)
        if not self._route.accepts(incident.severity):
            return False
        name = self._name(incident)
        if home is not None and self._route.target == "alertmanager" and home is not self.groups.get(name):
            self._end(home, replace(home.members[incident.symptom], change="resolved"), now)
            home = None  # the severity is a part of what an Alertmanager knows an alert by
        group = home or self.groups.get(name) or self._related(incident, name, now)
        if group is None:
            group = self.groups[name] = Group(_key(place, name, incident.at), incident.at)
        return self._join(group, incident, now)

    def _related(self, incident: Incident, name: str, now: float) -> Group | None:
        """Of a storm much has no cause of its own: that belongs to what began a moment before it, or to what
        begins before it was sent."""
        if self._route.group == "incident":
            return None
        if incident.cause not in UNEXPLAINED:
            for other in map(_cause, UNEXPLAINED):
                if other in self.groups and not self.groups[other].number:
                    return self.groups.setdefault(name, self.groups.pop(other))
            return None
        open_ = [one for one in self.groups.values() if not one.over]
        newest = max(open_, key=lambda one: one.since, default=None)
        if newest is None:
            return None
        heard = newest.told_at if newest.news is None else newest.news
        return newest if now - heard <= self._route.window_s else None

    def _join(self, group: Group, incident: Incident, now: float) -> bool:
        before = group.members.get(incident.symptom)
        if before is not None and before.is_open:
            if before.severity == incident.severity:
                return False
            worse = ORDER.index(incident.severity) > ORDER.index(before.severity)
        else:
            worse = True
        group.members[incident.symptom] = incident
        if (worse or self._route.group == "incident") and group.news is None:
            group.news = now
        return True

    def _end(self, group: Group, incident: Incident, now: float) -> bool:
        before = group.members[incident.symptom]
        group.members[incident.symptom] = replace(before, change="resolved", at=now, step=incident.step)
        return True

    def due(self, now: float, place: Place, *, flush: bool = False) -> Iterator[tuple[Group, Message]]:
        """What is to be sent now; `flush`: nobody will be there to send it later. `mark` each that was
        taken."""
        for group in list(self.groups.values()):
            if group.news is not None and (flush or self._ripe(group, now)):
                if not group.over or self._route.target in STATEFUL or not self._route.recovery:
                    yield group, self._message(group, "firing", place, now)
                else:
                    yield group, self._message(group, "resolved", place, now)
            if group.over and group.notified and group.news is None and self._route.recovery:
                yield group, self._message(group, "resolved", place, now)

    def standing(self, group: Group, place: Place, now: float) -> Message:
        """A group as it stands, sent or not."""
        return self._message(group, "resolved" if group.over else "firing", place, now)

    def mark(self, group: Group, message: Message) -> None:
        """The message is in the outbox: the target will know of it."""
        group.number += 1
        group.news = None
        group.notified = message.severity if message.status == "firing" else ""
        group.told_at = message.at

    def prune(self) -> None:
        """Forgets what is over and reported."""
        for name, group in list(self.groups.items()):
            if group.over and group.news is None and not (group.notified and self._route.recovery):
                del self.groups[name]

    def _ripe(self, group: Group, now: float) -> bool:
        """Whether others had the time to join, and the last message is long enough ago. A clock that was set
        back makes nothing wait longer than that."""
        assert group.news is not None
        if self._route.holds(group.severity, now):
            return False
        joining = 0 <= now - group.news < self._route.wait_s
        return not joining and not self._fresh(group, now)

    def _fresh(self, group: Group, now: float) -> bool:
        """Whether it was sent a moment ago, and got no worse since."""
        if not group.notified or ORDER.index(group.severity) > ORDER.index(group.notified):
            return False
        return 0 <= now - group.told_at < self._route.window_s

    def _home(self, symptom: str) -> Group | None:
        """The group in which the incident is open."""
        return next(
            (
                one
                for one in self.groups.values()
                if (m := one.members.get(symptom)) is not None and m.is_open
            ),
            None,
        )

    def _name(self, incident: Incident) -> str:
        if self._route.target == "alertmanager":
            return f"{incident.symptom} {incident.severity}"
        return incident.symptom if self._route.group == "incident" else _cause(incident.cause)

    def _message(self, group: Group, status: Status, place: Place, now: float) -> Message:
        return Message(
            id=f"{group.key}-{group.number}",
            key=group.key,
            status=status,
            run=place.run,
            host=place.host,
            link=place.link,
            since=group.since,
            at=now,
            incidents=worst_first(list(group.members.values())),
        )


def _cause(cause: str) -> str:
    """The name of the group of a cause."""
    return f"cause {cause}"


def _key(place: Place, name: str, since: float) -> str:
    """A name that nobody else gives to another group, on any host."""
    notified = "\0".join((place.host, place.run, name, f"{since:.3f}"))
    return "hrmdoc-" + hashlib.sha256(notified.encode(errors="backslashreplace")).hexdigest()[:20]
