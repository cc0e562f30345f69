from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.errors import PatchError
from hrmdoc.remedies.patch import FileEdit, Patch
from hrmdoc.remedies.store import history, undo, write


def patch(path: Path, after: bytes, *more: FileEdit) -> Patch:
    return Patch(
        "lower-lr", "t", "safe", "w", "hrm", (), (FileEdit(path, path.read_bytes(), after), *more), ""
    )


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "work" / "config.yaml"
    path.parent.mkdir()
    path.write_bytes(b"lr: 1e-4\r\n")
    path.chmod(0o640)
    return path


def test_writing_keeps_a_backup_and_the_mode_bits(config: Path) -> None:
    (entry,) = write(patch(config, b"lr: 2e-5\r\n"))
    assert config.read_bytes() == b"lr: 2e-5\r\n"
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    assert (config.parent / ".hrmdoc" / "backups" / entry.backup).read_bytes() == b"lr: 1e-4\r\n"
    assert sorted(item.name for item in config.parent.iterdir()) == [".hrmdoc", "config.yaml"]


def test_undo_gives_the_original_bytes_in_reverse_order(config: Path) -> None:
    write(patch(config, b"two"))
    write(patch(config, b"three"))
    assert [entry.remedy for entry in history(config)] == ["lower-lr", "lower-lr"]
    undo(config)
    assert config.read_bytes() == b"two"
    undo(config)
    assert config.read_bytes() == b"lr: 1e-4\r\n"
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    with pytest.raises(PatchError, match="was taken back already"):
        undo(config)


def test_a_patch_after_an_undo_can_be_undone_again(config: Path) -> None:
    write(patch(config, b"two"))
    undo(config)
    write(patch(config, b"two"))
    undo(config)
    assert config.read_bytes() == b"lr: 1e-4\r\n"
    assert history(config) == ()


def test_an_edit_after_the_patch_stops_undo_unless_forced(config: Path) -> None:
    write(patch(config, b"two"))
    config.write_bytes(b"mine")
    with pytest.raises(PatchError, match="edited after the patch"):
        undo(config)
    assert config.read_bytes() == b"mine"
    undo(config, force=True)
    assert config.read_bytes() == b"lr: 1e-4\r\n"


def test_a_file_that_changed_since_it_was_read_is_not_written(config: Path) -> None:
    planned = patch(config, b"two")
    config.write_bytes(b"mine")
    with pytest.raises(PatchError, match="changed meanwhile"):
        write(planned)
    assert config.read_bytes() == b"mine"
    assert not (config.parent / ".hrmdoc").exists()


def test_a_read_only_file_is_not_written(config: Path) -> None:
    config.chmod(0o444)
    with pytest.raises(PatchError, match="read-only"):
        write(patch(config, b"two"))
    assert config.read_bytes() == b"lr: 1e-4\r\n"


def test_when_one_of_two_files_fails_neither_is_written(config: Path) -> None:
    other = config.parent / "other.yaml"
    other.write_bytes(b"x: 1\n")
    planned = patch(config, b"two", FileEdit(other, b"x: 0\n", b"x: 2\n"))
    with pytest.raises(PatchError, match=r"other\.yaml: the file was changed meanwhile"):
        write(planned)
    assert config.read_bytes() == b"lr: 1e-4\r\n"


def test_a_write_that_fails_takes_the_files_before_it_back(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "o.yaml"
    other.parent.mkdir()
    other.write_bytes(b"x: 1\n")
    (other.parent / ".hrmdoc").write_text("a file in the way")
    (tmp_path / "state").write_text("another one")
    with pytest.raises(PatchError, match="cannot write"):
        write(patch(config, b"two", FileEdit(other, b"x: 1\n", b"x: 2\n")))
    assert config.read_bytes() == b"lr: 1e-4\r\n"
    assert other.read_bytes() == b"x: 1\n"
    assert history(config) == ()


def test_where_no_folder_can_be_made_the_backup_goes_to_the_state_folder(
    config: Path, tmp_path: Path
) -> None:
    (config.parent / ".hrmdoc").write_text("a file in the way")
    write(patch(config, b"two"))
    assert list((tmp_path / "state").rglob("*-config.yaml"))
    undo(config)
    assert config.read_bytes() == b"lr: 1e-4\r\n"


def test_a_link_that_was_swapped_in_is_not_followed(config: Path, tmp_path: Path) -> None:
    planned = patch(config, b"two")
    target = tmp_path / "elsewhere.yaml"
    target.write_bytes(config.read_bytes())
    config.unlink()
    config.symlink_to(target)
    with pytest.raises(PatchError, match="outside its folder"):
        write(planned)
    assert target.read_bytes() == b"lr: 1e-4\r\n"


def test_a_damaged_backup_is_not_restored(config: Path) -> None:
    (entry,) = write(patch(config, b"two"))
    (config.parent / ".hrmdoc" / "backups" / entry.backup).write_bytes(b"other")
    with pytest.raises(PatchError, match="backup is damaged"):
        undo(config)
    assert config.read_bytes() == b"two"


def test_a_torn_last_line_of_the_journal_is_passed_over_and_a_damaged_one_is_told(config: Path) -> None:
    write(patch(config, b"two"))
    journal = config.parent / ".hrmdoc" / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"id": "00')
    assert len(history(config)) == 1
    write(patch(config, b"three"))
    assert len(history(config)) == 2
    journal.write_bytes(b"rubbish\n" + whole)
    with pytest.raises(PatchError, match=r"journal\.jsonl:1: the journal is damaged"):
        undo(config)


def test_a_patch_without_files_is_told_apart() -> None:
    with pytest.raises(PatchError, match="no file to write"):
        write(Patch("r", "t", "safe", "w", "hf", (), (), "lr=1"))


def test_writing_keeps_the_owner(config: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(config, 1234, 2345)
    write(patch(config, b"two"))
    assert (config.stat().st_uid, config.stat().st_gid) == (1234, 2345)
    undo(config)
    assert (config.stat().st_uid, config.stat().st_gid) == (1234, 2345)


def test_an_owner_that_cannot_be_given_to_a_new_file_keeps_the_old_one(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    inode, status = config.stat().st_ino, os.stat_result
    monkeypatch.setattr(os, "fchown", refused)
    monkeypatch.setattr("hrmdoc.remedies.replace.os.fstat", lambda _: status((0o100600, *[9] * 9)))
    write(patch(config, b"a longer text than before\n"))
    monkeypatch.undo()
    assert config.read_bytes() == b"a longer text than before\n"
    assert config.stat().st_ino == inode


def test_writing_keeps_extended_attributes(config: Path) -> None:
    try:
        os.setxattr(config, "user.purpose", b"sweep 3")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    write(patch(config, b"two"))
    assert os.getxattr(config, "user.purpose") == b"sweep 3"


def test_every_name_of_a_file_shows_the_patch_and_its_undo(config: Path) -> None:
    other = config.with_name("shared.yaml")
    other.hardlink_to(config)
    write(patch(config, b"two"))
    assert other.read_bytes() == b"two"
    assert other.samefile(config)
    undo(config)
    assert other.read_bytes() == b"lr: 1e-4\r\n"
    assert other.samefile(config)


def test_a_planted_link_for_the_backups_is_not_followed(config: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (config.parent / ".hrmdoc").symlink_to(elsewhere)
    write(patch(config, b"two"))
    assert list(elsewhere.rglob("*config.yaml")) == []
    undo(config)
    assert config.read_bytes() == b"lr: 1e-4\r\n"


def test_parallel_writers_of_one_folder_lose_no_entry_and_no_backup(config: Path) -> None:
    paths = [config.with_name(f"c{number}.yaml") for number in range(8)]
    for path in paths:
        path.write_bytes(b"old")
    threads = [threading.Thread(target=write, args=(patch(path, b"new"),)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for path in paths:
        assert len(history(path)) == 1
        undo(path)
        assert path.read_bytes() == b"old"


def test_of_two_writers_of_one_file_the_second_is_told_that_it_changed(config: Path) -> None:
    first, second = patch(config, b"two"), patch(config, b"three")
    write(first)
    with pytest.raises(PatchError, match="changed meanwhile"):
        write(second)
    assert config.read_bytes() == b"two"


@settings(max_examples=25, deadline=None)
@given(contents=st.lists(st.binary(max_size=60), min_size=2, max_size=5))
def test_any_stack_of_patches_unwinds_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("stack") / "c.yaml"
    path.write_bytes(contents[0])
    for blob in contents[1:]:
        write(patch(path, blob))
    for blob in reversed(contents[:-1]):
        undo(path)
        assert path.read_bytes() == blob


def test_a_patch_can_be_taken_back_where_the_folder_was_moved(config: Path) -> None:
    write(patch(config, b"lr: 2e-5\r\n"))
    moved = config.parent.rename(config.parent.with_name("elsewhere")) / config.name
    assert undo(moved).file == str(moved)
    assert moved.read_bytes() == b"lr: 1e-4\r\n"
    assert history(moved) == ()


def test_a_file_that_is_gone_is_called_gone(config: Path) -> None:
    write(patch(config, b"lr: 2e-5\r\n"))
    config.unlink()
    with pytest.raises(PatchError, match="is not there any more"):
        undo(config)
    undo(config, force=True)
    assert config.read_bytes() == b"lr: 1e-4\r\n"


def test_a_journal_of_which_nothing_can_be_read_is_named(config: Path) -> None:
    write(patch(config, b"lr: 2e-5\r\n"))
    journal = config.parent / ".hrmdoc" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:40])
    with pytest.raises(PatchError, match="the last line of the journal is torn") as caught:
        undo(config)
    assert caught.value.file == str(journal)
