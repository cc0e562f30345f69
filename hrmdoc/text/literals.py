"""Finds many byte strings at once: with an Aho-Corasick automaton, and in the bulk of a large log with
Hyperscan.

The automaton is there at once; Hyperscan scans four times as fast but takes 20 ms to compile its tables, and
is not built for every processor. Both find every occurrence, also where occurrences overlap, so which one was
used cannot be distinguished from a result.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

IntArray = NDArray[np.int64]
_Hit = tuple[int, int, int]
"""Number, start and end of an occurrence."""

_LARGE = 1 << 16
"""Bytes of a block from which on Hyperscan is used."""
_WORTH = 1 << 20
"""Bytes of large blocks that the automaton searches before Hyperscan is compiled."""
_BITS = 16
_NUMBER = (1 << _BITS) - 1


class Literals:
    """Byte strings that are looked for together; called with a block, says where any of them begins.

    Args:
        words: found as they are.
        folded: in lower case; found in any case, where only ASCII letters have two.
    """

    def __init__(self, words: Iterable[bytes], folded: Iterable[bytes] = ()) -> None:
        self.words = tuple(words)
        self._folded = tuple(folded)
        self._lengths = np.array([len(word) for word in (*self.words, *self._folded)], np.int64)
        self._automata: tuple[BytesAhoCorasick | None, BytesAhoCorasick | None] | None = None
        self._database: Any = None
        self._seen = 0
        self._lock = threading.Lock()

    def __call__(self, block: bytes) -> list[int]:
        """Positions in `block` of all occurrences."""
        places: list[int] = self.find(block)[1].tolist()
        return places

    def find(self, block: bytes) -> tuple[IntArray, IntArray]:
        """Every occurrence as the number of its string (`words` first, `folded` after) and its position. Both
        have shape [n]."""
        if len(block) >= _LARGE and self._compiled(len(block)):
            return self._scanned(block)
        exact, folded = self._searched(block)
        found = np.fromiter(chain.from_iterable(chain(exact, folded)), np.int64).reshape(-1, 3)
        found[len(exact) :, 0] += len(self.words)
        return found[:, 0], found[:, 1]

    def numbers(self, text: bytes) -> set[int]:
        """Which strings occur in a short text."""
        exact, folded = self._searched(text)
        return {number for number, _, _ in exact} | {len(self.words) + number for number, _, _ in folded}

    def _searched(self, block: bytes) -> tuple[list[_Hit], list[_Hit]]:
        """Every occurrence of `words` and of what is folded, by the automaton."""
        if self._automata is None:
            self._automata = _automaton(self.words), _automaton(self._folded)
        exact, folded = self._automata
        return (
            exact.find_matches_as_indexes(block, overlapping=True) if exact else [],
            folded.find_matches_as_indexes(block.lower(), overlapping=True) if folded else [],
        )

    def _compiled(self, size: int) -> bool:
        """Whether Hyperscan is ready; it is compiled when enough has been searched without it."""
        if self._database is None:
            self._seen += size
            if self._seen > _WORTH:
                self._database = _database(self.words, self._folded)
        return bool(self._database)

    def _scanned(self, block: bytes) -> tuple[IntArray, IntArray]:
        """What `find` gives, by Hyperscan."""
        hits: list[int] = []
        add = hits.append

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            add(end << _BITS | number)

        with self._lock:  # one scan at a time: its scratch space belongs to the database
            self._database.scan(block, match_event_handler=note)
        table = np.array(hits, np.int64)
        numbers = table & _NUMBER
        return numbers, (table >> _BITS) - self._lengths[numbers]


def _automaton(words: tuple[bytes, ...]) -> BytesAhoCorasick | None:
    if not words:
        return None
    from ahocorasick_rs import BytesAhoCorasick

    return BytesAhoCorasick(list(words))


def _database(words: tuple[bytes, ...], folded: tuple[bytes, ...]) -> Any:
    """The strings as Hyperscan knows them; False where it is not installed, not made for this processor, or
    takes one amiss."""
    both = [*words, *folded]
    if not both or len(both) > _NUMBER or any(b"\0" in word for word in both):
        return False  # it takes strings to end at a NUL
    try:
        import hyperscan
    except ImportError:
        return False
    flags = [0] * len(words) + [hyperscan.HS_FLAG_CASELESS] * len(folded)
    try:
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=both, ids=list(range(len(both))), elements=len(both), flags=flags, literal=True
        )
    except hyperscan.HyperscanError:
        return False
    return database
