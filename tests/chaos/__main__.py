"""Breaks what can break around a watched run, and looks whether anything is lost or told twice.

    python -m tests.chaos [--kills 100] [--hours 24] [--seed 0] [--only NAME]

Prints what was tried and what held; the exit status is 1 where something did not. What a machine cannot
try is named. The hours of a day, exhausted file events and the files of a network are stood in for inside
the process; all else is real.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.chaos.kills import kills_of_both, kills_of_the_watch
from tests.chaos.machine import (
    a_clock_that_is_set,
    a_full_disk,
    a_network_folder,
    exhausted_file_events,
)
from tests.chaos.simulated import a_clock_that_jumps, a_simulated_day, rotation
from tests.chaos.tools import SkipError, living

HELD = "held"
SCENES: dict[str, Callable[[Path, argparse.Namespace], str]] = {
    "kills of trainer and supervisor": kills_of_both,
    "kills of the watch, target down": kills_of_the_watch,
    "a disk that is full": a_full_disk,
    "a clock that is set": a_clock_that_is_set,
    "a clock that jumps, simulated": a_clock_that_jumps,
    "a log rotated by renaming": lambda folder, _: rotation(folder, rename=True),
    "a log rotated by truncation": lambda folder, _: rotation(folder, rename=False),
    "no file events": exhausted_file_events,
    "a network folder": a_network_folder,
    "a simulated day": a_simulated_day,
}


def tried(name: str, options: argparse.Namespace) -> tuple[str, str]:
    """Tries one; the word and what is told of it."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-")).resolve()
    try:
        told = SCENES[name](folder, options)
        dead = [one for one in psutil.Process().children() if one.status() == psutil.STATUS_ZOMBIE]
        assert not dead, f"{len(dead)} zombies"
        return HELD, told
    except SkipError as error:
        return "not tried", str(error)
    except AssertionError as error:
        return "FAILED", str(error) or "an assertion"
    finally:
        for process in living(folder):
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failed = False
    for name in SCENES:
        if options.only in name:
            began = time.monotonic()
            word, told = tried(name, options)
            failed = failed or word == "FAILED"
            print(f"{name:34} {word:10} {time.monotonic() - began:5.0f} s  {told}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
