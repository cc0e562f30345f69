"""What the words of a command set: they win over its config, so that a change there does nothing."""

from __future__ import annotations

from collections.abc import Sequence

from hrmdoc.record.records import Fact
from hrmdoc.remedies.editors.overrides import OverridesDocument
from hrmdoc.remedies.own_config import facts_of
from hrmdoc.roles.canonical import settings_of
from hrmdoc.roles.framework import chain
from hrmdoc.rulebook import Rulebook


def overridden(command: Sequence[str], book: Rulebook) -> dict[str, Fact]:
    """The canonical settings that a command gives itself (`--lr 0.1`, `optimizer.lr=0.1`), by any framework's
    spelling. Words with blanks in them are programs and texts, no settings."""
    words = [word if len(word.split()) == 1 else "_" for word in command]
    document = OverridesDocument("the command", " ".join(words))
    return settings_of(facts_of(document, ""), chain(None, book), book.frameworks.get("generic"))
