"""What it costs to measure the machine of a run.

`python -m benchmarks.monitors` samples a tree of processes that sleep, as `hrmdoc watch` does, and prints
the processor time of a sample and its share of one core at the default interval. GPUs count where there are
any; a start of nvidia-smi is not this process's time and is not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hrmdoc.monitors.sampler import Sampler

EVERY_S = 10.0


def cost(processes: int, samples: int) -> tuple[float, int]:
    """Seconds of processor time a sample of a tree of so many processes, and how many were seen."""
    sleeper = "import time; time.sleep(600)"
    parent = (
        "import subprocess, sys, time\n"
        f"for _ in range({processes - 1}): subprocess.Popen(['sleep', '600'])\n"
        f"print('ready', flush=True)\n{sleeper}"
    )
    root = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert root.stdout is not None
        root.stdout.readline()
        with tempfile.TemporaryDirectory() as folder:
            sampler = Sampler(Path(folder), lambda: root.pid, EVERY_S)
            sampler.read()
            begin = time.process_time()
            for _ in range(samples):
                sampler.read()
            spent = (time.process_time() - begin) / samples
            return spent, int(sampler.taken()[-1].values["host.processes"])
    finally:
        subprocess.run(["pkill", "-g", str(root.pid)], check=False)
        root.wait()


def main() -> None:
    """Prints one line a size of tree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100)
    samples = parser.parse_args().samples
    for processes in (1, 9, 65):
        spent, seen = cost(processes, samples)
        print(f"{seen:3} processes: {1000 * spent:.2f} ms a sample, {100 * spent / EVERY_S:.3f} % of a core")


if __name__ == "__main__":
    main()
