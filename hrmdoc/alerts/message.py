"""What a target is sent: the incidents of one group, worded once for all targets.

Words of a log are hostile here too: they are cleaned and redacted, and what a chat would take for a call to
everybody, a tag or a hidden link is broken up.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

from hrmdoc.diagnosis.hypotheses import chance
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import ORDER, is_web
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

Status = Literal["firing", "resolved", "acknowledged"]
LIKELY = 0.2
"""Below this probability a cause is one of several, and not named in the text."""
NAMED = 8
"""Further incidents that the text names."""
LONGEST = 1500
"""Characters of a text: the shortest limit of a chat is 2,000."""
_CALLS = re.compile(r"@(?=\S)|(?<=\])(?=\()|://(?=\S*@)")
_BRACKETS = str.maketrans("<>`", "‹›'")


class Message(Struct, frozen=True):
    """One alert.

    Attributes:
        id: of this message alone; the same when it is sent again.
        key: of the group, the same from its first message to its end.
        incidents: those of the group, the most severe first.
        since, at: Unix seconds at which the group and this message began.
        run: the path as it was named; `link`: an address of it, or its whole path.
    """

    id: str
    key: str
    status: Status
    run: str
    host: str
    link: str
    since: float
    at: float
    incidents: tuple[Incident, ...] = ()
    note: str = ""

    @property
    def severity(self) -> str:
        """That of the most severe incident; of those that are open while any is."""
        return self.incidents[0].severity if self.incidents else "info"

    @property
    def title(self) -> str:
        """One line: how bad, what, where."""
        what = self.incidents[0].symptom if self.incidents else self.note
        how = self.severity.upper() if self.status == "firing" else self.status.upper()
        return harmless(f"{how} {what}: {self.run} on {self.host}", 200)

    @property
    def text(self) -> str:
        """The whole in a few lines, for people."""
        lines = [self.title, harmless(self.note)] if self.note and self.incidents else [self.title]
        if self.incidents:
            lines += _incident_lines(self.incidents[0], self.status)
            lines += _others(self.incidents[1:])
        lines.append(harmless(f"key {self.key}"))
        body = "\n".join(line for line in lines if line)[:LONGEST]
        return f"{body}\n{self.link if is_web(self.link) else harmless(self.link)}".rstrip()

    def plain(self) -> dict[str, Any]:
        """The JSON that a webhook and a command get: the most severe incident, the others under `also`."""
        first = {} if not self.incidents else asdict(self.incidents[0])
        return {
            "schema": "hrmdoc.incident/1",
            "run": self.run,
            **first,
            "id": self.id,
            "key": self.key,
            "status": self.status,
            "host": self.host,
            "link": self.link,
            "text": self.text,
            "also": [asdict(one) for one in self.incidents[1:]],
        }


def _incident_lines(incident: Incident, status: str) -> list[str]:
    where = "" if incident.step is None else f" at step {incident.step}"
    if status == "resolved":
        return [harmless(f"over: {incident.title}{where}")]
    said = [f"{incident.title}{where}", *([incident.evidence] if incident.evidence != incident.title else [])]
    if incident.cause not in ("", "unknown") and incident.probability >= LIKELY:
        sure, cause = chance(incident.probability), incident.cause
        said.append(f"{sure} {cause} ({incident.probability:.0%}): hrmdoc explain {cause}")
    return [harmless(line) for line in said]


def _others(incidents: tuple[Incident, ...]) -> list[str]:
    if not incidents:
        return []
    named = [f"{one.symptom} ({one.severity if one.is_open else 'over'})" for one in incidents[:NAMED]]
    more = f" and {len(incidents) - NAMED} more" if len(incidents) > NAMED else ""
    return [harmless(f"also: {', '.join(named)}{more}")]


def harmless(text: str, limit: int = 400) -> str:
    """One line that no chat takes for more than text: no mention, no tag, no link under other words."""
    return _CALLS.sub(lambda found: f"{found[0]}\u200b", redact(clean(text, limit)).translate(_BRACKETS))


def worst_first(incidents: list[Incident]) -> tuple[Incident, ...]:
    """Open ones before those that are over, the severe before the mild, the earlier before the later."""
    return tuple(sorted(incidents, key=lambda one: (not one.is_open, -ORDER.index(one.severity), one.at)))


def link_to(base: str | None, run: str) -> str:
    """The address of a run below what the user configured, else its path."""
    return base.replace("{run}", quote(run, safe="", errors="replace")) if base else run
