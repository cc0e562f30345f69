"""Runs in object storage, by a real S3 server on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.fleet.examine import examined
from hrmdoc.fleet.store import Store
from hrmdoc.fleet.triage import Asked, Triage
from hrmdoc.fleet.work import Request
from hrmdoc.readers.sources import remote
from hrmdoc.readers.sources.beginning import Listing
from hrmdoc.settings import Settings
from tests.fleet.runs_of import write_run

pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'hrmdoc[remote]'")
server = pytest.importorskip("moto.server", reason="moto's S3 server is not installed")
REQUEST = Request(Settings(), {})


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Three runs in a bucket, the second one sick, with a picture that is passed by."""
    import fsspec

    started = server.ThreadedMotoServer(port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    fsspec.filesystem("s3").clear_instance_cache()
    files.makedirs("bucket", exist_ok=True)
    for name in ("run_0", "run_1", "run_2"):
        write_run(tmp_path / name, sick=name == "run_1")
        (tmp_path / name / "plot.png").write_bytes(b"\x89PNG")
        for file in (tmp_path / name).iterdir():
            files.pipe_file(f"bucket/runs/{name}/{file.name}", file.read_bytes())
    yield "s3://bucket/runs"
    started.stop()
    fsspec.filesystem("s3").clear_instance_cache()


def test_runs_in_a_bucket_are_those_of_the_folder(bucket: str, tmp_path: Path) -> None:
    found = {done.summary.path: done.summary for done in examined(readers.runs_below(bucket), REQUEST)}
    here = [done.summary for done in examined(readers.runs_below(tmp_path), REQUEST)]
    assert sorted(found) == [f"{bucket}/run_{number}" for number in range(3)]
    told = [(run.verdict, run.headline, run.account, run.settings) for _, run in sorted(found.items())]
    assert told == [
        (run.verdict, run.headline, run.account, run.settings) for run in sorted(here, key=lambda r: r.path)
    ]


def test_another_process_reads_them_too_and_patterns_are_resolved(bucket: str) -> None:
    groups = readers.runs_below(f"{bucket}/run_*")
    assert len(groups) == 3
    verdicts = sorted(done.summary.verdict for done in examined(groups, REQUEST, jobs=1))
    assert verdicts == ["critical", "healthy", "healthy"]


def test_a_second_look_costs_the_listing_alone(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known_again() -> int:
        store = Store(tmp_path / "cache.sqlite")
        try:
            return Triage([bucket], REQUEST, store).run(Asked(), lambda _: lambda _: None).known
        finally:
            store.close()

    assert known_again() == 0
    monkeypatch.setattr(
        remote, "heads", lambda *_: iter(()) if not list(_[0]) else pytest.fail("a head was read")
    )
    assert known_again() == 3


def test_an_object_is_read_in_pieces_to_its_listed_end(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PIECE", 100)
    path = f"{bucket}/run_0/train.log"
    size = remote.store(path).info(path)["size"]
    whole = remote.store(path).cat_file(path)
    with remote.opened(path, size) as file:
        assert file.read() == whole
    with remote.opened(path, 250) as file:
        assert file.read() == whole[:250]


def test_what_is_not_there_and_what_cannot_be_reached_is_said(bucket: str) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        readers.runs_below("s3://bucket/nothing", how=Listing())
    with pytest.raises(InputError, match="s3://elsewhere/runs"):
        readers.runs_below("s3://elsewhere/runs")
    assert os.environ["AWS_ENDPOINT_URL"]
