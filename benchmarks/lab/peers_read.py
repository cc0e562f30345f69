"""Runs in the peers' own environment: folders from standard input, one a line; prints what each peer finds,
as JSON lines.

Each peer is called as its documentation says: runmedic with the folder, trainspotter with every log file that
it has a reader for (and the folder of event files), gradsnitch with every CSV. Several files of one run count
as one answer.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Answer = dict[str, Any]
"""`read`: at least one series or log was understood; `findings`: severity and title of each finding."""


def _json_of(main: Callable[[list[str]], Any], words: list[str]) -> Any:
    """What a command line prints as JSON, None when it says that it cannot read its input."""
    out = io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        main(words)
    try:
        return json.loads(out.getvalue())
    except json.JSONDecodeError:
        return None


def runmedic(folder: Path) -> Answer:
    """All runs that it sees in the folder."""
    main = importlib.import_module("runmedic.cli").main
    runs = _json_of(main, ["diagnose", str(folder), "--json"])
    found = [(one["severity"], one["title"]) for run in runs or [] for one in run["findings"]]
    return {"read": any(run["series"] or run["findings"] for run in runs or []), "findings": found}


def trainspotter(folder: Path) -> Answer:
    """Every table, state file and folder of event files."""
    main = importlib.import_module("trainspotter.cli").main
    reports = [_json_of(main, ["analyze", str(path), "--output", "json"]) for path in _sources(folder)]
    read = [one for one in reports if one is not None]
    return {
        "read": bool(read),
        "findings": [(f["severity"], f["title"]) for one in read for f in one["findings"]],
    }


def _sources(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.rglob("*.csv"))
    states = sorted(folder.rglob("trainer_state.json"), key=lambda path: path.stat().st_size)
    yield from states[-1:]
    yield from sorted({path.parent for path in folder.rglob("events.out.tfevents.*")})


def gradsnitch(folder: Path) -> Answer:
    """Every CSV."""
    lint_csv = importlib.import_module("gradsnitch").lint_csv
    read, found = False, []
    for path in sorted(folder.rglob("*.csv")):
        with contextlib.suppress(ValueError, KeyError, TypeError):  # how it says that it misses a column
            found += [(one.severity, one.name) for one in lint_csv(str(path))]
            read = True
    return {"read": read, "findings": found}


PEERS: dict[str, Callable[[Path], Answer]] = {
    "runmedic": runmedic,
    "trainspotter": trainspotter,
    "gradsnitch": gradsnitch,
}


def _asked(peer: Callable[[Path], Answer], folder: Path) -> Answer:
    try:
        return peer(folder)
    except Exception as error:  # noqa: BLE001  # another project's failure is a result, not an end
        return {"read": False, "findings": [], "error": f"{type(error).__name__}: {error}"[:200]}


def main() -> None:
    """First the versions, then a line a folder."""
    warnings.simplefilter("ignore")
    versions = {}
    for name in PEERS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    print(json.dumps(versions), flush=True)
    for line in sys.stdin:
        folder = Path(line.rstrip("\n"))
        print(json.dumps({name: _asked(PEERS[name], folder) for name in versions}), flush=True)


if __name__ == "__main__":
    main()
