"""AMD's GPUs by amdsmi, the Python library that comes with ROCm."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from hrmdoc.monitors.gpu.device import Device
from hrmdoc.monitors.sensor import Absent

EVERY_S = 0.0
UNKNOWN = 0xFFFF
"""What the library gives for a number that a card does not tell, and everything above."""
HEAT = ("active_prochot_thrm", "active_socket_thrm", "active_vr_thrm", "active_hbm_thrm")


def devices() -> Sequence[Device]:
    """All GPUs as they stand.

    Raises:
        Absent: the library is not installed, or finds no driver.
    """
    try:
        library: Any = importlib.import_module("amdsmi")
    except Exception as error:  # it loads ROCm's own library, and fails in many ways where there is none
        raise Absent("amdsmi (it comes with ROCm)") from error
    try:
        library.amdsmi_init()
        handles = library.amdsmi_get_processor_handles()
    except library.AmdSmiException as error:
        raise Absent(f"amdsmi ({type(error).__name__})") from error
    if not handles:
        raise Absent("amdsmi (it finds no GPU)")
    try:
        return [_device(library, index, handle) for index, handle in enumerate(handles)]
    finally:
        with suppress(library.AmdSmiException):
            library.amdsmi_shut_down()


def _device(library: Any, index: int, handle: Any) -> Device:
    """One GPU; a question that it does not know leaves what it does not tell."""

    def ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (library.AmdSmiException, AttributeError, KeyError):  # names differ between releases
            return None

    activity = ask(lambda: library.amdsmi_get_gpu_activity(handle))
    power = ask(lambda: library.amdsmi_get_power_info(handle))
    clocks = ask(lambda: library.amdsmi_get_clock_info(handle, library.AmdSmiClkType.GFX))
    heat = ask(lambda: _heat(library, handle))
    used = ask(lambda: library.amdsmi_get_gpu_memory_usage(handle, library.AmdSmiMemoryType.VRAM))
    whole = ask(lambda: library.amdsmi_get_gpu_memory_total(handle, library.AmdSmiMemoryType.VRAM))
    held = ask(lambda: library.amdsmi_get_violation_status(handle))
    processes = ask(lambda: library.amdsmi_get_gpu_process_list(handle))
    return Device(
        index,
        util=_first_reading(activity, "gfx_activity"),
        memory=(float(used), float(whole)) if used is not None and whole else None,
        temperature=_reading(heat),
        power=_first_reading(power, "socket_power", "current_socket_power", "average_socket_power"),
        clock=_first_reading(clocks, "clk", "cur_clk"),
        slowed=_slowed(held),
        pids=_pids(processes),
    )


def _heat(library: Any, handle: Any) -> Any:
    kinds, now = library.AmdSmiTemperatureType, library.AmdSmiTemperatureMetric.CURRENT
    kind = kinds.HOTSPOT if hasattr(kinds, "HOTSPOT") else kinds.JUNCTION
    return library.amdsmi_get_temp_metric(handle, kind, now)


def _first_reading(answer: Any, *names: str) -> float | None:
    known = (_reading(answer.get(name)) for name in names) if isinstance(answer, dict) else ()
    return next((value for value in known if value is not None), None)


def _reading(value: Any) -> float | None:
    """`N/A`, and the largest number of its type, are none."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < UNKNOWN
    return float(value) if known else None


def _slowed(held: Any) -> bool | None:
    """Whether heat lowers the clocks; the power cap is usual at full load and is not counted."""
    known = (
        [held[name] for name in HEAT if isinstance(held.get(name), bool)] if isinstance(held, dict) else []
    )
    return any(known) if known else None


def _pids(processes: Any) -> frozenset[int] | None:
    """Who computes on it: the driver also lists processes that hold no memory of it."""
    if not isinstance(processes, list):
        return None
    rows = [row for row in processes if isinstance(row, dict) and isinstance(row.get("pid"), int)]
    return frozenset(row["pid"] for row in rows if _takes(row))


def _takes(row: dict[str, Any]) -> bool:
    memory = row.get("memory_usage")
    taken = memory.get("vram_mem") if isinstance(memory, dict) else row.get("mem")
    return not isinstance(taken, int) or taken > 0
