"""Which file beside a run is the config that it was probably started from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hrmdoc.examination.examine import Situation
from hrmdoc.record.run import Run
from hrmdoc.remedies import launched
from hrmdoc.remedies.launched import probable_configs
from hrmdoc.remedies.own_config import config_facts
from hrmdoc.remedies.targets import targets
from hrmdoc.rulebook import ConfigKey, Framework, Rulebook

OWN = Framework(
    "own",
    "Own",
    config={"optimizer.lr": ConfigKey(("lr",)), "data.batch_size": ConfigKey(("batch",), "int")},
)
BOOK = Rulebook(frameworks={"own": OWN})
FACTS: dict[str, Any] = {"optimizer.lr": 0.1, "data.batch_size": 8}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of a run, far from the working folder."""
    (tmp_path / "work" / "conf").mkdir(parents=True)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "runs" / "a"


def probable(folder: Path, facts: dict[str, Any] | None = None, *, within: Path | None = None) -> list[Path]:
    def inside(path: Path) -> bool:
        return within is None or within in [path.resolve(), *path.resolve().parents]

    return list(probable_configs(folder, "own", FACTS if facts is None else facts, BOOK, inside))


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("lr: 0.1\nbatch: 8\n", True),
        ("lr: 0.1\n", True),
        ("lr: 0.1\nbatch: 9\n", False),  # contradicts the run
        ("lr: 0.1\nbatch: 0\n", True),  # says nothing of it
        ("lr: 0.1\nbatch: auto\n", True),
        ("lr: 0.105\n", True),  # rounded, or a step of decay later
        ("lr: 0.106\n", False),
        ("lr: 0.2\nbatch: 8\n", False),
        ("batch: 8\n", False),  # the rate is what tells
        ("lr: [\n", False),
    ],
)
def test_a_config_is_the_runs_where_its_rate_agrees_and_nothing_contradicts(
    folder: Path, text: str, taken: bool
) -> None:
    path = folder / "mine.yaml"
    path.write_text(text)
    assert (probable(folder) == [path]) is taken
    assert probable(folder, {}) == []
    assert probable(folder, {"optimizer.lr": "auto"}) == []
    told = targets(Run(str(folder)), Situation(FACTS, "own"), BOOK)
    assert told.files == ((path,) if taken else ())
    assert told.unnamed == frozenset(told.files), "which the user has yet to name"


def test_it_is_looked_for_beside_the_run_above_it_and_where_one_works(folder: Path) -> None:
    work = Path.cwd()
    places = [folder, folder.parent, work, work / "conf", work / "config", work / "configs"]
    found = []
    for place in places:
        place.mkdir(exist_ok=True)
        found.append(place / "mine.yml")
        found[-1].write_text("lr: 0.1\n")
    (folder.parent.parent / "far.yaml").write_text("lr: 0.1\n")
    (folder / "mine.toml").write_text("lr: 0.1\n")
    (folder / "folder.yaml").mkdir()
    assert probable(folder) == found
    assert probable(folder, within=folder) == [folder / "mine.yml"]
    assert probable(folder / "gone") == [folder / "mine.yml", *found[2:]]


def test_of_many_files_the_first_hundred_are_looked_at(folder: Path) -> None:
    for number in range(99):
        (folder / f"{number:03d}.txt").touch()
    (folder / "x.yaml").write_text("lr: 0.1\n")
    (folder / "y.yaml").write_text("lr: 0.1\n")
    assert probable(folder) == [folder / "x.yaml"]


def test_a_file_that_never_names_the_rate_is_not_parsed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []
    monkeypatch.setattr(launched, "config_facts", lambda path: parsed.append(path.name) or config_facts(path))
    (folder / "a.yaml").write_text("already: 0.1\nbatch: 8\nlrs: [0.1]\n")
    (folder / "b.yaml").write_text("# its LR is below\nlr: 0.1\n")
    (folder / "c.yaml").write_bytes(b"lr: \xff\n")
    assert probable(folder) == [folder / "b.yaml"]
    assert parsed == ["b.yaml"]
