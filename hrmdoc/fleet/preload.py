"""What every process of the fleet needs, loaded once by the server that forks them."""

from __future__ import annotations

from contextlib import suppress

from hrmdoc import readers, rulebook
from hrmdoc.errors import HrmdocError
from hrmdoc.fleet import work
from hrmdoc.reports import as_json, review

LOADED = (work, as_json, review, [readers.reader(name) for name in readers.names()])
with suppress(HrmdocError, OSError):
    rulebook.load()  # kept by none: it brings in what the rules need, and their kept form
