"""Finds the log lines that report a fault: one search for all literals first, each signature's own pattern
after.

`SignatureMatcher.wanted` serves the readers, which keep only lines that hold a literal; a `Session` takes the
kept lines in their order and knows, beside each line, the traceback that it ends.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hrmdoc.examination.desync import DesyncWatch
from hrmdoc.examination.tracebacks import HEADER, MARKS, Place, TracebackTracker, rank_of, without_prefix
from hrmdoc.text import patterns
from hrmdoc.text.clean import clean, strip_ansi
from hrmdoc.text.literals import Literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hrmdoc.record.records import Line
    from hrmdoc.rulebook import Rulebook, Signature

NEAR_THE_END = 50
"""Lines: an exception without a traceback is what ended the program only when hardly anything was printed
after it."""
_LONGEST = 16_384  # characters: what a message has to say stands in its beginning
# quoted source (a dump, a diff, the output of grep): it names an error, none happened
_SOURCE = patterns.lazy(
    r"(?:[-+>] {0,40}|(?:[\w.-]{1,80}[/\\]){0,20}[\w.-]{1,80}\.py[:-]\d{1,7}[:-] {0,40})?"
    r"(?:raise |except[ :]|assert |elif |throw |# |//|\"\"\"|'''|if\s.{1,160}:\s*$|print\("
    r"|(?:warnings|logger|logging|log)\.\w{1,20}\()"
)
_RAISED = patterns.lazy(r"[\w.]{0,200}(?:Error|Exception|Interrupt|SystemExit|Timeout): ")
_NOWHERE = Place()
_ALTERNATIVE = patterns.lazy(r"_\d$")
_INTEGER = patterns.lazy(r"[+-]?\d{1,18}")
_DECIMAL = patterns.lazy(r"[+-]?\d{1,18}\.\d{1,18}(?:[eE][+-]?\d{1,3})?")

Captured = str | int | float


class SignatureMatch(Struct, frozen=True):
    """One signature found in one line. `groups`: what its pattern captured, numbers as numbers. `threaded`:
    what it says ended a thread, and the program only where nothing follows."""

    signature: Signature
    groups: dict[str, Captured] = field(default_factory=dict)
    threaded: bool = False


class SignatureMatcher:
    """All signatures of a rulebook, ready to search.

    Attributes:
        wanted: gives positions in a block of bytes at which literals begin, one or more for every line that
            holds any.
    """

    def __init__(self, book: Rulebook) -> None:
        self._signatures = list(book.signatures.values())
        self._fallback = [s for s in self._signatures if s.fallback]
        self._owners: dict[str, list[int]] = {}
        for index, signature in enumerate(self._signatures):
            for literal in () if signature.fallback else signature.literals:
                self._owners.setdefault(literal, []).append(index)
        self._known = list(self._owners)
        # The last ones belong to no signature in particular: frames of tracebacks, which explain the line
        # that ends one, and lines for which there is a signature only if no other takes them.
        bare = (literal for one in self._fallback if not one.traceback for literal in one.literals)
        self.wanted = Literals(one.encode() for one in dict.fromkeys((*self._known, *MARKS, *bare)))
        self._compiled: dict[str, re.Pattern[str]] = {}

    def match(self, line: Line, place: Place = _NOWHERE) -> list[SignatureMatch]:
        """Signatures that `line` matches, in the order of the rulebook.

        Args:
            line: one log line.
            place: where the line stands among tracebacks.
        """
        text = strip_ansi(line.text[:_LONGEST])
        body = without_prefix(text)
        if _SOURCE.match(body.lstrip()):
            return []
        found = [
            match
            for index in self._candidates(text)
            if (match := self._confirm(self._signatures[index], text, place))
        ]
        if not found:
            unknown = (
                match for signature in self._fallback if (match := self._confirm(signature, body, place))
            )
            found = list(islice(unknown, 1))
        return found

    def session(self) -> Session:
        """A session for the lines of one run."""
        return Session(self)

    def _candidates(self, text: str) -> list[int]:
        known = len(self._known)
        hits = self.wanted.numbers(text.encode("utf-8", "replace"))
        return sorted(
            {owner for number in hits if number < known for owner in self._owners[self._known[number]]}
        )

    def _confirm(self, signature: Signature, text: str, place: Place) -> SignatureMatch | None:
        if signature.traceback and (
            place.frames is None or not self._pattern(signature.traceback).search("\n".join(place.frames))
        ):
            return None
        if signature.quoted and not self._pattern(signature.quoted).search(place.quoted):
            return None
        found = self._pattern(signature.pattern).search(text)
        return SignatureMatch(signature, _captured(found.groupdict()), place.threaded) if found else None

    def _pattern(self, text: str) -> re.Pattern[str]:
        compiled = self._compiled.get(text)
        if compiled is None:
            compiled = self._compiled[text] = re.compile(text)
        return compiled


class Session:
    """Matches the lines of one run, which must come in their order.

    Frames of a traceback and the source it quotes are no events; the line that ends it is, and is matched
    with its frames. Whether a traceback was cut off, and whether a line that looks like an exception ended
    the program, is known when the run is over.
    """

    def __init__(self, matcher: SignatureMatcher) -> None:
        self._matcher = matcher
        self._tracebacks = TracebackTracker()
        self._collectives = DesyncWatch()
        self._unsure: list[tuple[Line, SignatureMatch]] = []
        self._no_message: list[tuple[Line, SignatureMatch]] = []
        self._ended: dict[tuple[str, int | None], tuple[Line, Place, set[str]]] = {}
        self._fatal: dict[str, int] = {}  # by file, the line of the last message that ends a program

    def match(self, line: Line) -> list[SignatureMatch]:
        """Signatures that `line` matches.

        Beside the first line of a message that was folded the whole message comes once more: it adds only
        what that line did not.
        """
        first, place, reported = self._ended.get((line.file, line.rank), (None, _NOWHERE, set[str]()))
        if first is not None and _unfolded(line, first):
            return self._in_whole(line, first, place, reported)
        place = self._tracebacks.take(line)
        if place.inside:
            return []
        found = self._matcher.match(line, place)
        if place.frames is not None or _RAISED.match(line.text):
            self._ended[line.file, line.rank] = line, place, {one.signature.symptom for one in found}
        if found and found[0].signature.fallback and self._put_off(line, found[0], place):
            return []
        if any(one.signature.fatal and not one.signature.fallback for one in found):
            self._fatal[line.file] = line.line
        return [match for match in found if self._counts(line, match)]

    def _counts(self, line: Line, match: SignatureMatch) -> bool:
        """Whether a line about a collective disagrees with one of another rank; other lines count always."""
        return not match.signature.desync or self._collectives.take(rank_of(line), match.groups)

    def _in_whole(self, line: Line, first: Line, place: Place, reported: set[str]) -> list[SignatureMatch]:
        """What the whole message says beyond its `first` line, whose symptoms were `reported`."""
        found = [
            one
            for one in self._matcher.match(line, place)
            if one.signature.symptom not in reported
            and not one.signature.fallback
            and not one.signature.desync
        ]
        reported.update(one.signature.symptom for one in found)
        if found:
            self._unsure = [pair for pair in self._unsure if pair[0] is not first]
            self._no_message = [pair for pair in self._no_message if pair[0] is not first]
        return found

    def _put_off(self, line: Line, found: SignatureMatch, place: Place) -> bool:
        """Whether it is only known at the end of the run if an exception that no other signature takes
        counts."""
        # where the head of the traceback was seen, it was raised beyond doubt
        raised = HEADER in (place.frames or ())[:1]
        if not found.signature.traceback and not raised:
            self._unsure = [*self._unsure[1 - NEAR_THE_END :], (line, found)]
            return True
        if line.text.rstrip().endswith(":"):  # what it says stands below, or nowhere
            self._no_message = [*self._no_message[1 - NEAR_THE_END :], (line, found)]
            return True
        return False

    def close(self, lines: int) -> list[tuple[Line, SignatureMatch]]:
        """What is known only now that the run, of so many `lines`, is over.

        A traceback that was cut off behind a message that ended the program is one of those that follow it.
        """
        last = self._fatal
        torn = [
            one
            for one in self._tracebacks.close()
            if not 0 < one.line - last.get(one.file, one.line) <= NEAR_THE_END
        ]
        cut = [(line, match) for line in torn for match in self._matcher.match(line)]
        late = [pair for pair in self._unsure if lines - pair[0].line <= NEAR_THE_END]
        no_message, self._unsure, self._no_message = self._no_message, [], []
        return cut + no_message + late


def _unfolded(line: Line, first: Line) -> bool:
    """Whether `line` is the whole message of which `first` was the first line."""
    return (
        line.line == first.line
        and len(line.text) > len(first.text)
        and line.text.startswith(first.text.rstrip())
    )


def _captured(groups: Mapping[str, str | None]) -> dict[str, Captured]:
    """Groups that took part; `free_2` is another place where a wording may carry `free`."""
    return {_ALTERNATIVE.sub("", name): _capture(text) for name, text in groups.items() if text is not None}


def _capture(text: str) -> Captured:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return clean(text, 200)
