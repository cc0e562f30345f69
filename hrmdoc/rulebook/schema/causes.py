"""rules/causes/: what may be wrong, and how often it shows how."""

from __future__ import annotations

from msgspec import Struct

from hrmdoc.rulebook.schema.common import Applies

EVERY_SYMPTOM = "*"
"""In a cause's `produces`: any symptom that shows and is not named there."""


class Given(Struct, forbid_unknown_fields=True, frozen=True):
    """A circumstance that makes a cause `odds` times as likely beforehand. `text` says what was seen, as
    evidence is listed. `about`: symptoms that it qualifies; it counts together with them, for or against."""

    check: str
    odds: float
    text: str
    about: tuple[str, ...] = ()


class Cause(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/causes/<id>.yaml. `produces`: symptom -> how often it shows when the cause is at work. `given`:
    what settings and facts say about it, which healthy runs have as well."""

    id: str
    title: str
    prior: float
    produces: dict[str, float]
    playbook: str
    summary: str = ""
    benign: bool = False
    check: str = ""
    applies: Applies = Applies()
    given: tuple[Given, ...] = ()
    remedies: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
