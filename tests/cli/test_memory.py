"""Large arrays give their room back."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from pathlib import Path
from hrmdoc.cli.shared.memory import give_back_large_arrays

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

if sys.argv[1] == "asked":
    give_back_large_arrays()
np.ones(3_000_000)  # the limit rises, unasked
before = resident()
pairs = [(np.ones(375_000), bytearray(50_000)) for _ in range(10)]
small = [between for _, between in pairs]
del pairs
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an allocator of another system")
def test_arrays_of_some_megabytes_go_back_to_the_system_once_let_go() -> None:
    def kept(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert kept("asked") < 5_000_000 < kept("unasked")
