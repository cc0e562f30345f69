"""Many runs: `python -m benchmarks.fleet --runs 1000 --engines serial,local-1,local-2,ray-2`.

Generates runs (a log of 24 points and a config each; every tenth is sick), then triages them with each engine
from nothing, and once more with what the first pass kept, and reviews them. Prints seconds, runs a second,
memory, and how many folders and files were opened to list them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil

from hrmdoc.fleet.chapters import Review
from hrmdoc.fleet.engines import Name
from hrmdoc.fleet.examine import examined
from hrmdoc.fleet.review import html
from hrmdoc.fleet.store import Store
from hrmdoc.fleet.triage import MOST_FILES, Asked, Triage
from hrmdoc.fleet.work import Item, Request, examine
from hrmdoc.readers import runs_below
from hrmdoc.readers.sources.beginning import Listing
from hrmdoc.settings import Settings

POINTS = 24
_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in which the system counts memory."""
_opened: Counter[str] = Counter()
_counting = [False]


def main() -> None:
    """Prints one JSON object a measurement."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=1000)
    asked.add_argument("--engines", default="serial,local-1,local-2")
    asked.add_argument("--again", action="store_true", help="triage twice through the cache, then review")
    asked.add_argument("--review", action="store_true", help="review from nothing")
    words = asked.parse_args()
    sys.addaudithook(_heard)
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        root = Path(folder) / "runs"
        generate(root, words.runs)
        with _measured("list", words.runs):
            groups = runs_below(root, how=Listing(most=MOST_FILES))
        assert len(groups) == words.runs, len(groups)
        request = Request(Settings())
        for name in filter(None, words.engines.split(",")):
            engine, _, jobs = name.partition("-")
            with _measured(name, words.runs) as figures:
                done = (
                    (examine(Item(number, group), request) for number, group in enumerate(groups))
                    if engine == "serial"
                    else examined(groups, request, name=_name(engine), jobs=int(jobs))
                )
                found = list(done)
                figures["worker_mb"] = round(max(one.memory for one in found) / 1e6)
                figures["sick"] = sum(one.summary.sick for one in found)
                figures["lost"] = sum(one.lost for one in found)
        if words.review:
            _review([str(root)], words.runs, None)
        if words.again:
            for name in ("first pass", "second pass"):
                store = Store(Path(folder) / "cache.sqlite")
                with _measured(name, words.runs) as figures:
                    fleet = Triage([str(root)], request, store).run(Asked(), lambda _: lambda _: None)
                    store.close()
                    figures["known"] = fleet.known
            _review([str(root)], words.runs, Path(folder) / "cache.sqlite")
            print(json.dumps({"cache_mb": round((Path(folder) / "cache.sqlite").stat().st_size / 1e6, 1)}))


def _review(paths: list[str], runs: int, cache: Path | None) -> None:
    """The review as HTML: seconds, and the memory of all its processes together at their most."""
    store = Store(cache, kept=cache is not None)
    with _measured("review" + (" of what is known" if cache else ""), runs) as figures, _watched(figures):
        groups = runs_below(paths, how=Listing(store, MOST_FILES))
        request = Request(Settings(), folder=os.getcwd())
        found = Review(request, store, lambda _: lambda _: None).reviewed(groups, "html", lambda _: True)
        figures["html_kb"] = len(html(found).encode()) // 1000
    store.close()


@contextmanager
def _watched(figures: dict[str, Any]) -> Iterator[None]:
    """Adds the CPU seconds of the processes that work, and the most memory of all together, pages that they
    share counted once."""
    over, most, spent = Event(), [0], dict[int, float]()

    def look() -> None:
        while not over.wait(0.3):
            total = 0
            for one in (own, *own.children(recursive=True)):
                with suppress(psutil.Error):
                    total += one.memory_full_info().pss
                    spent[one.pid] = sum(one.cpu_times()[:2]) if one.pid != own.pid else 0.0
            most[0] = max(most[0], total)

    own = psutil.Process()
    thread = Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        figures.update(all_mb=round(most[0] / 1e6), children_cpu=round(sum(spent.values()), 1))


def generate(root: Path, count: int) -> None:
    """Writes the runs."""
    for number in range(count):
        folder = root / f"run_{number}"
        folder.mkdir(parents=True)
        sick = number % 10 == 0
        (folder / "config.yaml").write_text(f"learning_rate: {0.3 if sick else 3e-4}\nseed: {number}\n")
        (folder / "train.log").write_text("".join(_line(step, sick) for step in range(1, POINTS + 1)))


def _line(step: int, sick: bool) -> str:
    loss = math.nan if sick and step > POINTS / 2 else 3.0 * math.exp(-step / 8) + 0.4
    return f"2026-11-14 08:{step:02d}:00 INFO step={10 * step} loss={loss:.4f}\n"


def _name(word: str) -> Name:
    return "ray" if word == "ray" else "local"


def _heard(event: str, words: tuple[Any, ...]) -> None:
    del words
    if _counting[0] and event in ("open", "os.scandir"):
        _opened[event] += 1


@contextmanager
def _measured(what: str, runs: int) -> Iterator[dict[str, Any]]:
    figures: dict[str, Any] = {}
    _opened.clear()
    _counting[0] = True
    begun, spent = time.perf_counter(), time.process_time()
    yield figures
    seconds, own = time.perf_counter() - begun, time.process_time() - spent
    _counting[0] = False
    opened = {"files_opened": _opened["open"], "folders_listed": _opened["os.scandir"]}
    line = {"what": what, "runs": runs, "seconds": round(seconds, 2), "a_second": round(runs / seconds, 1)}
    figures["own_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT / 1e6)
    load = round(os.getloadavg()[0], 1)
    print(json.dumps({**line, "own_cpu": round(own, 2), **figures, **opened, "load": load}), flush=True)


if __name__ == "__main__":
    main()
