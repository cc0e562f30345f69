"""Which commit a measurement was made at."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str:
    """Short id of the commit of this checkout, or `unknown` outside one."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
