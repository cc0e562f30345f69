"""Small files made to cost much: the work for each is bounded, and what was left out is said."""

from __future__ import annotations

import gzip
import io
import pickle
import sqlite3
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from hrmdoc.errors import InputError
from hrmdoc.readers import (
    configs,
    csv,
    discover,
    flight_recorder,
    json_history,
    jsonl,
    open_source,
    read_into,
)
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.support import budget, python_settings, sqlite_guard
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Fact, Points, Record
from hrmdoc.record.run import Run
from tests.readers.feeding import database, fed
from tests.readers.test_trackio import ROWS, store


def damages(records: list[Record]) -> str:
    return "; ".join(record.what for record in records if isinstance(record, Damage))


def read(path: Path) -> Run:
    run = Run()
    read_into(run, discover(path, unpacking=True))
    return run


def config(text: str, name: str = "config.yaml") -> list[Record]:
    return fed(configs.open_session(Context(name)), text.encode())


@pytest.mark.parametrize("opening", ["[{}]", "{{k1: {}}}"])
def test_aliases_that_multiply_are_counted_before_they_are_followed(opening: str) -> None:
    lines = ["a0: &a0 [1, 2, 3]"]
    for level in range(1, 40):
        inner = (
            ", ".join([f"*a{level - 1}"] * 9) if opening[0] == "[" else f"*a{level - 1}, k2: *a{level - 1}"
        )
        lines.append(f"a{level}: &a{level} " + opening.format(inner))
    assert "aliases" in damages(config("\n".join(lines) + "\n"))


def test_an_alias_inside_of_itself_does_not_keep_the_rest_from_being_read() -> None:
    found = config("a: &a [1, *a]\nb: &b {c: *b}\nlr: 0.1\n")
    assert ("lr", 0.1) in [(one.key, one.value) for one in found if isinstance(one, Fact)]


def test_numbers_that_square_themselves_are_left_out() -> None:
    lines = ["x0 = 10**60", *(f"x{n} = x{n - 1} * x{n - 1}" for n in range(1, 60)), "lr = 0.1"]
    found = python_settings.read("\n".join(lines), "config.py").values
    assert found["lr",].value == 0.1
    assert ("x59",) not in found


def test_a_value_under_thousands_of_names_is_refused() -> None:
    source = " = ".join(f"n{n}" for n in range(2000)) + " = [" + "1, " * 2000 + "]\n"
    with pytest.raises(InputError, match="more than"):
        python_settings.read(source, "config.py")


@pytest.mark.parametrize(
    "view",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS run_id,"
        " 'x' AS run_name, i AS step, '{\"loss\": 1}' AS metrics, '' AS timestamp FROM n",
        "SELECT 1 AS id, 'x' AS run_id, 'x' AS run_name, 1 AS step, zeroblob(900000000) AS metrics,"
        " '' AS timestamp",
    ],
)
def test_views_of_a_database_are_not_asked(tmp_path: Path, view: str) -> None:
    path = tmp_path / "trackio" / "p.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE VIEW metrics AS {view}")
    db.close()
    found = fed(open_source(Source(str(path), "trackio", "x")), path.read_bytes())  # type: ignore[arg-type]
    assert [type(one) for one in found] == [Damage]
    assert found[0].incomplete  # type: ignore[union-attr]


def test_computed_columns_are_not_computed(tmp_path: Path) -> None:
    path = tmp_path / "trackio" / "p.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id, timestamp, run_name, step INTEGER,"
            " metrics TEXT AS (zeroblob(900000000)))"
        )
        db.execute("INSERT INTO metrics (run_id, timestamp, run_name, step) VALUES ('a', '', 'a', 1)")
    db.close()
    found = fed(open_source(Source(str(path), "trackio", "x")), path.read_bytes())  # type: ignore[arg-type]
    assert any(isinstance(one, Damage) and one.incomplete for one in found)
    assert not any(isinstance(one, Points) for one in found)


def test_a_query_ends_when_its_time_is_over() -> None:
    connection = sqlite_guard.opened("file::memory:", -1.0)
    connection.set_authorizer(None)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        )
    connection.close()


def test_a_journal_that_is_a_link_to_a_device_is_not_copied(tmp_path: Path) -> None:
    path = store(tmp_path / "trackio" / "p.db", ROWS)
    path.with_name("p.db-wal").symlink_to("/dev/zero")
    run = read(path)
    assert run.points > 0
    assert any(damage.incomplete and "regular file" in damage.what for damage in run.damages)


def test_a_journal_that_names_a_file_to_delete_is_not_played(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")
    name = str(victim).encode()
    before = path.read_bytes()
    page = int.from_bytes(before[16:18], "big")
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 1, 0, len(before) // page, 512, page)
    body = struct.pack(">I", 1) + before[:page]
    body += struct.pack(">I", sum(before[at] for at in range(page - 200, 0, -200)))
    lock = struct.pack(">I", 0x40000000 // page + 1)
    end = lock + name + struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    path.with_name("mlflow.db-journal").write_bytes(header.ljust(512, b"\0") + body + end)
    run = read(path)
    assert victim.exists()
    assert any(damage.incomplete and "another journal" in damage.what for damage in run.damages)


def packed_tar(path: Path, *headers: tuple[bytes, int]) -> Path:
    """A packed archive with headers of such a type and size, made of zeros."""
    with gzip.open(path, "wb", 1) as file:
        for kind, size in headers:
            info = tarfile.TarInfo("././@LongLink")
            info.type, info.size = kind, size
            file.write(info.tobuf(tarfile.GNU_FORMAT))
            for _ in range(size >> 20):
                file.write(bytes(1 << 20))
    return path


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_name_of_hundreds_of_megabytes_is_not_read(tmp_path: Path, kind: bytes) -> None:
    path = packed_tar(tmp_path / "logs.tgz", (kind, 200 << 20))
    tracemalloc.start()
    with pytest.raises(InputError, match="header"):
        discover(path, unpacking=True)
    assert tracemalloc.get_traced_memory()[1] < 60 << 20
    tracemalloc.stop()


def test_members_that_lie_over_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.log", "step 1 loss 2.0\n" * 2000)
        archive.writestr("b.log", "step 1 loss 2.0\n" * 2000)
    blob = bytearray(path.read_bytes())
    second = blob.rindex(b"PK\x01\x02")
    blob[second + 42 : second + 46] = struct.pack("<I", 5)
    path.write_bytes(blob)
    with pytest.raises(InputError, match="over each other"):
        discover(path, unpacking=True)


def test_a_torn_archive_marks_the_evidence_as_incomplete(tmp_path: Path) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name in ("a.log", "b.log"):
            body = b"".join(b"step %d loss %f\n" % (step, 2.0 / (step + 1)) for step in range(4000))
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    path = tmp_path / "logs.tar"
    path.write_bytes(whole.getvalue()[:60_000])
    problems: list[Damage] = []
    assert discover(path, problems, unpacking=True)
    assert any(damage.incomplete for damage in problems)


def test_a_torn_packed_log_marks_the_evidence_as_incomplete(tmp_path: Path) -> None:
    body = b"".join(b"step %d loss %f\n" % (step, 2.0 / (step + 1)) for step in range(4000))
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(body)[:-3000])
    assert any(damage.incomplete for damage in read(path).damages)


def test_millions_of_empty_lists_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hrmdoc.readers.support.json_text.MAX_OBJECTS", 1000)
    blob = b'{"loss": [' + b"[]," * 2000 + b"1]}"
    found = fed(json_history.open_session(Context("history.json")), blob)
    assert "lists and mappings" in damages(found)


def test_a_dump_of_endless_operations_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder._PlainUnpickler, "left", 5000)
    blob = b"\x80\x04" + b"]" * 10_000 + b"."
    found = fed(flight_recorder.open_session(Context("nccl_trace_rank_0")), blob)
    assert "operations" in damages(found)
    real = pickle.dumps({"entries": [{"collective_seq_id": 1}], "pg_status": {}}, 4)
    assert damages(fed(flight_recorder.open_session(Context("nccl_trace_rank_0")), real)) == ""


def test_a_source_with_all_new_names_in_each_line_keeps_so_many_metrics_and_counts_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "MAX_METRICS", 300)
    path = tmp_path / "m.jsonl"
    path.write_text("".join(f'{{"step": {n}, "loss": 1.0, "name_{n}": 2.0}}\n' for n in range(1000)))
    run = read(path)
    assert len(run.series) == 300
    assert sum(damage.left_out for damage in run.damages) == 701
    assert any(damage.incomplete for damage in run.damages)
    assert next(s for key, s in run.series.items() if key.metric == "loss").steps[-1] == 999


def test_reading_ends_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_SECONDS", -1e9)
    path = tmp_path / "m.jsonl"
    path.write_text("".join(f'{{"step": {n}, "loss": 1.0, "pad": "{"x" * 60}"}}\n' for n in range(20_000)))
    run = read(path)
    assert 0 < run.points < 20_000
    assert any(damage.incomplete and "seconds" in damage.what for damage in run.damages)


@pytest.mark.parametrize("columns", [2_000, 4_000])
def test_the_work_for_a_wide_table_grows_with_its_cells_alone(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    class Names(list):  # type: ignore[type-arg]
        def index(self, *args: object) -> int:  # type: ignore[override]
            nonlocal looks
            looks += 1
            return super().index(*args)  # type: ignore[arg-type]

    session = csv.open_session(Context("wide.csv"))
    header = "step," + ",".join(f"layer_{n}/loss" for n in range(columns)) + "\n"
    list(session.feed(header.encode() + b"1" + b",0.5" * columns + b"\n"))
    assert session._header is not None
    session._header.names = Names(session._header.names)
    found = fed(session, b"2" + b",0.5" * columns + b"\n")
    assert sum(len(one.values) for one in found if isinstance(one, Points)) == columns
    assert looks < 10


def test_deep_json_is_said_to_be_deep() -> None:
    blob = b'{"step": 1, "loss": 1.0}\n' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n"
    found = fed(jsonl.open_session(Context("m.jsonl")), blob)
    assert "no JSON object" in damages(found)
