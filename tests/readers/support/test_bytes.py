"""How bytes become lines, plain pieces, documents and flat settings, at the limits of each."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import zlib
from typing import Any

import numpy as np
import pytest

from hrmdoc.errors import InputError
from hrmdoc.readers.support import budget, decode
from hrmdoc.readers.support.base import Context, rank_of
from hrmdoc.readers.support.budget import MAX_LINE, Budget, may_unpack
from hrmdoc.readers.support.decode import codec_of, damage_in, decoder, plain_head
from hrmdoc.readers.support.document import json_leaves, yaml_leaves
from hrmdoc.readers.support.flatten import flat_facts, flatten, plain_value
from hrmdoc.readers.support.json_text import document, loads, objects_in, part
from hrmdoc.readers.support.left_out import NAMED, LeftOut
from hrmdoc.readers.support.lines import Lines, LineSession
from hrmdoc.readers.support.samples import Sample, is_sample, sample, series
from hrmdoc.record.records import Damage, Fact, Points

TEXT = b"step 1 loss 2.5\n" * 200


def plain(codec: str, blob: bytes, size: int = 50) -> bytes:
    unpacked = decoder(codec)
    pieces = [piece for at in range(0, len(blob), size) for piece in unpacked.feed(blob[at : at + size])]
    return b"".join([*pieces, *unpacked.close()])


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        ("", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("gzip", gzip.compress(TEXT[:16], mtime=0) + gzip.compress(TEXT[16:], mtime=0)),
        ("gzip", gzip.compress(TEXT, mtime=0) + b"\0" * 20),
        ("xz", lzma.compress(TEXT)),
        ("bz2", bz2.compress(TEXT)),
        ("utf-16-le", b"\xff\xfe" + TEXT.decode().encode("utf-16-le")),
        ("utf-16-be", b"\xfe\xff" + TEXT.decode().encode("utf-16-be")),
    ],
)
def test_packed_bytes_are_made_plain_whatever_their_cut(codec: str, packed: bytes) -> None:
    assert codec_of(packed) == codec
    assert plain(codec, packed) == plain(codec, packed, 7) == plain(codec, packed, 1 << 20) == TEXT
    assert plain_head(packed, 16) == TEXT[:16]
    assert damage_in(packed) == ""


@pytest.mark.parametrize(
    ("codec", "pack"), [("gzip", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)]
)
def test_packed_bytes_that_end_too_early_or_are_damaged_are_said_to_be(codec: str, pack: Any) -> None:
    whole = pack(bytes(np.random.default_rng(0).integers(0, 256, 3000, np.uint8)))
    with pytest.raises(InputError) as error:
        plain(codec, whole[:-20])
    assert error.value.what == f"the {codec} data ends too early; what could be unpacked was read"
    broken = whole[:40] + b"\xff" * 40 + whole[80:]
    with pytest.raises(InputError, match=f"the {codec} data (is damaged|ends too early)"):
        plain(codec, broken)
    ruined = whole[:10] + b"\xff" * 200
    assert damage_in(ruined).startswith(f"the {codec} data is damaged: ") or codec == "bz2"
    assert plain_head(ruined) == b""


def test_what_grows_beyond_all_measure_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_BOMB_SIZE", 2 << 20)
    bomb = zlib.compress(b"\0" * (8 << 20), 9, wbits=31)
    with pytest.raises(InputError) as error:
        plain("gzip", bomb, len(bomb))
    assert error.value.what == "the gzip data expands more than 300 times; cut after 3 MiB"
    pieces = list(decoder("gzip").feed(zlib.compress(b"\0" * (2 << 20), 9, wbits=31)))
    assert [len(piece) for piece in pieces] == [1 << 20, 1 << 20]


def cut(lines: Lines, *pieces: bytes) -> list[bytes]:
    return [line for piece in pieces for line in lines.split(lines.feed(piece))]


def test_lines_are_whole_and_numbered_and_the_torn_one_waits() -> None:
    lines = Lines()
    assert cut(lines, b"a\nb", b"c\n", b"", b"d") == [b"a", b"bc"]
    assert lines.number == 3
    assert lines.split(lines.close()) == [b"d"]
    assert lines.close() == b""
    assert (lines.number, lines.too_long) == (4, [])


@pytest.mark.parametrize(("length", "kept"), [(MAX_LINE, True), (MAX_LINE + 1, False)])
def test_a_line_of_more_than_sixteen_mib_is_left_out_whatever_its_cut(length: int, kept: bool) -> None:
    for pieces in ([b"x" * length + b"\n"], [b"x" * length, b"\n"]):
        lines = Lines()
        found = cut(lines, b"a\n", *pieces, b"b\n")
        assert (lines.too_long == []) is kept
        assert lines.number == 4
        assert found[-1] == b"b"
        assert any(len(line) == length for line in found) is kept
        assert lines.too_long in ([], [2])
    torn = Lines()
    cut(torn, b"a\n", b"x" * length)
    assert (len(torn.close()) == length + 1) is kept
    assert torn.too_long == ([] if kept else [2])


class Counting(LineSession):
    def _block(self, block: bytes) -> Any:
        self._lines.split(block)
        yield from self._overlong()


def test_a_line_that_is_left_out_is_told_once() -> None:
    session = Counting(Context("a.log"))
    told = [*session.feed(b"a\n" + b"x" * (MAX_LINE + 1) + b"\n"), *session.feed(b"b\n"), *session.close()]
    what = "the line is longer than 16 MiB and was left out"
    assert told == [Damage("a.log", 2, what, left_out=1, incomplete=True)]


@pytest.mark.parametrize(("count", "more"), [(NAMED, 0), (NAMED + 1, 1), (NAMED + 1200, 1200)])
def test_twenty_places_are_named_and_the_others_counted_once(count: int, more: int) -> None:
    left = LeftOut("a.csv", "rows")
    named = [one for line in range(count) for one in left.at(line, "no row")]
    assert named == [Damage("a.csv", line, "no row", left_out=1) for line in range(NAMED)]
    rest = [Damage("a.csv", None, f"{more:,} more rows were left out", left_out=more)] if more else []
    assert list(left.rest()) == rest
    assert list(left.rest()) == []


def nested(depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {"leaf": 1}
    for _ in range(depth - 1):
        tree = {"a": tree}
    return tree


def test_a_tree_is_flat_up_to_twelve_levels_and_a_hundred_thousand_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert dict(flatten({"a": {"b": 1, 2: [3]}, "c": {}, "d": None})) == {"a.b": 1, "a.2": [3], "d": None}
    assert len(dict(flatten(nested(12)))) == 1
    routes: list[str] = []
    assert dict(flatten(nested(13), routes)) == {}
    assert routes == [".".join("a" * 12)]
    monkeypatch.setattr("hrmdoc.readers.support.flatten.MAX_LEAVES", 2)
    routes.clear()
    assert dict(flatten({"a": 1, "b": 2, "c": 3, "d": {"e": 4}}, routes)) == {"a": 1, "b": 2}
    assert routes == ["c", "d"]
    assert [*flat_facts({"a": 1, "b": 2, "c": 3}, "x.json", 4)] == [
        Fact("a", 1, "config", "x.json", 4),
        Fact("b", 2, "config", "x.json", 4),
        Damage("x.json", 4, "1 settings lie too deep or are too many, the first under 'c'", left_out=1),
    ]
    assert [*flat_facts([1], "x.json")] == []


@pytest.mark.parametrize(
    ("value", "plain_one"),
    [
        (1, 1), (None, None), ("x" * 501, "x" * 500), ([1, "a", True], "1, a, True"), ((2,), 2), ([], ""),
        ([1] * 16, ", ".join("1" * 16)), ([1] * 17, None), ([[1]], None), ({"a": 1}, None),
    ],
)  # fmt: skip
def test_a_leaf_is_a_fact_where_it_has_a_plain_form(value: Any, plain_one: Any) -> None:
    assert plain_value(value) == plain_one


def test_json_is_read_as_training_code_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_equal(loads(b'{"a": NaN, "b": -Infinity}'), {"a": math.nan, "b": -math.inf})
    assert document(b"\xef\xbb\xbf[1]", "a.json") == [1]
    with pytest.raises(InputError) as error:
        document(b"{\n'a': 1}", "a.json")
    assert (error.value.file, error.value.line) == ("a.json", 2)
    assert error.value.what.startswith("is no valid JSON: Expecting property name")
    with pytest.raises(InputError, match="is no valid JSON: nested too deeply"):
        document(b"[" * 100_000, "a.json")
    monkeypatch.setattr("hrmdoc.readers.support.json_text.MAX_OBJECTS", 3)
    assert loads(b"[[[1]]]") == [[[1]]]
    with pytest.raises(ValueError, match="holds more than 3 lists and mappings"):
        loads(b"[[],{}, {}]")
    assert loads(b'"many letters"') == "many letters"
    assert objects_in('{"x": [ {"a": 1}, 2 , oops', 6) == [{"a": 1}, 2]
    assert objects_in("[1] 2", 0) == [1]
    assert objects_in("", 0) == []
    assert part({"a": {"b": 1}}, "a", "b") == 1
    assert part({"a": 1}, "a", "b") is None


def test_leaves_of_documents_stand_on_their_lines() -> None:
    text = b'{\n"a": {"b": 1,\n"c": 2},\n"b": 3}'
    assert [*json_leaves(text, "a.json")] == [("a.b", 1, 2), ("a.c", 2, 3), ("b", 3, 4)]
    assert [*json_leaves(b"[1]", "a.json")] == []
    with pytest.raises(InputError, match="1 of its values lie too deep or are too many"):
        list(json_leaves(str(nested(13)).replace("'", '"').encode(), "a.json"))
    yaml = b"a:\n\tb: 1\n\tc: [1, x]\nd: yes\ne: 2026-01-02\nf: ~\n---\ng: 1\n"
    assert [*yaml_leaves(yaml, "a.yaml")] == [
        ("a.b", 1, 2), ("a.c", [1, "x"], 3), ("d", "yes", 4), ("e", "2026-01-02", 5), ("f", None, 6),
    ]  # fmt: skip
    with pytest.raises(InputError) as error:
        list(yaml_leaves(b"a: 1\nb: [\n", "a.yaml"))
    assert (error.value.file, error.value.line) == ("a.yaml", 3)
    bomb = b"a: &a [x, x]\n" + b"".join(
        f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}, *{'a' if not n else f'b{n - 1}'}]\n".encode()
        for n in range(20)
    )
    with pytest.raises(InputError, match="holds more than 100,000 values, aliases counted"):
        list(yaml_leaves(bomb, "a.yaml"))
    with pytest.raises(InputError, match="is larger than 1 MiB, too large for a config"):
        list(yaml_leaves(b"#" * ((1 << 20) + 1), "a.yaml"))
    assert [*yaml_leaves(b"#" * (1 << 20), "a.yaml")] == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("loss 2.5", Sample("loss", {}, 2.5)),
        ('loss{run="x y",a = "b"} 2', Sample("loss", {"run": "x y", "a": "b"}, 2.0)),
        ("loss 2 1767322000000", Sample("loss", {}, 2.0, 1_767_322_000.0)),
        ("loss 2 1767322000.5", Sample("loss", {}, 2.0, 1_767_322_000.5)),
        ("loss 2 100000000000", Sample("loss", {}, 2.0, 1e11)),
        ("loss 2 # {trace}", Sample("loss", {}, 2.0)),
        ("loss 1_0", None),
        ("loss x", None),
        ("1loss 2", None),
        ("loss", None),
    ],
)
def test_a_sample_is_a_name_its_labels_a_value_and_perhaps_a_time(line: str, found: Sample | None) -> None:
    np.testing.assert_equal(sample(line), found)
    assert is_sample(line)
    assert not is_sample("# HELP loss")
    assert not is_sample("")
    assert series("loss", {"b": "2", "a": "1"}) == "loss{a=1,b=2}"
    assert series("loss", {}) == Sample("loss", {}, 1.0).series == "loss"


def test_a_source_has_a_budget_of_time_metrics_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_unpack(0) == 64 << 20
    assert may_unpack(1000) == (64 << 20) + 300_000
    assert may_unpack(1 << 40) == 8 << 30
    monkeypatch.setattr(budget, "MAX_METRICS", 2)
    one = Budget("a.log", 1_000_000)
    assert 124.0 < one.seconds_left <= 125.0
    assert one.timed_out().what == "reading took more than 125 seconds; the rest was not read"
    one.more(1_000_000)
    assert 129.0 < one.seconds_left <= 130.0
    assert one.timed_out() == Damage(
        "a.log", None, "reading took more than 130 seconds; the rest was not read", incomplete=True
    )
    at = np.arange(3)
    points = [Points(name, at, at * 1.0, at * math.nan, "a.log") for name in ("a", "b", "a", "c", "d")]
    kept = [record.metric for record in one.limited([*points, Fact("x", 1)]) if isinstance(record, Points)]
    assert kept == ["a", "b", "a"]
    what = "has more than 2 metrics; 6 points of others were left out"
    assert list(one.rest()) == [Damage("a.log", None, what, left_out=6, incomplete=True)]
    assert list(Budget("b.log", 0).rest()) == []


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3.log", 3),
        ("log.rank-12.txt", 12),
        ("globalRank_7.out", 7),
        ("worker.0", 0),
        ("frank3.log", None),
    ],
)
def test_a_rank_is_told_by_the_name_of_a_file(name: str, rank: int | None) -> None:
    from pathlib import Path

    assert rank_of(Path("a/rank9") / name) == rank
