"""A large run that is being written is read on, not anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from hrmdoc.analysis import Analysis, Prepared
from hrmdoc.live import growing
from hrmdoc.web import following, rows
from hrmdoc.web.board import Board
from hrmdoc.web.roots import Roots
from tests.reports.runs_of import write_run
from tests.web.conftest import Here, settled


@pytest.fixture(autouse=True)
def small_runs_count_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "LARGE", 1000)
    monkeypatch.setattr(following, "_kept", type(following._kept)())


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    write_run(tmp_path / "runs" / "one")
    return Roots.of([str(tmp_path / "runs")])


def more(roots: Roots, first: int, last: int, loss: float = 0.5) -> None:
    with open(os.path.join(roots.paths[0], "one", "metrics.jsonl"), "a") as log:
        log.writelines(json.dumps({"step": step, "loss": loss}) + "\n" for step in range(first, last, 2))


def told(found: Analysis) -> tuple[Any, ...]:
    """What was found, but for times of day."""
    present = [(one.id, one.state, one.first_step, one.count) for one in found.symptoms if one.seen]
    return (
        found.verdict,
        present,
        [(one.cause, round(one.probability, 9)) for one in found.diagnosis.hypotheses],
    )


def test_it_is_found_what_a_reading_from_the_beginning_finds(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    (group,) = roots.runs()
    assert told(rows.examine(group, roots))[0] == "healthy"
    more(roots, 400, 440, float("nan"))
    followed = told(rows.examine(group, roots))
    monkeypatch.setattr(following, "LARGE", 1 << 40)
    assert followed == told(rows.examine(group, roots))
    assert followed[0] == "critical"


def test_only_what_was_appended_is_read(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    (group,) = roots.runs()
    rows.examine(group, roots)
    begun: list[int] = []
    take = growing.Growing._take_from

    def noted(self: growing.Growing, *args: Any) -> None:
        begun.append(self._offset)
        take(self, *args)

    monkeypatch.setattr(growing.Growing, "_take_from", noted)
    length = os.path.getsize(os.path.join(roots.paths[0], "one", "metrics.jsonl"))
    more(roots, 400, 420)
    assert rows.examine(group, roots).run.progress is not None
    assert begun == [length]


def test_a_file_that_is_new_is_read_too(roots: Roots) -> None:
    (group,) = roots.runs()
    rows.examine(group, roots)
    (Path(roots.paths[0]) / "one" / "train.log").write_text(
        "step 1 loss 2.0\nRuntimeError: CUDA out of memory\n"
    )
    (group,) = roots.runs()
    assert any(one.id.startswith("oom") for one in rows.examine(group, roots).findings)


def test_rules_that_changed_begin_anew(roots: Roots) -> None:
    (group,) = roots.runs()
    rows.examine(group, roots)
    before = following._kept[group.folder]
    rows.examine(group, roots)
    assert following._kept[group.folder] is before
    Path("hrmdoc.toml").write_text('disable = ["loss-spike"]\n')
    rows.examine(group, roots)
    assert following._kept[group.folder] is not before


def test_runs_beyond_the_memory_are_let_go_the_one_looked_at_longest_ago_first(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(Path(roots.paths[0]) / "two")
    monkeypatch.setattr(following, "MOST", 10)
    for group in roots.runs():
        following.follow(group, Prepared.of())
    assert [os.path.basename(folder) for folder in following._kept] == [os.path.basename(group.folder)]


def test_a_run_that_ended_and_a_packed_one_are_read_whole(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    (group,) = roots.runs()
    assert following.follows(group)
    packed = tuple(structs.replace(source, codec="gzip") for source in group.sources)
    assert not following.follows(structs.replace(group, sources=packed))
    monkeypatch.setattr(rows, "is_live", lambda _: False)
    rows.examine(group, roots)
    assert not following._kept


def test_large_live_runs_go_to_the_process_that_keeps_them(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Noting(Here):
        def __init__(self) -> None:
            super().__init__()
            self.runs: list[str] = []

        async def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
            self.runs.append(os.path.basename(args[0].folder))
            return await super().call(function, *args, **kwargs)

    write_run(Path(roots.paths[0]) / "small")
    monkeypatch.setattr(
        following, "LARGE", os.path.getsize(os.path.join(roots.paths[0], "one", "metrics.jsonl")) + 400
    )
    more(roots, 400, 440)
    workers, followers = Noting(), Noting()
    settled(Board(roots, workers, followers=followers))
    assert (workers.runs, followers.runs) == (["small"], ["one"])


@pytest.mark.parametrize("large", [1, 1 << 40])
def test_a_run_that_just_broke_off_is_not_called_healthy_while_more_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(following, "LARGE", large)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "train.log").write_text("RuntimeError: <b>CUDA out of memory</b>\n")
    roots = Roots.of([str(tmp_path / "runs")])
    (group,) = roots.runs()
    row = rows.row_of(group, roots)
    assert (row.verdict, row.state, row.live) == ("critical", "crashed", True)
