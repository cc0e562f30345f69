"""Draws docs/analyze.svg: what `hrmdoc analyze` prints of a run, as a picture without fonts or scripts from
elsewhere.

python docs/make/picture.py runs/latest docs/analyze.svg
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

import hrmdoc
from hrmdoc.reports.terminal import show


def main(run: str, target: str) -> None:
    """Analyses `run` and writes the picture to `target`."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=100,
        markup=False,
        emoji=False,
        highlight=False,
        force_terminal=True,
    )
    show(hrmdoc.analyze(run), console)
    svg = console.export_svg(title=f"hrmdoc analyze {run}", theme=MONOKAI)
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code, ", "")
    svg = "\n".join(line.rstrip() for line in svg.splitlines() if line.strip())
    Path(target).write_text(svg + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
