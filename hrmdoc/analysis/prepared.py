"""What many examinations share: the user's settings and the rules as they adjust them."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from hrmdoc import rulebook
from hrmdoc import settings as own_settings
from hrmdoc.examination.signatures import SignatureMatcher
from hrmdoc.peers import Peers
from hrmdoc.rulebook import Rulebook
from hrmdoc.settings import Settings


class Prepared(Struct, frozen=True):
    """The user's settings and the rules as they adjust them, ready for any number of runs."""

    settings: Settings
    book: Rulebook
    matcher: SignatureMatcher
    peers: Peers = field(default_factory=Peers)

    @classmethod
    def of(cls, settings: Settings | None = None) -> Prepared:
        """By default with the settings nearest to the working folder.

        Raises:
            RuleError: a rule of the user's own folder is wrong.
            ConfigError: the settings are wrong.
        """
        chosen = own_settings.load(Path.cwd()) if settings is None else settings
        book = rulebook.load(Path(folder) for folder in chosen.rules)
        chosen = own_settings.current(chosen, book)
        book = own_settings.adjusted(book, chosen)
        return cls(chosen, book, SignatureMatcher(book))
