"""The site is built without a broken link, and the tutorial shows what is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "docs" / "make" / "output.py"


def output(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, OUTPUT, *words], capture_output=True, text=True, cwd=ROOT)


def test_the_tutorial_shows_what_its_commands_print() -> None:
    done = output("--check", "docs/tutorial.md")
    assert done.returncode == 0, done.stderr


def test_output_is_written_below_each_command_and_a_page_that_says_else_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```text title="a.txt"\nhello\n```\n\n```console\n$ cat a.txt\nold\n$ wc -l < a.txt\n```\n'
    )
    assert output("--check", page).returncode == 1
    assert "old" in page.read_text()
    assert output(page).returncode == 0
    assert page.read_text().endswith("```console\n$ cat a.txt\nhello\n$ wc -l < a.txt\n1\n```\n")
    assert output("--check", page).returncode == 0
