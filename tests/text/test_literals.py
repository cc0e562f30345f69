"""The search for many literals: two engines, one answer."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.text import literals
from hrmdoc.text.literals import Literals

Hits = list[tuple[int, int]]


def hits(search: Literals, block: bytes) -> Hits:
    numbers, places = search.find(block)
    return sorted(zip(numbers.tolist(), places.tolist(), strict=True))


def slowly(words: list[bytes], folded: list[bytes], block: bytes) -> Hits:
    """Every occurrence, found with `bytes.startswith` at every place."""
    texts = [(word, block) for word in words] + [(word, block.lower()) for word in folded]
    return [
        (number, at)
        for number, (word, text) in enumerate(texts)
        for at in range(len(text))
        if text.startswith(word, at)
    ]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hyperscan is used from the first byte on."""
    monkeypatch.setattr(literals, "_LARGE", 0)
    monkeypatch.setattr(literals, "_WORTH", 0)


WORDS = st.lists(st.text("abAB(.*", min_size=1, max_size=4).map(str.encode), max_size=6, unique=True)
LOWER = st.lists(st.text("ab(é", min_size=1, max_size=4).map(str.encode), max_size=6, unique=True)
BLOCKS = st.text("abABéÉ(.*\n\0", max_size=60).map(str.encode)


@given(WORDS, LOWER, BLOCKS)
def test_the_automaton_finds_every_occurrence(words: list[bytes], folded: list[bytes], block: bytes) -> None:
    assert hits(Literals(words, folded), block) == slowly(words, folded, block)


@settings(max_examples=30, deadline=None)
@given(WORDS, LOWER, BLOCKS)
def test_hyperscan_finds_the_same(words: list[bytes], folded: list[bytes], block: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literals, "_LARGE", 0)
        patch.setattr(literals, "_WORTH", -1)
        search = Literals(words, folded)
        assert hits(search, block) == slowly(words, folded, block)
        assert bool(search._database) == bool(words or folded)


def test_a_call_tells_positions_alone() -> None:
    assert sorted(Literals([b"error", b"rror: "])(b"no error: none")) == [3, 4]


def test_numbers_tell_which_strings_a_line_holds() -> None:
    assert Literals([b"Error", b"memory"], [b"cuda"]).numbers(b"CUDA out of memory") == {1, 2}


def test_hyperscan_is_not_compiled_for_a_short_log() -> None:
    search = Literals([b"error"])
    for _ in range(100):
        search.find(b"error\n" * 100)
    assert search._database is None


def test_hyperscan_takes_over_in_a_long_log() -> None:
    search, block = Literals([b"error"], [b"cuda"]), b"Cuda error\n" + b"-" * (1 << 20)
    found = [hits(search, block) for _ in range(6)]
    assert search._database
    assert found == [[(0, 5), (1, 0)]] * 6


@pytest.mark.usefixtures("at_once")
def test_without_hyperscan_the_automaton_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    search = Literals([b"error"])
    assert hits(search, b"an error") == [(0, 3)]
    assert search._database is False


@pytest.mark.usefixtures("at_once")
def test_a_string_that_hyperscan_would_cut_at_nul_is_searched_whole() -> None:
    search = Literals([b"a\0b"])
    assert hits(search, b"a a\0c a\0b") == [(0, 6)]


@pytest.mark.usefixtures("at_once")
def test_a_string_that_hyperscan_refuses_leaves_the_search_to_the_automaton(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import hyperscan

    class Refusing:
        def __init__(self, mode: int) -> None:
            self.mode = mode

        def compile(self, **_: object) -> None:
            raise hyperscan.HyperscanError("no")

    monkeypatch.setattr(hyperscan, "Database", Refusing)
    assert hits(Literals([b"error"]), b"an error") == [(0, 3)]
