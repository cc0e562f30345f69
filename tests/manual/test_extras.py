"""Every extra is told of, and every hint to install one names one that exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
_HINT = re.compile(r"hrmdoc\[([a-z,]+)\]")


def test_the_page_on_installing_lists_every_extra() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/install.md").read_text("utf-8"), re.M))
    assert told == set(EXTRAS) - {"dev"}


def test_all_holds_every_extra() -> None:
    assert set(_HINT.fullmatch(EXTRAS["all"][0])[1].split(",")) == set(EXTRAS) - {"all", "dev"}  # type: ignore[index]


def test_every_hint_names_an_extra() -> None:
    folders = ("hrmdoc", "trainer", "docs")
    files = [
        file for folder in folders for kind in ("py", "md") for file in (ROOT / folder).rglob(f"*.{kind}")
    ]
    named = {
        name
        for file in files
        for found in _HINT.findall(file.read_text("utf-8"))
        for name in found.split(",")
    }
    assert {"train", "serve", "frames"} <= named
    assert named <= set(EXTRAS)
