"""hrmdoc.readers: what a path holds, and reading it to its end."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.readers import Source, discover, open_source, read_into
from hrmdoc.readers.support.names import is_no_log, logger_of, natural, rank_in
from hrmdoc.record.records import Damage
from hrmdoc.record.run import Run

ROWS = "".join(json.dumps({"step": step, "loss": 1.0 / (step + 1)}) + "\n" for step in range(50))


def read(path: Path | list[str]) -> Run:
    run = Run()
    read_into(run, discover(path))
    return run


def test_importing_the_package_loads_no_reader() -> None:
    code = (
        "import sys, hrmdoc.readers; print([m for m in sys.modules if m.startswith(('numpy', "
        "'hrmdoc.readers.', 'pandas'))])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


@pytest.mark.parametrize("name", readers.names())
def test_every_reader_keeps_to_the_seam(name: str) -> None:
    module = readers.reader(name)
    assert name == module.NAME
    assert module.TITLE
    assert isinstance(module.WHOLE, bool)
    for head in (b"", b"\0" * 50, b"plain text\n", b"{", b"\xff" * 70000):
        assert 0.0 <= module.sniff(Path("x.bin"), head) <= 1.0


def test_weights_code_and_images_are_passed_by_in_a_folder(tmp_path: Path) -> None:
    for name in ("model.safetensors", "train.py", "plot.png", "tokenizer.json", "model.pt"):
        (tmp_path / name).write_text(ROWS)
    (tmp_path / "metrics.jsonl").write_text(ROWS)
    assert [Path(source.path).name for source in discover(tmp_path)] == ["metrics.jsonl"]


def test_an_event_file_is_never_taken_for_something_else_by_its_host_name() -> None:
    assert not is_no_log("events.out.tfevents.1700000000.node.py")
    assert is_no_log("train.py")


def test_hydra_folders_are_entered_and_other_hidden_ones_are_not(tmp_path: Path) -> None:
    for folder in (".hydra", ".git"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.yaml").write_text("lr: 1e-4\nepochs: 3\n")
    assert [source.path for source in discover(tmp_path)] == [str(tmp_path / ".hydra" / "config.yaml")]


def test_links_that_lead_outside_are_not_followed_and_no_file_counts_twice(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    inside.mkdir()
    (outside / "a.jsonl").write_text(ROWS)
    (inside / "b.jsonl").write_text(ROWS)
    (inside / "link.jsonl").symlink_to(outside / "a.jsonl")
    (inside / "folder").symlink_to(outside)
    (inside / "again.jsonl").symlink_to(inside / "b.jsonl")
    assert len(discover(inside)) == 1


def test_only_the_newest_trainer_state_counts(tmp_path: Path) -> None:
    for step in (5, 10, 100):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        state = {
            "global_step": step,
            "log_history": [{"step": n, "loss": 1.0} for n in range(5, step + 1, 5)],
        }
        (folder / "trainer_state.json").write_text(json.dumps(state))
    (tmp_path / "checkpoint-200").mkdir()
    run = read(tmp_path)
    (series,) = run.series.values()
    assert len(series) == 20
    assert series.key.source == f"{tmp_path}/trainer_state.json"


def test_rotated_logs_and_restarts_are_one_logger_in_order(tmp_path: Path) -> None:
    for name, step in (("m.jsonl.2", 1), ("m.jsonl.1", 2), ("m.jsonl", 3)):
        path = tmp_path / name
        path.write_text(json.dumps({"step": step, "loss": 1.0}) + "\n")
        os.utime(path, (1.7e9, 1.7e9))
    (series,) = read(tmp_path).series.values()
    assert series.steps.tolist() == [1, 2, 3]


def test_names_tell_ranks_loggers_and_order() -> None:
    assert rank_in("logs/x_y/attempt_1/3/stderr.log") == 3
    assert logger_of("logs/attempt_1/3/stderr.log", "text") == logger_of(
        "logs/attempt_0/3/stderr.log", "text"
    )
    assert rank_in("nemo_log_globalrank-7_localrank-7.txt") == 7
    assert rank_in("train.log") is None
    assert sorted(["step_10", "step_9"], key=natural) == ["step_9", "step_10"]


PACKERS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_are_read_like_plain_ones(tmp_path: Path, suffix: str) -> None:
    path, pack = tmp_path / f"metrics.jsonl{suffix}", PACKERS[suffix]
    path.write_bytes(pack(ROWS[:300].encode()) + pack(ROWS[300:].encode()))
    run = read(path)
    assert len(next(iter(run.series.values()))) == 50
    assert not run.damages


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_lines_are_those_of_the_log_and_not_of_its_compressed_bytes(tmp_path: Path, suffix: str) -> None:
    path, log = (
        tmp_path / f"train.log{suffix}",
        "".join(f"step {step} loss {1 / step}\n" for step in range(1, 2001)).encode(),
    )
    path.write_bytes(PACKERS.get(suffix, bytes)(log))
    assert read(path).line_count == 2000


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_file_that_ends_early_gives_what_is_there(tmp_path: Path, suffix: str) -> None:
    path, pack = tmp_path / f"metrics.jsonl{suffix}", PACKERS[suffix]
    path.write_bytes(pack(ROWS.encode()) + pack(ROWS.encode())[:-60])
    run = read(path)
    assert len(next(iter(run.series.values()))) >= 50
    assert any("too early" in damage.what for damage in run.damages)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_file_with_a_damaged_middle_is_told_and_never_raises(
    tmp_path: Path, suffix: str
) -> None:
    path, pack = tmp_path / f"metrics.jsonl{suffix}", PACKERS[suffix]
    for place in range(20, 120, 10):
        broken = bytearray(pack(ROWS.encode()) + pack(ROWS.encode()))
        broken[len(broken) // 2 + place] ^= 0xFF
        path.write_bytes(broken)
        run = read(path)
        assert len(next(iter(run.series.values()))) >= 50
        assert run.damages or suffix == ".zst", "zstd sums its content only when it is asked to"


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_decompression_bomb_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr("hrmdoc.readers.support.decode._BOMB_SIZE", 1 << 20)
    path = tmp_path / f"metrics.jsonl{suffix}"
    path.write_bytes(PACKERS[suffix](ROWS.encode() + b" " * (30 << 20)))
    run = read(path)
    assert len(next(iter(run.series.values()))) == 50
    assert any("expands more than" in damage.what for damage in run.damages)


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_standard_input_may_be_compressed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "x").write_bytes(PACKERS.get(suffix, bytes)(ROWS.encode()))
    with (tmp_path / "x").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert len(next(iter(read(["-"]).series.values()))) == 50


def test_utf_16_is_understood(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(ROWS.encode("utf-16"))
    assert len(next(iter(read(tmp_path).series.values()))) == 50


def test_a_path_that_does_not_exist_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no such file"):
        discover("/does/not/exist")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe"):
        discover(tmp_path / "pipe")
    (tmp_path / "m.jsonl").write_text(ROWS)
    assert len(discover(tmp_path)) == 1


@pytest.mark.parametrize("blob", [b"", b"\0\1\2" * 500, b"\x89PNG\r\n\x1a\n" + bytes(300)])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, blob: bytes) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(blob)
    with pytest.raises(InputError) as caught:
        discover(path)
    assert caught.value.file == str(path)


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no log"):
        discover(tmp_path)


def test_a_file_that_vanished_is_damage_beside_others_and_an_error_alone(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(ROWS)
    (tmp_path / "b.jsonl").write_text(ROWS)
    sources = discover(tmp_path)
    (tmp_path / "a.jsonl").unlink()
    run = Run()
    read_into(run, sources)
    assert [damage.file for damage in run.damages] == [str(tmp_path / "a.jsonl")]
    with pytest.raises(InputError, match="No such file"):
        read_into(Run(), [source for source in sources if source.path.endswith("a.jsonl")])


def test_a_reader_that_fails_becomes_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_session(context: object) -> object:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(readers, "reader", lambda _: SimpleNamespace(open_session=open_session))
    session = open_source(Source("x.log", "text", "x.log"))
    (damage,) = session.feed(b"abc")
    assert isinstance(damage, Damage)
    assert "ZeroDivisionError: oops" in damage.what
    assert list(session.feed(b"more")) == list(session.close()) == []


def test_a_session_takes_bytes_as_they_are_on_disk() -> None:
    packed = gzip.compress(ROWS.encode())
    session = open_source(Source("m.jsonl.gz", "jsonl", "m", codec="gzip"))
    stream = io.BytesIO(packed)
    run = Run()
    while piece := stream.read(17):
        run.extend(session.feed(piece))
    run.extend(session.close())
    assert run.points == 50


def test_of_several_paths_one_that_is_there_and_no_file_is_passed_by_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("step 1 loss 2.0\n")
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.log")
    problems: list[Damage] = []
    found = discover(sorted(tmp_path.iterdir()), problems)
    assert [Path(source.path).name for source in found] == ["a.log"]
    assert [Path(one.file).name for one in problems] == ["gone.log", "pipe.log"]
    assert "which is not there" in problems[0].what
    assert not any(one.incomplete for one in problems)
    for alone in ("gone.log", "pipe.log", "typo.log"):
        with pytest.raises(InputError):
            discover([tmp_path / alone])
    with pytest.raises(InputError, match="no such file"):
        discover([tmp_path / "a.log", tmp_path / "typo.log"])


def test_a_path_that_may_not_be_looked_at_is_missing_among_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.log").write_text("step 1 loss 2.0\n")
    stat = Path.stat

    def guarded(path: Path, **how: Any) -> os.stat_result:
        if path.name == "b.log":
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **how)

    monkeypatch.setattr(Path, "stat", guarded)
    problems: list[Damage] = []
    discover([tmp_path / "a.log", tmp_path / "b.log"], problems)
    assert [(one.what, one.incomplete) for one in problems] == [("cannot be read: Permission denied", True)]


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_line_of_a_file_counts_whether_or_not_it_has_an_end(tmp_path: Path, end: str) -> None:
    (tmp_path / "a.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9" + end)
    run = Run()
    read_into(run, discover(tmp_path / "a.log"))
    assert run.line_count == 2


def test_a_link_to_nothing_is_not_told_to_be_meant_itself(tmp_path: Path) -> None:
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError) as raised:
        discover([tmp_path / "gone.log"])
    assert raised.value.hint is None
