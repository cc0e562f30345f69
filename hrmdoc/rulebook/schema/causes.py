"""rules/causes/: what may be wrong, and how often it shows how."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hrmdoc.rulebook.schema.common import Applies

Restart = Literal["harmless", "passes", "interrupted", "elsewhere", "fix", "stop"]
"""What a cause means for starting a run again. `harmless`: it ends no run. `passes`: it goes away by itself.
`interrupted`: the run was taken away and did not fail. `elsewhere`: this machine is at fault. `fix`: it comes
back until something is changed. `stop`: the run is over, or nothing is gained by going on."""
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
    what settings and facts say about it, which healthy runs have as well. `restart`: what it means for
    starting the run again; `rules check` asks for it. `formerly`: ids of before, here and for every sort of
    rule; see `hrmdoc.rulebook.formerly`. `of_weights`: what is wrong are weights, their gradients or their
    precision, which runs that grow trees do not have."""

    id: str
    title: str
    prior: float
    produces: dict[str, float]
    playbook: str
    summary: str = ""
    restart: Restart | None = None
    benign: bool = False
    check: str = ""
    applies: Applies = Applies()
    of_weights: bool = False
    given: tuple[Given, ...] = ()
    remedies: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
