"""What memory it takes to watch many runs for a day.

    python -m benchmarks.watching_day --runs 50 --hours 24

A row a second is written to every run, JSON lines and text logs, in looks of a minute by a clock that is
stood in for, and the watch runs in this process. As many points of a run are kept as if there were `--as` of
them: what `held` differs by between two numbers of runs is what each of them takes. Some fall ill in the last
hour and must be told.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.watching import BEGUN, Runs
from hrmdoc.analysis import Prepared
from hrmdoc.live.many import fleet_watch
from hrmdoc.live.many.fleet_watch import FleetWatch
from hrmdoc.settings import Settings

LOOK_S = 60


def main() -> None:
    """Prints memory by the hour."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--as", dest="as_many", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_STATE_HOME"] = str(Path(place) / "state")
        watch(Path(place) / "runs", asked.runs, asked.hours, asked.as_many)


def watch(root: Path, number: int, hours: float, as_many: int) -> None:
    """Writes and watches for so many hours of the runs."""
    gc.set_threshold(100_000, 50, 100)  # as `hrmdoc watch --all` does
    fleet_watch.POINTS = fleet_watch.POINTS * number // as_many
    warm = FleetWatch(str(_made(root.parent / "warm", 1)), Prepared.of(Settings()), {"remember": False})
    for _ in range(2):
        list(warm.turn())
    warm.finish()
    begun, now = _held(), 0.0
    runs = Runs(root, number)
    fleet = FleetWatch(str(root), Prepared.of(Settings()), steady=lambda: now)
    told: set[str] = set()
    ill = sorted(runs.files)[: max(1, number // 10)]
    looks = int(hours * 3600 / LOOK_S)
    most = 0.0
    for look in range(looks):
        for name in runs.files:
            last = look >= looks * 23 // 24 and name in ill
            runs.write_many(name, LOOK_S, float("nan") if last else None)
        now += LOOK_S
        for _ in range(3):
            told |= _told(fleet)
        most = max(most, _memory())
        if (look + 1) % (looks // 12 or 1) == 0:
            rows, took = BEGUN + (look + 1) * LOOK_S, time.process_time()
            print(
                f"{rows:,} rows each: {_memory():.0f} MB, held {_held():.0f} MB; CPU {took:.0f} s", flush=True
            )
    while told != set(ill) and now < hours * 3600 + 600:
        time.sleep(1)
        now += LOOK_S
        told |= _told(fleet)
    print(f"told of {len(told)}, ill were {len(ill)}; at most {most:.0f} MB, {begun:.0f} MB without runs")
    fleet.finish()


def _told(fleet: FleetWatch) -> set[str]:
    """The runs of which a turn told that their loss was lost."""
    return {
        news.entry.name
        for news in fleet.turn()
        for one in ([] if news.update is None else news.update.changes)
        if one.symptom == "loss-nonfinite"
    }


def _made(root: Path, number: int) -> Path:
    Runs(root, number)
    return root


def _held() -> float:
    """Memory without what the allocator keeps of examinations that are over."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return _memory()


def _memory() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6


if __name__ == "__main__":
    main()
