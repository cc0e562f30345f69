"""What a file is taken for by its beginning, and what is said of those that nobody wants."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from hrmdoc.readers.sources.beginning import HEAD, Listing, Search, is_database, read_head, source_of
from hrmdoc.readers.sources.order import ordered
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.sources.walk import files_below, folders_below
from hrmdoc.record.records import Damage

ROW = '{"step": 1, "loss": 2.0}\n'


class Known:
    """What was found before."""

    def __init__(self, **known: tuple[str, str]) -> None:
        self.all = known
        self.learned: list[tuple[str, str, str]] = []

    def known(self, path: str, identity: str) -> tuple[str, str] | None:
        assert identity.count("-") == 3
        return self.all.get(Path(path).stem)

    def learn(self, path: str, identity: str, reader: str, codec: str) -> None:
        self.learned.append((Path(path).name, reader, codec))


def looked(
    path: Path, search: Search | None = None, *, explicit: bool = True
) -> tuple[list[Source], list[str]]:
    search = search or Search(unpacking=False, how=Listing())
    found = list(source_of(str(path), path.stat(), search, explicit=explicit))
    return found, [one.what for one in search.noted]


def wrote(path: Path, blob: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(blob if isinstance(blob, bytes) else blob.encode())
    return path


def test_a_source_says_who_reads_it_and_whose_it_is(tmp_path: Path) -> None:
    path = wrote(tmp_path / "rank3.jsonl", ROW)
    os.utime(path, (1000.0, 1000.0))
    ((one,), said) = looked(path)
    assert (one.path, one.reader, one.logger, one.rank) == (str(path), "jsonl", str(path), 3)
    assert (one.started, one.mtime, one.size, one.codec, said) == (1000.0, 1000.0, len(ROW), "", [])
    events = wrote(tmp_path / "packed.jsonl.gz", gzip.compress(ROW.encode()))
    assert (looked(events)[0][0].reader, looked(events)[0][0].codec) == ("jsonl", "gzip")
    assert one.file == path
    assert not is_database(one)
    assert is_database(Source("x.db", "mlflow", "x"))


@pytest.mark.parametrize(
    ("name", "blob", "explicit", "said"),
    [
        ("a.log", b"", True, ["is empty"]),
        ("a.log", b"", False, ["is empty"]),
        ("a.csv", b"", False, ["is empty"]),
        ("a.jsonl", b"", False, ["is empty"]),
        ("a.dat", b"", False, []),
        ("a.dat", b"", True, ["is empty"]),
        ("a.dat", b"\0\1\2\3" * 99, True, ["is in no format that hrmdoc knows (binary data)"]),
        ("a.dat", b"\0\1\2\3" * 99, False, []),
        ("a.pt", b"weights", True, ["holds weights or arrays, not the record of a run"]),
        ("a.gz", b"\x1f\x8b" + b"\xff" * 99, True,
         ["begins as gzip data, which is damaged from its start: nothing could be unpacked"]),
    ],
)  # fmt: skip
def test_a_file_that_nobody_reads_is_told_of_where_it_was_named_or_should_be_one(
    tmp_path: Path, name: str, blob: bytes, explicit: bool, said: list[str]
) -> None:
    assert looked(wrote(tmp_path / name, blob), explicit=explicit) == ([], said)


def test_a_packed_file_that_is_damaged_is_told_of_wherever_it_was_found(tmp_path: Path) -> None:
    path = wrote(tmp_path / "a.log.gz", b"\x1f\x8b" + b"\xff" * 99)
    search = Search(unpacking=False, how=Listing(Known()))
    assert looked(path, search, explicit=False)[0] == []
    (note,) = search.noted
    assert note.what.startswith("cannot be read: the gzip data is damaged")
    assert note.incomplete


def test_a_file_is_looked_at_once_and_known_ones_are_not_opened(tmp_path: Path) -> None:
    path, other = wrote(tmp_path / "a.jsonl", ROW), wrote(tmp_path / "b.dat", b"\0\1\2\3")
    (tmp_path / "link.jsonl").hardlink_to(path)
    search = Search(unpacking=False, how=Listing())
    assert len(looked(path, search)[0]) == 1
    assert looked(tmp_path / "link.jsonl", search)[0] == []
    heads = Known(a=("csv", "xz"))
    ((one,), _) = looked(path, Search(unpacking=False, how=Listing(heads)), explicit=False)
    assert (one.reader, one.codec) == ("csv", "xz")
    named = Search(unpacking=False, how=Listing(heads))
    assert looked(path, named)[0][0].reader == "jsonl", "one that is named is opened all the same"
    looked(other, named, explicit=False)
    assert heads.learned == [("a.jsonl", "jsonl", ""), ("b.dat", "", "")]
    nothing = Search(unpacking=False, how=Listing(Known(b=("", ""))))
    assert looked(other, nothing, explicit=False)[0] == []


def test_the_beginning_of_a_file_is_64_kib(tmp_path: Path) -> None:
    assert len(read_head(str(wrote(tmp_path / "a", b"x" * (HEAD + 5))))) == HEAD == 65536


def below(folder: Path, most: int = 100) -> tuple[list[str], list[str]]:
    noted: list[Damage] = []
    found = [os.path.relpath(path, folder) for path, _ in files_below(str(folder), noted, most)]
    return found, [f"{os.path.relpath(one.file, folder)}: {one.what}" for one in noted]


def test_a_folder_is_walked_in_the_order_of_its_names(tmp_path: Path) -> None:
    for name in ("b/2.log", "b/10.log", "a.log", "model.pt", "venv/x.log", ".git/x.log"):
        wrote(tmp_path / name, "x")
    assert below(tmp_path) == (["a.log", "b/2.log", "b/10.log"], [])
    assert below(tmp_path, most=7)[1] == []
    found, said = below(tmp_path, most=6)
    assert "b/10.log" not in found
    assert said == [".: holds more than 6 files; the rest was not looked at"]


def test_links_that_lead_outside_are_not_followed(tmp_path: Path) -> None:
    outside, inside = wrote(tmp_path / "out.log", "x"), wrote(tmp_path / "in" / "real.log", "x")
    (tmp_path / "in" / "far.log").symlink_to(outside)
    (tmp_path / "in" / "near.log").symlink_to(inside)
    (tmp_path / "in" / "broken.log").symlink_to(tmp_path / "in" / "gone.log")
    assert below(tmp_path / "in") == (["near.log", "real.log"], [])


def test_folders_are_walked_eight_levels_deep(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"12345678")
    wrote(deep / "a.log", "x")
    assert below(tmp_path) == (["1/2/3/4/5/6/7/8/a.log"], [])
    wrote(deep / "9" / "b.log", "x")
    found, said = below(tmp_path)
    assert found == ["1/2/3/4/5/6/7/8/a.log"]
    assert said == ["1/2/3/4/5/6/7/8: folders deeper than 8 levels were not looked at"]


def test_of_several_checkpoints_the_newest_that_holds_a_state_is_walked(tmp_path: Path) -> None:
    def walked() -> list[str]:
        return sorted(os.path.relpath(one, tmp_path) for one in folders_below(str(tmp_path), []))

    for name in ("checkpoint-9", "checkpoint-10", "logs"):
        wrote(tmp_path / name / "x.log", "x")
    assert walked() == [".", "checkpoint-10", "logs"]
    wrote(tmp_path / "checkpoint-9" / "trainer_state.json", "{}")
    assert walked() == [".", "checkpoint-9", "logs"]


def test_an_aim_store_is_told_of(tmp_path: Path) -> None:
    wrote(tmp_path / ".aim" / "x.log", "x")
    noted: list[Damage] = []
    assert list(folders_below(str(tmp_path), noted)) == [str(tmp_path)]
    assert noted[0].what.startswith("is an Aim store, which only Aim can read")


def test_sources_are_read_from_old_to_new_and_configs_last(tmp_path: Path) -> None:
    def source(path: str, reader: str = "text", logger: str = "a", started: float = 0.0) -> Source:
        return Source(path, reader, logger, started=started)

    mixed = [source("c.yaml", "configs"), source("train.log"), source("train.log.1"), source("train.log.10")]
    assert [one.path for one in ordered(mixed)] == ["train.log.10", "train.log.1", "train.log", "c.yaml"]
    times = [source("b", started=2.0), source("a", started=3.0), source("c", logger="0", started=2.0)]
    assert [one.path for one in ordered(times)] == ["c", "b", "a"]
    tries = [source(f"attempt_{n}/0/stdout.log") for n in (10, 9)] + [source("rank_10"), source("rank_9")]
    assert [one.path for one in ordered(tries)] == [
        "rank_9", "rank_10", "attempt_9/0/stdout.log", "attempt_10/0/stdout.log",
    ]  # fmt: skip
    states = [
        source(
            str(wrote(tmp_path / str(step) / "trainer_state.json", json.dumps({"global_step": step}))),
            "hf_state",
        )
        for step in (9, 30, 20)
    ]
    assert ordered([*states, source("x.log")])[0].path.endswith("/30/trainer_state.json")
    assert len(ordered([*states, source("x.log")])) == 2
    gone = source(str(tmp_path / "gone.json"), "hf_state", "b")
    assert len(ordered([*states, gone])) == 2
