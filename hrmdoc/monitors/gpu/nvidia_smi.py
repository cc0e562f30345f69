"""NVIDIA's GPUs by the program nvidia-smi, where NVML cannot be asked. A start of it takes up to a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hrmdoc.monitors.gpu.device import SLOWED, Device
from hrmdoc.monitors.gpu.program import asked

EVERY_S = 60.0
_FIELDS = (
    "index,uuid,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,"
    "clocks_throttle_reasons.active,clocks.sm"
)
_MIB = 2.0**20


def devices() -> Sequence[Device]:
    """All GPUs as they stand.

    Raises:
        Absent: there is no such program, or it fails.
    """
    rows = asked("nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits")
    apps = asked("nvidia-smi", "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits")
    return list(read(rows, apps))


def read(rows: str, apps: str) -> Iterator[Device]:
    """The GPUs in what nvidia-smi printed: their state, and who computes on them."""
    pids: dict[str, set[int]] = {}
    for line in apps.splitlines():
        uuid, _, pid = (cell.strip() for cell in line.partition(","))
        if pid.isdigit():
            pids.setdefault(uuid, set()).add(int(pid))
    for line in rows.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != _FIELDS.count(",") + 1 or not cells[0].isdigit():
            continue
        util, taken, whole, heat, power = map(_reading, cells[2:7])
        yield Device(
            int(cells[0]),
            util=util,
            memory=None if taken is None or whole is None else (taken * _MIB, whole * _MIB),
            temperature=heat,
            power=power,
            clock=_reading(cells[8]),
            slowed=_slowed(cells[7]),
            pids=frozenset(pids.get(cells[1], ())),
        )


def _reading(cell: str) -> float | None:
    """`[N/A]` and `[Unknown Error]` are none."""
    try:
        return float(cell)
    except ValueError:
        return None


def _slowed(cell: str) -> bool | None:
    try:
        return bool(int(cell, 16) & SLOWED)
    except ValueError:
        return None
