"""rules/typical/: what is usual for runs of some kind."""

from __future__ import annotations

from msgspec import Struct

from hrmdoc.rulebook.schema.common import Applies


class TypicalRow(Struct, forbid_unknown_fields=True, frozen=True):
    """What is usual for the runs that it applies to and for which `when` holds: facts and their values, which
    may be expressions (`=...`)."""

    sets: dict[str, float | str]
    applies: Applies = Applies()
    when: str = "True"
    source: str = ""


class TypicalTable(Struct, forbid_unknown_fields=True, frozen=True):
    """One question: the first of its rows that holds answers it."""

    title: str
    rows: tuple[TypicalRow, ...]


class Typical(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/typical/<id>.yaml: later tables may use what earlier ones give."""

    id: str
    tables: tuple[TypicalTable, ...]
