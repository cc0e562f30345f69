"""A cache costs time at most, whatever became of its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc.fleet import store
from hrmdoc.fleet.store import Seen, Store

KEY = b"k" * 20
SEEN = {"run": Seen("critical", "a", "nan")}
ENDLESS = (
    "alter table results rename to old; create view results as with recursive n(x) as "
    "(select 1 union all select x + 1 from n) select x as key, x as at, 1e18 as until, x as summary from n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cache that holds one result, the reader of one file, and one triage."""
    path = tmp_path / "fleet.sqlite"
    made = Store(path)
    made.note_triage(b"what", SEEN)
    made.learn("/a.log", "1", "text", "")
    made.close()
    with sqlite3.connect(path) as database:
        database.execute("insert into results values (?, 0, 1e18, ?)", (KEY, b""))
    return path


@pytest.fixture
def altered(file: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    with sqlite3.connect(file) as database:
        database.executescript(request.param)
    opened = Store(file)
    yield opened
    opened.close()


def test_what_was_kept_is_known_again(file: Path) -> None:
    again = Store(file)
    assert again.known("/a.log", "1") == ("text", "")
    assert again.last_triage(b"what")[1] == SEEN


@pytest.mark.parametrize(
    "altered",
    [
        "update results set summary = 5; update triages set rows = 7",
        "update results set summary = 'abc'; update triages set at = 'x'",
        f"update results set summary = x'{'91' * 20_000}c0';"
        f" update triages set rows = x'{'81a178' * 20_000}'",
        "update results set until = 'x'; update triages set at = null",
        ENDLESS,
    ],
    ids=["numbers", "texts", "nested", "nulls", "endless"],
    indirect=True,
)
def test_what_this_never_wrote_is_nothing_known(altered: Store) -> None:
    assert altered.results([KEY]) == {}
    since, rows = altered.last_triage(b"what")
    assert isinstance(since, float)
    assert rows in ({}, SEEN)


@pytest.mark.parametrize("altered", ["update heads set reader = 'of_a_later_version'"], indirect=True)
def test_a_reader_that_does_not_exist_is_none_known(altered: Store) -> None:
    assert altered.known("/a.log", "1") is None


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "fleet.sqlite"
    path.write_bytes(b"no database " * 1000)
    made = Store(path)
    made.note_triage(b"what", SEEN)
    made.close()
    assert Store(path).last_triage(b"what")[1] == SEEN


def test_a_cache_that_another_process_holds_is_left_alone_and_costs_one_wait(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_S", 0.01)
    mine = Store(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("begin immediate")
    mine.note_triage(b"else", {})
    assert mine.last_triage(b"what") == (0.0, {})  # from now on in memory
    mine.close()
    late = Store(file)
    late.close()
    other.execute("commit")
    assert Store(file).last_triage(b"what")[1] == SEEN
