"""How soon `hrmdoc serve` shows many runs and follows a large one: `python -m benchmarks.speed.serve`.

Generated runs (`benchmarks.fleet`) are served twice, the second time with what the first kept. Then a run of
`--rows` rows of JSON lines is served while a row is appended now and then. Seconds are of the wall, from the
start of the command or from the write; CPU is that of all its processes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import psutil

from benchmarks.fleet import generate

PATIENCE_S = 600.0
Page = Callable[[], str]


def main() -> None:
    """Prints a line for each thing that was waited for."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=300)
    asked.add_argument("--rows", type=int, default=300_000)
    asked.add_argument("--writes", type=int, default=12)
    words = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="serve-") as folder:
        home = Path(folder)
        generate(home / "runs", words.runs)
        for name in ("from nothing", "again"):
            with served(home / "runs", home) as (page, process):
                began = time.time()
                until(lambda: page().count('id="run-') == words.runs)
                listed = time.time() - began
                until(lambda: "Not examined yet" not in page() and "as last seen" not in page())
                print(
                    f"{words.runs} runs, {name}: listed after {listed:.1f} s, all known after "
                    f"{time.time() - began:.1f} s, {cpu(process):.1f} s of CPU",
                    flush=True,
                )
        follow(home, words.rows, words.writes)


def follow(home: Path, rows: int, writes: int) -> None:
    """How long the board takes to show what was appended to a large run."""
    log = home / "large" / "live" / "metrics.jsonl"
    log.parent.mkdir(parents=True)
    with log.open("w") as file:
        file.writelines(row(step) for step in range(rows))
    size = log.stat().st_size / 1e6
    with served(log.parents[1], home) as (page, process):
        until(lambda: 'id="run-' in page() and "Not examined yet" not in page())
        delays, spent = [], []
        for step in range(rows, rows + writes):
            with log.open("a") as file:
                file.write(row(step))
            began, before = time.time(), cpu(process)
            until(lambda: f"step {step:,}" in page())  # noqa: B023 (called here)
            delays.append(time.time() - began)
            spent.append(cpu(process) - before)
            time.sleep(2.0)
    print(
        f"a live run of {size:.0f} MB: shown after {delays[0]:.1f} s at first, then a median of "
        f"{statistics.median(delays[1:]):.1f} s and at most {max(delays[1:]):.1f} s; "
        f"{statistics.median(spent[1:]):.2f} s of CPU each",
        flush=True,
    )


@contextmanager
def served(runs: Path, home: Path) -> Iterator[tuple[Page, psutil.Process]]:
    """A server in a process of its own, and what its board says now."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "hrmdoc", "serve", str(runs)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        yield lambda: browser.open(address).read().decode(), psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def until(shown: Callable[[], bool]) -> None:
    """Waits, looking four times a second.

    Raises:
        TimeoutError: it never came.
    """
    end = time.time() + PATIENCE_S
    while not shown():
        if time.time() > end:
            raise TimeoutError(f"nothing of the kind within {PATIENCE_S:.0f} s")
        time.sleep(0.25)


def cpu(process: psutil.Process) -> float:
    """Seconds that the server and its processes computed so far."""
    every = [process, *process.children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in every)


def row(step: int) -> str:
    """A row of metrics."""
    return (
        json.dumps({"step": step, "loss": 0.4 + 3 / (1 + step / 1000) + 0.01 * (step % 7), "lr": 3e-4}) + "\n"
    )


if __name__ == "__main__":
    main()
