from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.remedies.planning import LOWER, planned


def test_a_patch_shows_the_change_as_a_git_diff_and_as_overrides(tmp_path: Path) -> None:
    patch = planned(tmp_path, "# run\nlr: 1e-4  # rate\nseed: 0\n", LOWER)
    name = (tmp_path / "c.yaml").as_posix().lstrip("/")
    assert patch.diff() == (
        f"--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n # run\n-lr: 1e-4  # rate\n+lr: 2e-5  # rate\n "
        f"seed: 0\n"
    )
    assert patch.overrides == "lr=2e-5"
    change = patch.changes[0]
    assert (change.key, change.path, change.before, change.after, change.line) == (
        "optimizer.lr",
        "lr",
        1e-4,
        2e-5,
        2,
    )
    assert (patch.risk, patch.why) == ("safe", "because")
    assert (tmp_path / "c.yaml").read_text() == "# run\nlr: 1e-4  # rate\nseed: 0\n"


def test_a_diff_tells_of_a_missing_newline_at_the_end(tmp_path: Path) -> None:
    assert (
        planned(tmp_path, "lr: 1e-4", LOWER)
        .diff()
        .endswith("-lr: 1e-4\n\\ No newline at end of file\n+lr: 2e-5\n\\ No newline at end of file\n")
    )


@pytest.mark.parametrize("text", ["lr: 1e-4\r\nseed: 0\r\n", "lr: 1e-4", "a: ü\n\nlr: 1e-4  # x\n\n\n"])
def test_git_applies_the_diff_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub dir").mkdir()
    patch = planned(tmp_path, text, LOWER, name="sub dir/c.yaml")
    assert "--- a/sub dir/c.yaml" in patch.diff()
    subprocess.run(["git", "apply", "-"], input=patch.diff().encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "sub dir" / "c.yaml").read_bytes() == patch.edits[0].after
