"""What it costs to watch many runs at once, and how soon a finding is told.

    python -m benchmarks.watching --runs 1000 --seconds 120

One line a second is written to every run, JSON lines and text logs; `hrmdoc watch ROOT --all` follows them
in a process of its own. Meanwhile some runs fall ill, and the time from the write to the line on standard
output is taken. A machine with two cores is enough: the writer needs a tenth of one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).parents[1]
BEGUN = 300
"""Lines of each run when the watch begins."""


class Runs:
    """Runs that are written; each file stays open."""

    def __init__(self, folder: Path, number: int, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self.files: dict[str, BinaryIO] = {}
        self.over: set[str] = set()
        self._step: dict[str, int] = {}
        for index in range(number):
            name = f"job-{index:05d}"
            (folder / name).mkdir(parents=True)
            form = ("metrics.jsonl", "train.log", "metrics.jsonl", "metrics.jsonl")[index % 4]
            self.files[name] = (folder / name / form).open("ab", buffering=0)
            self._step[name] = 0
            self.files[name].write(b"".join(self._line(name) for _ in range(BEGUN)))

    def write(self, name: str, loss: float | None = None) -> None:
        """One more line of a run."""
        self.files[name].write(self._line(name, loss))

    def write_many(self, name: str, count: int, loss: float | None = None) -> None:
        """Some more lines of a run."""
        self.files[name].write(b"".join(self._line(name, loss) for _ in range(count)))

    def say(self, name: str, line: str) -> None:
        """A line of text."""
        self.files[name].write(line.encode() + b"\n")

    def _line(self, name: str, loss: float | None = None) -> bytes:
        step = self._step[name] = self._step[name] + 1
        value = 0.4 + 2.0 / (1 + step / 200) + self._random.gauss(0, 0.02) if loss is None else loss
        norm = abs(self._random.gauss(1.0, 0.1))
        if self.files[name].name.endswith(".log"):
            return f"step {step} | loss {value:.4f} | lr 3e-04 | grad_norm {norm:.3f}\n".encode()
        row = {"step": step, "loss": value, "lr": 3e-4, "grad_norm": norm, "epoch": step / 1000}
        return (json.dumps(row) + "\n").encode()


def main() -> None:
    """Measures, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sick", type=int, default=20)
    asked = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as place:
        measure(Path(place), asked.runs, asked.seconds, asked.sick)


def measure(place: Path, number: int, seconds: float, sick: int) -> None:
    """Writes and watches for so long."""
    runs = Runs(place / "runs", number)
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "hrmdoc", "watch", str(place / "runs"), "--all"]
    began = time.time()
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    said: list[tuple[float, str]] = []
    assert watch.stdout is not None
    threading.Thread(
        target=lambda: said.extend((time.time(), one) for one in watch.stdout or ()), daemon=True
    ).start()
    stop = threading.Event()
    ill: dict[str, float] = {}
    guard = threading.Lock()
    writer = threading.Thread(target=_write, args=(runs, ill, guard, stop), daemon=True)
    writer.start()
    _settle(watch.pid, said)
    print(
        f"{number:,} runs of {BEGUN} lines read and examined: {time.time() - began:.0f} s,"
        f" {_cpu(watch.pid):.1f} s of CPU"
    )
    time.sleep(5)
    cpu, start = _cpu(watch.pid), time.time()
    written: dict[str, tuple[float, str]] = {}
    chosen = random.Random(3).sample(sorted(runs.files), 2 * sick)
    for name, kind in _falling_ill(chosen, seconds):
        with guard:
            written[name] = time.time(), kind
            if kind == "error":
                runs.say(name, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
                runs.over.add(name)  # a run that goes on has outlived its error
            else:
                ill[name] = float("nan")
                runs.write(name, float("nan"))
    time.sleep(6)
    share = (_cpu(watch.pid) - cpu) / (time.time() - start)
    print(
        f"CPU: {100 * share:.1f} % of a core over {time.time() - start:.0f} s;"
        f" memory {_memory(watch.pid):.0f} MB"
    )
    stop.set()
    watch.send_signal(2)
    watch.wait(60)
    _report(said, written)


def _report(said: list[tuple[float, str]], written: dict[str, tuple[float, str]]) -> None:
    """How long after each line that was `written` something was `said` of it."""
    for kind in ("nan", "error"):
        delays = {name: _delay(said, name, at) for name, (at, one) in written.items() if one == kind}
        found = sorted(one for one in delays.values() if one is not None)
        if missed := [name for name, one in delays.items() if one is None]:
            print(f"{kind}: not told of {', '.join(missed)}")
        if found:
            print(
                f"{kind}: told of {len(found)} of {len(delays)};"
                f" median {statistics.median(found):.2f} s, worst {found[-1]:.2f} s"
            )
        else:
            print(f"{kind}: told of 0 of {len(delays)}")
    sound = {m[1] for _, line in said if (m := re.search(r"opened\s+(job-\d+)", line))} - written.keys()
    print(f"incidents of runs that were not ill: {len(sound)}")


def _write(runs: Runs, ill: dict[str, float], guard: threading.Lock, stop: threading.Event) -> None:
    """A line a second to each run, spread over the second."""
    names = sorted(runs.files)
    start, done = time.monotonic(), 0
    while not stop.is_set():
        due = int((time.monotonic() - start) * len(names))
        with guard:
            for index in range(done, due):
                name = names[index % len(names)]
                if name not in runs.over:
                    runs.write(name, ill.get(name))
        done = due
        stop.wait(0.02)


def _falling_ill(names: list[str], seconds: float) -> Iterator[tuple[str, str]]:
    for index, name in enumerate(names):
        time.sleep(seconds / len(names))
        yield name, "error" if index % 2 else "nan"


def _delay(said: list[tuple[float, str]], name: str, at: float) -> float | None:
    return next((when - at for when, line in said if when >= at and name in line and "opened" in line), None)


def _settle(pid: int, said: list[tuple[float, str]]) -> None:
    """Waits until every run was examined once, as the watch says."""
    while Path(f"/proc/{pid}").exists() and not any("following what" in line for _, line in said):
        time.sleep(0.5)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    main()
