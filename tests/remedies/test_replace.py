"""A file is replaced as a whole, and stays what it was but for its bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hrmdoc.remedies import replace as module
from hrmdoc.remedies.replace import replace


def test_a_new_file_may_be_read_by_all_and_written_by_its_owner(tmp_path: Path) -> None:
    replace(tmp_path / "new.yaml", b"a: 1\n")
    assert (tmp_path / "new.yaml").read_bytes() == b"a: 1\n"
    assert stat.S_IMODE((tmp_path / "new.yaml").stat().st_mode) == 0o644


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_rights_and_nothing_lies_beside_it(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a: 1\n")
    file.chmod(mode)
    replace(file, b"a: 2\n")
    assert file.read_bytes() == b"a: 2\n"
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert os.listdir(tmp_path) == ["config.yaml"]


def test_a_file_is_replaced_in_one_step_unless_it_has_another_name(tmp_path: Path) -> None:
    file, other = tmp_path / "config.yaml", tmp_path / "other.yaml"
    file.write_bytes(b"a: 1\n")
    before = file.open("rb")
    replace(file, b"a: 2\n")
    assert before.read() == b"a: 1\n"
    other.hardlink_to(file)
    replace(file, b"a: 3\n")
    assert other.read_bytes() == b"a: 3\n"


def test_extended_attributes_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a: 1\n")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system keeps no extended attributes")
    replace(file, b"a: 2\n")
    assert os.getxattr(file, "user.note") == b"kept"


def test_where_owner_or_attributes_cannot_be_given_to_a_new_file_the_old_one_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a: 1\n")
    before = file.stat().st_ino
    monkeypatch.setattr(module, "_make_alike", lambda *_: False)
    replace(file, b"a: 22\n")
    assert (file.read_bytes(), file.stat().st_ino) == (b"a: 22\n", before)
    assert os.listdir(tmp_path) == ["config.yaml"]


def test_a_failed_write_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a: 1\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace(file, b"a: 2\n")
    assert file.read_bytes() == b"a: 1\n"
    assert os.listdir(tmp_path) == ["config.yaml"]
