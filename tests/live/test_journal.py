from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc.live.journal import Journal


def test_what_was_appended_is_there_for_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Journal(path).append([])
    assert not path.exists()
    Journal(path).append([{"n": 1, "text": "ü\n\u2028"}, {"n": 2}])
    Journal(path).append([{"n": 3}])
    assert list(Journal(path).entries()) == [{"n": 1, "text": "ü\n\u2028"}, {"n": 2}, {"n": 3}]


@pytest.mark.parametrize("damage", [b'{"n": 2', b"\xff\0", b"[1]\n3\n", b"[" * 100_000, b'{"n": 2}\r\nNaN'])
def test_a_torn_or_foreign_line_takes_no_entry_with_it(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "a.jsonl"
    Journal(path).append([{"n": 1}])
    path.write_bytes(path.read_bytes() + damage)
    Journal(path).append([{"n": 4}])
    assert [entry["n"] for entry in Journal(path).entries() if entry["n"] != 2] == [1, 4]


@pytest.mark.parametrize("place", ["gone/a.jsonl", "."])
def test_a_place_that_cannot_be_written_keeps_nothing_and_raises_nothing(tmp_path: Path, place: str) -> None:
    journal = Journal(tmp_path / place)
    journal.append([{"n": 1}])
    journal.append([{"n": 2}])
    assert list(journal.entries()) == []


def test_a_journal_without_a_file_is_empty() -> None:
    journal = Journal(None)
    journal.append([{"n": 1}])
    assert list(journal.entries()) == []


def test_of_two_processes_that_keep_one_journal_the_first_writes_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first, second = Journal(path), Journal(path)
    first.append([{"n": 1}])
    second.append([{"n": 1}])
    first.close()
    second.append([{"n": 2}])
    assert [entry["n"] for entry in Journal(path).entries()] == [1, 2]


def test_a_name_of_any_bytes_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Journal(path).append([{"file": os.fsdecode(b"train\xff.log")}])
    assert [entry["file"] for entry in Journal(path).entries()] == ["train\udcff.log"]


@pytest.mark.parametrize("planted", ["a pipe", "a link", "a device", "a huge file"])
def test_what_is_planted_in_its_place_is_neither_waited_for_nor_read(tmp_path: Path, planted: str) -> None:
    path, other = tmp_path / "incidents.jsonl", tmp_path / "other"
    other.write_text('{"n": 1}\n')
    if planted == "a pipe":
        os.mkfifo(path)
    elif planted == "a huge file":
        path.write_text('{"n": 1}\n')
        os.truncate(path, 1 << 36)
    else:
        path.symlink_to(other if planted == "a link" else "/dev/zero")
    assert list(Journal(path).entries()) == []
