"""What a supervisor kept beside a log, which whoever prepared the folder may have planted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc.errors import InputError
from hrmdoc.paths import supervised_folder
from hrmdoc.supervision import place
from hrmdoc.supervision.attempts import Attempt
from hrmdoc.supervision.child import Child
from hrmdoc.supervision.state import FILE, State, load, save


@pytest.fixture
def log(tmp_path: Path) -> Path:
    supervised_folder(tmp_path / "train.log").mkdir()
    return tmp_path / "train.log"


def kept(log: Path, written: str) -> str:
    """Where a state that names this log has it."""
    save(log, State(attempts=(Attempt(1, written, "host", 1.0),)))
    state = load(log)
    assert state is not None
    return state.attempts[0].log


@pytest.mark.parametrize("named", ["/etc/train-2.log", "../../train-2.log", "train-2.log", "a/b/train-2.log"])
def test_the_log_of_an_attempt_lies_beside_the_first_whatever_the_state_says(log: Path, named: str) -> None:
    assert kept(log, named) == str(log.with_name("train-2.log"))


def test_a_name_that_is_no_unicode_is_kept(tmp_path: Path) -> None:
    log = tmp_path / os.fsdecode(b"l\xff.log")
    supervised_folder(log).mkdir()
    assert kept(log, str(log)) == str(log)


def test_a_log_that_found_no_room_there_is_found_where_it_was_kept(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place.tempfile, "gettempdir", lambda: str(tmp_path))
    spare, planted = tmp_path / f"{place.SPARE}x" / "train.log", tmp_path / f"{place.SPARE}y" / "train.log"
    spare.parent.mkdir()
    planted.parent.symlink_to("/etc")
    assert kept(log, str(spare)) == str(spare)
    assert kept(log, str(planted)) == str(log)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_what_is_no_disk_is_not_called_a_full_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert place.where_there_is_room(Path("/proc/x")) == Path("/proc/x")
    assert capsys.readouterr().err == ""


def test_a_state_nested_without_end_is_no_state(log: Path) -> None:
    (supervised_folder(log) / FILE).write_text('{"x":' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(InputError, match="no state of a supervisor"):
        load(log)


def test_a_pipe_in_the_place_of_a_state_or_status_is_not_waited_for(log: Path) -> None:
    folder = supervised_folder(log)
    os.mkfifo(folder / FILE)
    os.mkfifo(folder / "status")
    with pytest.raises(InputError, match="cannot be read"):
        load(log)
    assert Child.found(0, 0.0, folder / "status").status is None
