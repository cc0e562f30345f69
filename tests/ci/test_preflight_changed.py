"""The GitHub Action and the pre-commit hook: what they run, on repositories made here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "preflight_changed"
SOUND = "learning_rate: 1.0e-4\nseed: 1\n"
SICK = "learning_rate: 5.0\nper_device_train_batch_size: 8\noptim: adamw_torch\nseed: 1\n"
PATHS = ":(glob)**/config*/**/*.y*ml"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def loaded(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text())


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.email=a@example.org", "-c", "user.name=a", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *own, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One whose first commit holds a sick config."""
    folder = tmp_path / "repository"
    (folder / "configs").mkdir(parents=True)
    (folder / "configs" / "old.yaml").write_text(SICK)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def check(folder: Path, **words: str) -> tuple[int, str]:
    """What the script of the action exits with and prints."""
    beside = folder.parent / "bin"
    beside.mkdir(exist_ok=True)
    (beside / "hrmdoc").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hrmdoc "$@"\n')
    (beside / "hrmdoc").chmod(0o755)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")},
        "PATH": f"{beside}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PATHS": PATHS,
        **words,
    }
    done = subprocess.run(
        ["bash", str(SCRIPT)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_only_configs_that_the_change_touches_are_checked(repository: Path) -> None:
    base = git(repository, "rev-parse", "HEAD")
    (repository / "configs" / "new one,$(touch ran).yaml").write_text(SICK)
    (repository / "elsewhere.yaml").write_text(SICK)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    summary, report = repository.parent / "summary.md", repository.parent / "found.sarif"
    status, out = check(repository, BASE=base, GITHUB_STEP_SUMMARY=str(summary), SARIF=str(report))
    assert status == 1
    assert "file=configs/new one%2C$(touch ran).yaml,line=1,title=hrmdoc lr-extreme" in out
    assert "old.yaml" not in out
    assert "elsewhere" not in out
    assert not (repository / "ran").exists()
    assert "lr-extreme" in summary.read_text()
    assert '"ruleId": "lr-extreme"' in report.read_text()


def test_all_are_checked_where_nobody_knows_what_changed(repository: Path) -> None:
    for base in ("", "0" * 40, "f" * 40):
        assert "file=configs/old.yaml,line=1" in check(repository, BASE=base, FAIL_ON="critical")[1]


def test_a_change_without_configs_passes(repository: Path) -> None:
    base = git(repository, "rev-parse", "HEAD")
    (repository / "readme.txt").write_text("x")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    assert check(repository, BASE=base) == (0, "hrmdoc: no training config changed\n")


def test_the_action_runs_that_script_and_puts_no_input_into_the_text_of_a_step() -> None:
    action = loaded("action.yml")
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" and "${{" not in step["run"] for step in steps)
    assert ".ci/preflight_changed" in steps[-1]["run"]
    named = re.findall(r"inputs\.([\w-]+)", " ".join(steps[-1]["env"].values()))
    assert set(named) == set(action["inputs"])
    read = set(re.findall(r"\$\{([A-Z_]+)", SCRIPT.read_text())) | {"BASE"}
    assert set(steps[-1]["env"]) <= read


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("configs/run.yaml", True),
        ("train_7b.yml", True),
        ("a/ds_config.json", True),
        (".github/workflows/config.yml", True),
        ("docker-compose.yml", False),
        ("model/tokenizer_config.json", False),
        ("src/train.py", False),
    ],
)
def test_the_hook_looks_at_files_that_are_named_as_training_configs(name: str, wanted: bool) -> None:
    [hook] = loaded(".pre-commit-hooks.yaml")
    found = re.search(hook["files"], name) is not None and re.search(hook["exclude"], name) is None
    assert found == (wanted and not name.startswith("."))


def test_the_hook_calls_a_command_that_takes_file_names(repository: Path) -> None:
    [hook] = loaded(".pre-commit-hooks.yaml")
    command = [sys.executable, "-m", *hook["entry"].split(), "configs/old.yaml"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "configs/old.yaml:1" in done.stdout
