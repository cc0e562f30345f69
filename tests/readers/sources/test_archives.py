"""Zip and tar files of logs."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

import hrmdoc
from hrmdoc import readers
from hrmdoc.errors import InputError, UsageError
from hrmdoc.readers.sources import archives
from hrmdoc.readers.support import budget
from hrmdoc.record.records import Damage

LOG = "".join(f"step {at} loss {3 - at / 100:.3f}\n" for at in range(1, 200))


def _zip(path: Path, members: dict[str, str], **more: int) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text, **more)
    return str(path)


def _tar(path: Path, members: dict[str, str], mode: str = "w:gz") -> str:
    with tarfile.open(path, mode) as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(text), 1_700_000_000
            archive.addfile(info, io.BytesIO(text.encode()))
    return str(path)


def _found(path: str) -> tuple[list[readers.Source], list[Damage]]:
    problems: list[Damage] = []
    return readers.discover(path, problems, unpacking=True), problems


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tgz", "tar.xz", "tar.bz2"])
def test_an_archive_is_read_as_the_folder_that_it_holds(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"logs.{ending}"
    if ending == "zip":
        _zip(path, {"a/train.log": LOG, "a/weights.pt": "no log"})
    else:
        _tar(
            path,
            {"a/train.log": LOG, "a/weights.pt": "no log"},
            {"tar": "w", "tgz": "w:gz"}.get(ending, f"w:{ending[4:]}"),
        )
    run = hrmdoc.analyze(path).run
    assert {series.key.metric: len(series.values) for series in run.series.values()} == {"loss": 199}
    (source,), problems = _found(str(path))
    assert source.path == f"{path}/a/train.log"
    assert not problems


def test_one_run_of_an_archive_can_be_named(tmp_path: Path) -> None:
    path = _zip(
        tmp_path / "logs.zip", {"one/train.log": LOG, "two/train.log": LOG.replace("loss", "val_loss")}
    )
    (source,), _ = _found(f"{path}/two")
    assert source.path == f"{path}/two/train.log"
    (source,), _ = _found(f"{path}/one/train.log")
    assert source.path == f"{path}/one/train.log"
    with pytest.raises(InputError, match="holds no 'three'"):
        _found(f"{path}/three")
    with pytest.raises(InputError, match="holds no"):
        _found(f"{path}/../../etc/hosts")


def test_the_time_of_a_member_is_when_it_was_written(tmp_path: Path) -> None:
    (source,), _ = _found(_tar(tmp_path / "logs.tgz", {"train.log": LOG}))
    assert source.mtime == 1_700_000_000


@pytest.mark.parametrize(
    "name", ["../train.log", "/tmp/train.log", "a/../../train.log", "C:\\train.log", "..\\train.log"]
)
def test_a_name_that_points_outside_is_left_out(tmp_path: Path, name: str) -> None:
    path = _zip(tmp_path / "logs.zip", {name: LOG, "good.log": LOG, "/tmp/weights.pt": "x"})
    found, problems = _found(path)
    assert [source.path for source in found] == [f"{path}/good.log"]
    (told,) = problems
    assert (told.what, told.incomplete) == ("names a file outside of itself; left out", True)


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "logs.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (
            ("a.log", tarfile.SYMTYPE),
            ("b.log", tarfile.LNKTYPE),
            ("c.log", tarfile.FIFOTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/hosts"
            archive.addfile(info)
        info = tarfile.TarInfo("d.log")
        info.size = len(LOG)
        archive.addfile(info, io.BytesIO(LOG.encode()))
    assert [os.path.basename(source.path) for source in _found(str(path))[0]] == ["d.log"]


def test_what_stands_before_a_cut_is_read_and_the_cut_is_told(tmp_path: Path) -> None:
    whole = Path(_tar(tmp_path / "logs.tar", {"a.log": LOG, "b.log": LOG}, "w")).read_bytes()
    path = tmp_path / "cut.tar"
    path.write_bytes(whole[: whole.index(b"b.log") + 512 + 1500])
    found, problems = _found(str(path))
    assert [os.path.basename(source.path) for source in found] == ["a.log", "b.log"]
    assert any("damaged" in problem.what for problem in problems)


def test_a_packed_archive_that_ends_too_early_gives_what_came(tmp_path: Path) -> None:
    numbers = "".join(f"step {at} loss {hash(str(at)) % 997 / 99}\n" for at in range(20_000))
    whole = Path(_tar(tmp_path / "logs.tgz", {"a.log": numbers})).read_bytes()
    path = tmp_path / "cut.tgz"
    path.write_bytes(whole[: len(whole) // 2])
    run = hrmdoc.analyze(path).run
    assert 1_000 < len(next(iter(run.series.values())).values) < 20_000
    assert any("damaged" in damage.what for damage in run.damages)


def test_an_encrypted_archive_and_one_that_is_none_are_refused_by_name(tmp_path: Path) -> None:
    path = Path(_zip(tmp_path / "logs.zip", {"train.log": LOG}))
    blob = bytearray(path.read_bytes())
    blob[6] |= 1
    blob[blob.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(blob)
    with pytest.raises(InputError, match="encrypted"):
        _found(str(path))
    path.write_bytes(b"PK\x03\x04" + b"x" * 100)
    with pytest.raises(InputError, match="cannot be unpacked"):
        _found(str(path))


def test_weights_are_no_archive_of_logs(tmp_path: Path) -> None:
    path = _zip(tmp_path / "checkpoint", {"archive/data.pkl": "x", "archive/data/0": LOG})
    with pytest.raises(InputError, match="weights"):
        _found(path)
    assert not archives.is_archive("model.pt", b"PK\x03\x04")


def test_what_grows_beyond_all_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_SMALL", 1 << 16)
    with pytest.raises(InputError, match="grows more than"):
        _found(_zip(tmp_path / "logs.zip", {"a.log": "0" * (16 << 20)}))


def test_more_files_than_anybody_has_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_FILES", 2)
    found, problems = _found(_zip(tmp_path / "logs.zip", {f"{at}.log": LOG for at in range(4)}))
    assert len(found) == 2
    assert "cut there" in problems[0].what
    assert problems[0].incomplete


def test_an_archive_is_not_followed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not grow"):
        readers.discover(_zip(tmp_path / "logs.zip", {"a.log": LOG}))


def test_the_folder_of_an_archive_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    plain = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **options: made.append("") or plain(**options))
    path = _zip(tmp_path / "logs.zip", {"a.log": LOG})
    _found(path)
    _found(path)
    assert len(made) == 1
