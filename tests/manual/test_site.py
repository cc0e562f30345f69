"""The site is built without a broken link, and the tutorial shows what is printed."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

from hrmdoc.reports.layout import RISKS

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "docs" / "make" / "output.py"
PICTURE = ROOT / "docs" / "analyze.svg"
_DRAWN = re.compile(r"<text[^>]*>([^<]*)</text>")


def output(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, OUTPUT, *words], capture_output=True, text=True, cwd=ROOT)


def test_the_tutorial_shows_what_its_commands_print() -> None:
    done = output("--check", "docs/tutorial.md")
    assert done.returncode == 0, done.stderr


def test_the_picture_shows_what_is_printed_today() -> None:
    """Of another run it is another picture; what every run has in common stands in it as it is printed."""
    drawn = [html.unescape(one).replace("\xa0", " ") for one in _DRAWN.findall(PICTURE.read_text("utf-8"))]
    title, first, *_ = (one.strip() for one in drawn if one.strip())
    assert title.startswith("hrmdoc analyze")
    assert first in ("✗ CRITICAL", "! WARNING"), "the verdict stands first"
    said = "".join(drawn)
    assert "more rules need what this run does not log" in said
    assert set(re.findall(r"\[([a-z ]+)\]", said)) <= set(RISKS.values())


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
