"""benchmarks/formats.md says of every artefact what is read from it today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_formats_is_true() -> None:
    found = subprocess.run(
        [sys.executable, "benchmarks/formats.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
