"""The commands that only read, on a machine without the modules that POSIX systems alone have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reports.runs_of import write_run

WITHOUT = """
import sys
import psutil  # of this system, so it needs what this system has
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
"""


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Runs, a config, and a start of Python that blocks the modules, in every process that is started."""
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(WITHOUT)
    write_run(tmp_path / "runs" / "sick", lr=0.8, sick_from=200)
    write_run(tmp_path / "runs" / "healthy")
    return tmp_path


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "blocked"), str(Path(__file__).parents[2])]),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_modules_are_really_away(there: Path) -> None:
    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
        assert "ModuleNotFoundError" in ran(there, "-c", f"import {name}").stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("analyze", "runs/sick"), 1, "CRITICAL"),
        (("series", "runs/sick"), 0, "learning_rate"),
        (("explain", "loss-nonfinite"), 0, "loss-nonfinite"),
        (("triage", "runs"), 1, "sick"),
        (("triage", "runs", "--jobs", "2"), 1, "sick"),
        (("report", "runs/sick", "-o", "one.html"), 0, ""),
        (("report", "runs", "-o", "many.html"), 0, ""),
        (("preflight", "runs/sick/config.yaml"), 0, ""),
        (("watch", "runs/sick", "--once"), 1, ""),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_what_reads_works_without_them(there: Path, words: tuple[str, ...], status: int, says: str) -> None:
    done = ran(there, "-m", "hrmdoc", *words)
    assert (done.returncode, "a fault of hrmdoc" in done.stderr) == (status, False), done.stderr
    assert says in done.stdout
    if words[0] == "report":
        assert "loss-nonfinite" in (there / words[-1]).read_text("utf-8")
