"""What one GPU shows, and what those of a run show together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from hrmdoc.monitors.sensor import Values, known

SLOWED = 0x8 | 0x20 | 0x40 | 0x80
"""Of the reasons of NVML for a slower clock: hardware slowdown, heat by software and by hardware, power
brake. The power cap is usual at full load and is not counted."""


AT_WORK = 50.0
"""%, of utilisation, from which on clocks are compared."""


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU; what it does not tell is None.

    Attributes:
        util: %, of the time since the reading before.
        memory: bytes in use, and of all.
        temperature: °C.
        power: watts.
        clock: MHz, of its compute units.
        slowed: heat or a power brake lowers its clocks.
        pids: the processes that compute on it; None where nobody can tell.
    """

    index: int
    util: float | None = None
    memory: tuple[float, float] | None = None
    temperature: float | None = None
    power: float | None = None
    clock: float | None = None
    slowed: bool | None = None
    pids: frozenset[int] | None = None


def used(devices: Sequence[Device], pids: Iterable[int]) -> Sequence[Device]:
    """The GPUs that a run computes on: those where its processes are seen. A container sees no numbers of
    processes that the driver would know: then all on which anybody computes. Where nobody can tell, all."""
    own = set(pids)
    if any(device.pids is None for device in devices):
        return devices
    mine = [device for device in devices if own & (device.pids or frozenset())]
    return mine or [device for device in devices if device.pids]


def together(devices: Sequence[Device]) -> Values:
    """What the GPUs of a run show as one."""
    utils = _readings(devices, lambda one: one.util)
    slowed = _readings(devices, lambda one: one.slowed)
    powers = _readings(devices, lambda one: one.power)
    behind, index = _outlier([(-one.util, one.index) for one in devices if one.util is not None])
    hotter, hot = _outlier([(one.temperature, one.index) for one in devices if one.temperature is not None])
    slower, slow = _slower(devices)
    return known(
        gpu_util=fmean(utils) if utils else None,
        gpu_memory_share=max(_readings(devices, _power_share), default=None),
        gpu_temperature=max(_readings(devices, lambda one: one.temperature), default=None),
        gpu_power=sum(powers) if powers else None,
        gpu_throttled=fmean(slowed) if slowed else None,
        gpu_behind=behind,
        gpu_behind_index=index,
        gpu_hotter=hotter,
        gpu_hotter_index=hot,
        gpu_slower=slower,
        gpu_slower_index=slow,
    )


def _readings(devices: Sequence[Device], ask: Callable[[Device], float | None]) -> list[float]:
    """The answers of those that answer."""
    return [answer for one in devices if (answer := ask(one)) is not None]


def _power_share(device: Device) -> float | None:
    return 100 * device.memory[0] / device.memory[1] if device.memory and device.memory[1] else None


def _outlier(values: Sequence[tuple[float, int]]) -> tuple[float | None, float | None]:
    """How far the highest lies above the median of the others, and which one it is."""
    if len(values) < 2:
        return None, None
    highest, index = max(values)
    return max(0.0, highest - median(value for value, other in values if other != index)), float(index)


def _slower(devices: Sequence[Device]) -> tuple[float | None, float | None]:
    """By how many % the slowest clock of those at work lies below the median of the others, and whose it is.
    A GPU that idles lowers its clock by itself."""
    clocks = {one.index: one.clock for one in devices if one.clock and (one.util or 0.0) >= AT_WORK}
    by, index = _outlier([(-clock, place) for place, clock in clocks.items()])
    if by is None or index is None:
        return None, None
    return 100 * by / (by + clocks[int(index)]), index
