"""Nothing outside of the folders is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.errors import UsageError
from hrmdoc.web.roots import Roots, key_of
from hrmdoc.web.rows import examine
from tests.reports.runs_of import write_run


def test_a_folder_that_is_missing_or_no_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for path, said in ((tmp_path / "none", "no such folder"), (file, "is no folder")):
        with pytest.raises(UsageError, match=said):
            Roots.of([str(path)])


def test_the_default_is_runs_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Roots.of([]).paths == (str(tmp_path.resolve()),)
    (tmp_path / "runs").mkdir()
    assert Roots.of([]).paths == (str((tmp_path / "runs").resolve()),)


def test_links_lead_nowhere_outside(runs: Path, tmp_path: Path) -> None:
    secret = write_run(tmp_path / "secret", sick_from=100)
    (runs / "linked").symlink_to(secret)
    (runs / "folder").mkdir()
    (runs / "folder" / "metrics.jsonl").symlink_to(secret / "metrics.jsonl")
    roots = Roots.of([str(runs)])
    assert {roots.name(one.folder) for one in roots.runs()} == {"healthy", "sick", "hostile"}
    assert not roots.hold(runs / "linked" / "metrics.jsonl")
    assert not roots.hold(runs / ".." / "secret")
    assert not roots.hold(f"{runs}-beside")
    assert roots.hold(runs / "sick" / "not-there-yet")


def test_a_config_outside_is_neither_shown_nor_named_as_one_to_patch(runs: Path) -> None:
    (runs / "sick" / "config.yaml").rename(runs / "config.yaml")
    inside = Roots.of([str(runs / "sick")])
    (group,) = inside.runs()
    for roots, patched in ((inside, False), (Roots.of([str(runs)]), True)):
        offered = [one for group_ in examine(group, roots).prescriptions.values() for one in group_]
        assert any(one.patch and one.patch.edits for one in offered) is patched
        assert any("config.yaml" in one.diff for one in offered) is patched


def test_the_name_of_a_run_in_addresses_tells_nothing_of_its_path() -> None:
    assert key_of("/a/b") != key_of("/a/c")
    assert key_of("/a/b").isalnum()


def test_with_several_roots_each_run_tells_its_own(runs: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "other" / "x")
    roots = Roots.of([str(runs), str(tmp_path / "other")])
    assert {roots.name(one.folder) for one in roots.runs()} == {
        "runs/healthy",
        "runs/sick",
        "runs/hostile",
        "other/x",
    }


def test_the_first_run_keeps_its_name_when_a_second_appears(tmp_path: Path) -> None:
    roots = Roots.of([str(tmp_path)])
    write_run(tmp_path / "first")
    (alone,) = roots.runs()
    write_run(tmp_path / "second")
    assert roots.name(alone.folder) == "first"
    assert alone.folder in {one.folder for one in roots.runs()}


def test_a_run_is_patched_in_its_own_config_before_one_above_it(runs: Path) -> None:
    (runs / "base.yaml").write_text("epochs: 3\nlearning_rate: 0.8\nwarmup_steps: 0\n")
    roots = Roots.of([str(runs)])
    group = next(one for one in roots.runs() if one.folder.endswith("sick"))
    offered = [one for group_ in examine(group, roots).prescriptions.values() for one in group_ if one.patch]
    assert {edit.path.parent.name for one in offered if one.patch for edit in one.patch.edits} == {"sick"}
