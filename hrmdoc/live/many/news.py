"""What a watch of many runs tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hrmdoc.live.many.entry import Entry
from hrmdoc.live.watch import Update, Watch

Kind = Literal["found", "examined", "treated", "ended", "gone", "unreadable", "elsewhere"]


@dataclass(frozen=True, slots=True)
class News:
    """What became of one run."""

    kind: Kind
    entry: Entry
    watch: Watch | None = None
    update: Update | None = None
