from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc.errors import PatchError
from hrmdoc.remedies.planner import plan
from tests.remedies.planning import HRM, LOWER, after, remedy


@pytest.mark.parametrize(
    ("blob", "what"),
    [
        (b"lr: 1\0", "binary file"),
        ("lr: ü".encode("latin-1"), "not UTF-8"),
        (b"# \n" * 400_000, "more than a config file has"),
    ],
)
def test_a_file_that_is_no_text_config_is_refused(tmp_path: Path, blob: bytes, what: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(blob)
    with pytest.raises(PatchError, match=what):
        plan(remedy(LOWER), {}, HRM, [path])


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="No such file"):
        plan(remedy(LOWER), {}, HRM, [tmp_path / "none.yaml"])
    with pytest.raises(PatchError, match="not a regular file"):
        plan(remedy(LOWER), {}, HRM, [tmp_path])


def test_a_link_inside_its_folder_is_followed_and_one_out_of_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "real.yaml").write_text("lr: 1e-4\n")
    (tmp_path / "near.yaml").symlink_to("real.yaml")
    (tmp_path / "in" / "far.yaml").symlink_to("../real.yaml")
    assert after(plan(remedy(LOWER), {}, HRM, [tmp_path / "near.yaml"])) == "lr: 2e-5\n"
    with pytest.raises(PatchError, match="outside its folder"):
        plan(remedy(LOWER), {}, HRM, [tmp_path / "in" / "far.yaml"])


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.yaml")
    with pytest.raises(PatchError, match="not a regular file"):
        plan(remedy(LOWER), {}, HRM, [tmp_path / "c.yaml"])
