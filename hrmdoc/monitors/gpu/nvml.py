"""NVIDIA's GPUs by NVML, the library that nvidia-smi asks too (extra `gpu`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from hrmdoc.monitors.gpu.device import SLOWED, Device
from hrmdoc.monitors.sensor import Absent

EVERY_S = 0.0


def devices() -> Sequence[Device]:
    """All GPUs as they stand.

    Raises:
        Absent: the library is not installed, or finds no driver.
    """
    try:
        import pynvml
    except ImportError as error:
        raise Absent("NVML (pip install 'hrmdoc[gpu]')") from error
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        raise Absent(f"NVML ({error})") from error
    try:
        return [_device(pynvml, index) for index in range(count)]
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _device(nvml: Any, index: int) -> Device:
    """One GPU; one that fell off the bus, or does not know a question, leaves what it does not tell."""

    def ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except nvml.NVMLError:
            return None

    handle = ask(lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    if handle is None:
        return Device(index)
    rates = ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
    memory = ask(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    power = ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    reasons = ask(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    processes = ask(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
    clock = ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
    heat = ask(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
    return Device(
        index,
        util=None if rates is None else float(rates.gpu),
        memory=None if memory is None else (float(memory.used), float(memory.total)),
        temperature=None if heat is None else float(heat),
        power=None if power is None else power / 1000,
        clock=None if clock is None else float(clock),
        slowed=None if reasons is None else bool(reasons & SLOWED),
        pids=None if processes is None else frozenset(int(one.pid) for one in processes),
    )
