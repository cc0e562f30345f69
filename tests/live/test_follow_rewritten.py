"""hrmdoc.live.follow: a table that is written anew in place, with another column in its header, is read
again."""

from __future__ import annotations

from pathlib import Path

from hrmdoc.live.follow import Follower
from hrmdoc.readers.support.base import nothing_wanted
from hrmdoc.record.run import Run


def table(path: Path, header: str, rows: list[str]) -> None:
    path.write_text("\n".join([header, *rows]) + "\n")


def points(run: Run) -> dict[str, list[float]]:
    return {key.metric: series.values.tolist() for key, series in run.series.items()}


def test_a_header_that_widens_does_not_shift_the_columns_or_count_rows_twice(tmp_path: Path) -> None:
    path, run = tmp_path / "metrics.csv", Run()
    table(path, "step,train_loss", ["0,2.0", "1,1.5", "2,1.2"])
    follower = Follower([str(tmp_path)], run, nothing_wanted)
    follower.poll()
    assert points(run) == {"train_loss": [2.0, 1.5, 1.2]}
    table(path, "step,train_loss,val_loss", ["0,2.0,", "1,1.5,", "2,1.2,", "2,,1.4"])
    follower.poll()
    assert points(run) == {"train_loss": [2.0, 1.5, 1.2], "val_loss": [1.4]}


def test_a_file_that_only_grows_is_not_read_again(tmp_path: Path) -> None:
    path, run = tmp_path / "metrics.csv", Run()
    table(path, "step,train_loss", ["0,2.0"])
    follower = Follower([str(tmp_path)], run, nothing_wanted)
    follower.poll()
    with path.open("a") as file:
        file.write("1,1.5\n")
    follower.poll()
    assert points(run) == {"train_loss": [2.0, 1.5]}
