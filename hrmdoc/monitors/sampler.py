"""Reads all sensors again and again in a thread of its own: a GPU that does not answer holds up no watch."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from hrmdoc.monitors.gpu.sensor import GpuSensor
from hrmdoc.monitors.machine import DiskSensor, MachineSensor, NetworkSensor
from hrmdoc.monitors.processes import ProcessSensor, Tree
from hrmdoc.monitors.sensor import UNITS, Absent, Sample, Sensor, Values

_WAITING = 1000
"""Samples that wait to be taken, at most."""


class Sampler:
    """Samples this machine for one run.

    Of a run whose processes are elsewhere, or not known, the disk alone is looked at: what another machine
    does says nothing about it.

    Args:
        checkpoints: where the run keeps its checkpoints.
        root: the process that started those of the run, or None.
        every: seconds between two samples.
        say: gets a line, once, what cannot be read here.
        sensors: those of a run whose processes are known; by default all.
    """

    def __init__(
        self,
        checkpoints: Path,
        root: Callable[[], int | None],
        every: float,
        say: Callable[[str], None] = lambda _: None,
        *,
        sensors: Sequence[Sensor] | None = None,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tree = tree = Tree(root)
        self._always: list[Sensor] = [DiskSensor(checkpoints)]
        self._near: list[Sensor] = (
            [MachineSensor(lambda: tree.root), ProcessSensor(tree), NetworkSensor(), GpuSensor(tree)]
            if sensors is None
            else list(sensors)
        )
        self._every, self._say, self._wall, self._steady = every, say, wall, steady
        self._read: dict[int, float] = {}
        self._near_once = False
        self._samples: deque[Sample] = deque(maxlen=_WAITING)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="monitors", daemon=True)

    def start(self) -> Sampler:
        """Looks at the disk at once, and at everything from then on until `close`."""
        self.read(self._always)
        self._thread.start()
        return self

    def close(self) -> None:
        """Reads no more."""
        self._done.set()

    def last(self) -> None:
        """Looks once more at the machine that the run ended on: that the kernel ended it for want of memory
        shows only now."""
        machine = [sensor for sensor in self._near if isinstance(sensor, MachineSensor)]
        if self._near_once and machine:
            self.read(machine)

    def taken(self) -> list[Sample]:
        """The samples since the last call."""
        found = []
        while self._samples:
            found.append(self._samples.popleft())
        return found

    def read(self, sensors: Sequence[Sensor] | None = None) -> None:
        """Takes one sample, of all sensors that there are by default."""
        if sensors is None:
            near = self._tree.root is not None
            self._near_once = self._near_once or near
            sensors = [*self._always, *(self._near if near else ())]
        now = self._steady()
        values: Values = {}
        for sensor in sensors:
            if now - self._read.get(id(sensor), -math.inf) < sensor.every:
                continue
            self._read[id(sensor)] = now
            try:
                values |= sensor.read(now)
            except Absent as why:
                self._without(sensor, str(why))
            except Exception as error:  # noqa: BLE001 (whatever a driver does: the other sensors go on)
                self._without(sensor, f"{type(sensor).__name__} ({type(error).__name__}: {error})")
        values = {name: value for name, value in values.items() if name in UNITS and math.isfinite(value)}
        if values:
            self._samples.append(Sample(self._wall(), values))

    def _without(self, sensor: Sensor, why: str) -> None:
        """Leaves a sensor out from now on, and says so."""
        for sensors in (self._always, self._near):
            if sensor in sensors:
                sensors.remove(sensor)
        if why:
            self._say(f"not measured here: {why}")

    def _work(self) -> None:
        while True:
            self.read()
            if self._done.wait(self._every):
                return
