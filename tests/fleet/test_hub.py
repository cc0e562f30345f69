"""Runs on the hub of Hugging Face (`hf://`) and in Google's object storage (`gs://`), by servers on this
machine that stand in for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.fleet.examine import examined
from hrmdoc.fleet.work import Request
from hrmdoc.settings import Settings
from tests.fleet import hub
from tests.fleet.runs_of import write_run

REQUEST = Request(Settings(), {})


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """Three runs, the second one sick."""
    for name in ("run_0", "run_1", "run_2"):
        write_run(tmp_path / "runs" / name, sick=name == "run_1")
    return {file.relative_to(tmp_path).as_posix(): file.read_bytes() for file in tmp_path.rglob("runs/*/*")}


def verdicts(root: str) -> list[tuple[str, str]]:
    found = (done.summary for done in examined(readers.runs_below(root), REQUEST))
    return sorted((run.path.removeprefix(root + "/"), run.verdict) for run in found)


EXPECTED = [("run_0", "healthy"), ("run_1", "critical"), ("run_2", "healthy")]


@pytest.fixture
def dataset(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """A path on the hub, and the requests that are made for it."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    from huggingface_hub import HfApi, HfFileSystem, constants

    HfFileSystem.clear_instance_cache()
    with hub.serving(files) as (address, asked):
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setenv("HF_ENDPOINT", address)
        assert HfApi().endpoint == address
        yield "hf://datasets/team/runs/runs", asked
    HfFileSystem.clear_instance_cache()


def test_runs_on_the_hub_are_listed_at_once_and_read(dataset: tuple[str, list[str]]) -> None:
    root, asked = dataset
    assert verdicts(root) == EXPECTED
    assert len([one for one in asked if "/tree/" in one]) == 1
    assert max(asked.count(one) for one in asked if "/resolve/" in one) <= 2  # its beginning, then all of it


def test_what_the_hub_does_not_hold_is_said(dataset: tuple[str, list[str]]) -> None:
    for path in ("hf://datasets/team/runs/nothing", "hf://datasets/team/other"):
        with pytest.raises(InputError, match="no such file or folder"):
            readers.runs_below(path)
    with pytest.raises(InputError, match=r"hf://nonsense: .*nonsense"):
        readers.runs_below("hf://nonsense")


def test_runs_in_a_bucket_of_google(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    gcsfs = pytest.importorskip("gcsfs", reason="gcsfs is not installed: pip install 'hrmdoc[remote]'")
    emulator = pytest.importorskip(
        "gcp_storage_emulator.server", reason="gcp-storage-emulator is not installed"
    )
    monkeypatch.setenv(
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false"
    )  # asks by gRPC, which only Google answers
    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
    server.start()
    try:
        address = f"http://127.0.0.1:{server._api._httpd.server_address[1]}"
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        gcsfs.GCSFileSystem.clear_instance_cache()
        store = gcsfs.GCSFileSystem()
        for name, data in files.items():
            store.pipe_file(f"bucket/{name}", data)
        assert verdicts("gs://bucket/runs") == EXPECTED
        with pytest.raises(InputError, match="no such file or folder"):
            readers.runs_below("gs://bucket/nothing")
    finally:
        server.stop()
        gcsfs.GCSFileSystem.clear_instance_cache()
