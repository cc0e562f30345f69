"""The GPU of Apple's processors by powermetrics, which answers root alone."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Sequence

from hrmdoc.monitors.gpu.device import Device
from hrmdoc.monitors.gpu.program import asked
from hrmdoc.monitors.sensor import Absent

EVERY_S = 60.0
_BUSY = re.compile(r"^GPU (?:HW )?active residency:\s*(\d{1,3}(?:\.\d+)?)%", re.MULTILINE)
_POWER = re.compile(r"^GPU Power:\s*(\d+(?:\.\d+)?) mW", re.MULTILINE)


def devices() -> Sequence[Device]:
    """The GPU as it was in the last half second.

    Raises:
        Absent: no Mac, or not root.
    """
    if platform.system() != "Darwin":
        raise Absent("powermetrics")
    if os.geteuid() != 0:
        raise Absent("powermetrics (it answers root alone)")
    return list(read(asked("powermetrics", "--samplers", "gpu_power", "-i", "500", "-n", "1")))


def read(text: str) -> Iterator[Device]:
    """The GPU in what powermetrics printed."""
    busy, power = _BUSY.search(text), _POWER.search(text)
    if busy is not None:
        yield Device(0, util=float(busy[1]), power=float(power[1]) / 1000 if power else None)
