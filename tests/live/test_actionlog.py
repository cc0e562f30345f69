"""The record of actions is chained: what was changed or removed shows, and where."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pytest

from hrmdoc.cli.log import for_a_terminal
from hrmdoc.cli.main import main
from hrmdoc.live import actionlog
from hrmdoc.live.actionlog import BEGIN, ActionLog, digest, verify


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "actions.jsonl"


def written(record: Path, count: int) -> list[bytes]:
    log = ActionLog(record)
    for number in range(count):
        log.append([{"what": f"work {number}", "at": float(number)}])
    return record.read_bytes().splitlines()


def without_the_head(record: Path) -> None:
    for file in (record.parent / "state" / "hrmdoc" / "heads").glob("*"):
        file.unlink()


def test_each_line_carries_the_hash_of_the_one_before(record: Path) -> None:
    lines = written(record, 3)
    assert [json.loads(line)["prev"] for line in lines] == [BEGIN, digest(lines[0]), digest(lines[1])]
    check = verify(record)
    assert (check.flaw, check.lines, check.head, check.anchored) == ("", 3, digest(lines[2]), True)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_changed_line_is_named(record: Path, number: int) -> None:
    lines = written(record, 4)
    lines[number - 1] = lines[number - 1].replace(b"work", b"good")
    record.write_bytes(b"\n".join(lines) + b"\n")
    assert verify(record).line == number


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_removed_line_is_noticed_by_the_chain_alone(record: Path, number: int) -> None:
    lines = written(record, 4)
    without_the_head(record)
    del lines[number - 1]
    record.write_bytes(b"\n".join(lines) + b"\n")
    check = verify(record)
    assert "removed" in check.flaw
    assert check.line == max(1, number - 1)


def test_an_end_that_was_cut_off_shows_by_the_hash_in_the_state_folder(record: Path) -> None:
    lines = written(record, 4)
    record.write_bytes(b"\n".join(lines[:2]) + b"\n")
    check = verify(record)
    assert check.flaw == "the last 2 of 4 lines were removed"
    assert check.line == 3


def test_an_end_that_was_cut_off_shows_by_a_hash_that_was_noted(record: Path) -> None:
    lines = written(record, 3)
    noted = verify(record).head
    without_the_head(record)
    assert verify(record, noted).flaw == ""
    record.write_bytes(b"\n".join(lines[:2]) + b"\n")
    assert verify(record).flaw == "", "nothing else can know it"
    assert "noted" in verify(record, noted).flaw


def test_a_record_that_was_written_anew_shows_by_the_hash_in_the_state_folder(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(record, 3)
    record.unlink()
    monkeypatch.setattr(actionlog, "_keep_head", lambda *_: None)
    ActionLog(record).append({"what": f"other {number}"} for number in range(3))
    assert "written anew" in verify(record).flaw


def test_a_torn_line_is_kept_and_the_chain_goes_on_behind_it(record: Path) -> None:
    written(record, 2)
    with record.open("ab") as file:
        file.write(b'{"what": "to')
    ActionLog(record).append([{"what": "next"}])
    assert verify(record).flaw == ""
    assert len(record.read_bytes().splitlines()) == 4
    record.write_bytes(record.read_bytes().replace(b"to", b"ty"))
    assert verify(record).line == 3


def test_lines_of_an_older_hrmdoc_are_counted_and_chained_on(record: Path) -> None:
    record.write_text('{"what": "old"}\n{"what": "older"}\n')
    ActionLog(record).append([{"what": "new"}])
    check = verify(record)
    assert (check.flaw, check.unchained, check.lines) == ("", 2, 3)
    record.write_text(record.read_text().replace("older", "elder"))
    assert verify(record).line == 2 or "removed" in verify(record).flaw


def test_what_a_full_disk_refuses_stands_there_once_later(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ActionLog(record)
    log.append([{"what": "first"}])
    write = os.write

    def full(descriptor: int, blob: bytes) -> int:
        if len(blob) > 20:
            return write(descriptor, blob[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    log.append([{"what": "second, which is long enough to be cut"}])
    assert len(record.read_bytes().splitlines()) == 1, "half a line is taken back"
    monkeypatch.setattr(os, "write", write)
    log.append([{"what": "third"}])
    whats = [json.loads(line)["what"] for line in record.read_bytes().splitlines()]
    assert whats == ["first", "second, which is long enough to be cut", "third"]
    assert verify(record).flaw == ""


def test_several_writers_keep_one_chain(record: Path) -> None:
    def write(name: str) -> None:
        log = ActionLog(record)
        for number in range(10):
            log.append([{"what": f"{name} {number}"}])

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check = verify(record)
    assert (check.flaw, check.lines) == ("", 30)


def test_a_planted_link_is_not_followed(record: Path) -> None:
    victim = record.with_name("victim")
    victim.write_text("mine\n")
    os.symlink(victim, record)
    ActionLog(record).append([{"what": "x"}])
    assert victim.read_text() == "mine\n"


@pytest.mark.parametrize("planted", ["a pipe", "a link", "a huge file"])
def test_a_planted_record_is_no_record(
    tmp_path: Path, planted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    path = run / actionlog.FILE
    if planted == "a pipe":
        os.mkfifo(path)
    elif planted == "a link":
        (tmp_path / "secret").write_text("secret")
        path.symlink_to(tmp_path / "secret")
    else:
        path.touch()
        os.truncate(path, 1 << 36)
    ActionLog(path).append([{"n": 1}])
    for words in ([], ["--verify"], ["--json"]):
        assert main(["log", str(run), *words]) == 2
        told = capsys.readouterr()
        assert "this is no record of actions" in told.err
        assert "secret" not in told.out


def test_a_terminal_gets_the_lines_as_the_same_json_without_what_it_would_obey() -> None:
    line = '{"what": "\u202eü\x9b2J\U000e0001"}\n'
    shown = for_a_terminal(line)
    assert shown.rstrip("\n").isprintable()
    assert json.loads(shown) == json.loads(line)
