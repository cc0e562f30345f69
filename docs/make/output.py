"""Runs what a page tells its reader to run, and writes what was printed below each command.

python docs/make/output.py [--check] docs/tutorial.md

Files are the fenced blocks with a `title`; commands, the lines after `$ ` in blocks of `console`. They run in
an empty folder, in order. With --check nothing is written, and a page that says anything else fails. What
differs from run to run, such as a duration, has no place on such a page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

_BLOCK = re.compile(r'^```(?P<kind>\w+)(?: title="(?P<title>[\w.-]+)")?\n(?P<text>.*?)^```$', re.M | re.S)
_COUNT = re.compile(r"\d+(?= (?:more )?rules)")
"""How many rules there are is no matter of a page."""
ENVIRONMENT = {
    "NO_COLOR": "1",
    "COLUMNS": "100",
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
    "LANG": "C.UTF-8",
}


def main(*words: str) -> int:
    """Renews the pages, or checks them; 1 where one of them says what is not so."""
    wrong = 0
    for path in map(Path, (word for word in words if word != "--check")):
        text = path.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder:
            new = _BLOCK.sub(lambda found: _block(found, Path(folder)), text)
        if "--check" not in words:
            path.write_text(new, "utf-8")
        elif _COUNT.sub("N", new) != _COUNT.sub("N", text):
            wrong = 1
            print(
                f"{path} shows what is not printed any more: python docs/make/output.py {path}",
                file=sys.stderr,
            )
    return wrong


def _block(found: re.Match[str], folder: Path) -> str:
    if found["title"]:
        (folder / found["title"]).write_text(found["text"], "utf-8")
    if found["kind"] != "console":
        return found[0]
    commands = [line.removeprefix("$ ") for line in found["text"].splitlines() if line.startswith("$ ")]
    return "```console\n" + "".join(f"$ {one}\n{_printed(one, folder)}" for one in commands) + "```"


def _printed(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "PATH": path,
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / ".cache"),
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
