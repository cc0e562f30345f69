"""Names of objects, which are anybody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.analysis import AnalysisSession
from tests.fleet.runs_of import write_run

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'hrmdoc[remote]'")


@pytest.mark.parametrize("name", ["metrics.csv::nowhere", "x::file:/etc/passwd::metrics.csv"])
def test_a_name_in_a_store_opens_no_other_place(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / "run")
    files = fsspec.filesystem("memory")
    content = max((one.read_bytes() for one in (tmp_path / "run").iterdir()), key=len)
    files.pipe(f"/hostile/run/{name}", content)
    try:
        (group,) = readers.runs_below(["memory://hostile"], [])
        session = AnalysisSession(group.folder)
        session.try_to_read_run(group)
        assert session.diagnose(closed=True).run.series
    finally:
        files.rm("/hostile", recursive=True)
