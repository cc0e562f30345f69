"""The same work on Ray, with two workers of this machine, one of which is killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.fleet.examine import examined
from hrmdoc.fleet.work import Request
from hrmdoc.settings import Settings
from tests.fleet.runs_of import write_run
from tests.fleet.test_examine import Deadly, summaries

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hrmdoc[ray]'")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_says_the_same_and_a_killed_worker_costs_its_own_row(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        write_run(tmp_path / f"run_{number}", sick=number == 3)
    groups = readers.runs_below(tmp_path)
    request = Request(Settings(), {})
    here = summaries(done for group in groups for done in examined([group], request))
    there = summaries(examined([*groups, Deadly(os._exit, 1)], request, name="ray", jobs=2))
    deadly = there.pop("deadly")
    assert "ended" in deadly.fault
    assert there == here
    assert capfd.readouterr().out == "", "what Ray says of its workers is no data"
