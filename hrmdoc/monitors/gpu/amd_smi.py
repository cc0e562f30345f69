"""AMD's GPUs by the program amd-smi. A start of it takes a second or two."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from hrmdoc.monitors.gpu.device import Device
from hrmdoc.monitors.gpu.program import asked
from hrmdoc.monitors.sensor import Absent

EVERY_S = 60.0
_UNITS = {"KB": 1e3, "MB": 2.0**20, "GB": 2.0**30, "B": 1.0}
MOST_BEGINNINGS = 64
"""Lines that are tried as the beginning of the JSON; each costs a reading of what follows."""
HEAT = tuple(
    f"{part}_violation_status" for part in ("prochot", "socket_thermal", "vr_thermal", "hbm_thermal")
)


def devices() -> Sequence[Device]:
    """All GPUs as they stand.

    Raises:
        Absent: there is no such program, or it says nothing that can be read.
    """
    metrics, processes = asked("amd-smi", "metric", "--json"), ""
    with suppress(Absent):  # without the right to see processes all GPUs count
        processes = asked("amd-smi", "process", "--json")
    found = list(read(metrics, processes))
    if not found:
        raise Absent("amd-smi (it names no GPU)")
    return found


def read(metrics: str, processes: str) -> Iterator[Device]:
    """The GPUs in what amd-smi printed, in the form of any release: a list or a mapping that holds one,
    numbers bare or with their unit, `N/A` for what a card does not tell."""
    listed = ((row.get("gpu"), row.get("process_list")) for row in _rows(processes))
    pids = {gpu: _pids(held) for gpu, held in listed if _is_whole(gpu)}
    for place, row in enumerate(_rows(metrics)):
        index = row.get("gpu", place)
        if not _is_whole(index):
            continue
        memory, heat, power = (_part(row, name) for name in ("mem_usage", "temperature", "power"))
        used, whole = _bytes(memory.get("used_vram")), _bytes(memory.get("total_vram"))
        yield Device(
            index,
            util=_reading(_part(row, "usage").get("gfx_activity")),
            memory=None if used is None or not whole else (used, whole),
            temperature=_first_reading(heat, "hotspot", "edge"),
            power=_first_reading(power, "socket_power", "current_socket_power", "average_socket_power"),
            clock=_clock(_part(row, "clock")),
            slowed=_slowed(_part(row, "throttle")),
            pids=pids.get(index),
        )


def _rows(text: str) -> list[dict[str, Any]]:
    """One mapping a GPU; warnings may stand before the JSON."""
    tree: Any = []
    for begun in islice(re.finditer(r"(?m)^[ \t]*(?=[\[{])", text), MOST_BEGINNINGS):
        with suppress(ValueError, RecursionError):
            tree, _ = json.JSONDecoder().raw_decode(text, begun.end())
            break
    if isinstance(tree, dict):
        tree = next((tree[name] for name in ("gpu_data", "gpus") if name in tree), [])
    return [row for row in tree if isinstance(row, dict)] if isinstance(tree, list) else []


def _part(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = row.get(name)
    return found if isinstance(found, dict) else {}


def _first_reading(cells: Mapping[str, Any], *names: str) -> float | None:
    return next((value for name in names if (value := _reading(cells.get(name))) is not None), None)


def _reading(cell: Any) -> float | None:
    cell = cell.get("value") if isinstance(cell, dict) else cell
    try:
        value = float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else math.nan
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return value if math.isfinite(value) else None


def _is_whole(cell: Any) -> bool:
    return isinstance(cell, int) and not isinstance(cell, bool)


def _bytes(cell: Any) -> float | None:
    unit = cell.get("unit", "MB") if isinstance(cell, dict) else "MB"
    value = _reading(cell)
    return None if value is None else value * _UNITS.get(str(unit), 2.0**20)


def _clock(clocks: Mapping[str, Any]) -> float | None:
    """The fastest of the compute units; those that sleep are far below."""
    units = (_part(clocks, name) for name in clocks if name.startswith("gfx"))
    known = (_first_reading(unit, "clk", "cur_clk") for unit in units)
    return max((value for value in known if value is not None), default=None)


def _slowed(held: Mapping[str, Any]) -> bool | None:
    """Whether heat lowers the clocks; the power cap is usual at full load and is not counted."""
    known = [word for name in HEAT if isinstance(word := held.get(name), str) and word.endswith("ACTIVE")]
    return any(word == "ACTIVE" for word in known) if known else None


def _pids(listed: Any) -> frozenset[int] | None:
    """Who computes on it; None where it does not list them."""
    if not isinstance(listed, list):
        return None
    known = (row.get("process_info", row) for row in listed if isinstance(row, dict))
    return frozenset(one["pid"] for one in known if isinstance(one, dict) and _is_whole(one.get("pid")))
