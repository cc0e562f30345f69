"""The GPUs of a run, by the first way to ask for them that this machine knows."""

from __future__ import annotations

import importlib
import platform
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hrmdoc.monitors.gpu.device import together, used
from hrmdoc.monitors.processes import Tree
from hrmdoc.monitors.sensor import Absent, Values

WAYS = ("nvml", "nvidia_smi", "amdsmi", "amd_smi", "rocm_smi", "powermetrics")


class GpuSensor:
    """What the GPUs of a run show together.

    Args:
        tree: the processes of the run, by which its GPUs are known.
        ways: modules of this folder, in the order in which they are tried.
    """

    def __init__(self, tree: Tree, ways: Sequence[str] = WAYS) -> None:
        self._tree = tree
        self._ways = list(ways)
        self._worked = False
        self.every = 0.0

    def read(self, now: float) -> Values:
        """What they show.

        Raises:
            Absent: no way is left.
        """
        del now
        found = self._devices()
        return together(used(found, [process.pid for process in self._tree.processes()]))

    def _devices(self) -> Any:
        missing = []
        while self._ways:
            way = importlib.import_module(f"hrmdoc.monitors.gpu.{self._ways[0]}")
            devices: Callable[[], Any] = way.devices
            try:
                found = devices()
            except Absent as why:
                if not _any():
                    raise Absent("") from why
                if self._worked:  # a driver that does not answer once may answer again
                    return []
                missing.append(str(why))
                del self._ways[0]
                continue
            self.every, self._worked = way.EVERY_S, True
            return found
        raise Absent("GPU: " + ", ".join(missing))


def _any() -> bool:
    """Whether there is a sign of a GPU here: where there is none, none is missed."""
    nodes = ("nvidia[0-9]*", "kfd", "dxg")
    programs = ("nvidia-smi", "amd-smi", "rocm-smi")
    return (
        platform.system() == "Darwin"
        or any(shutil.which(name) for name in programs)
        or any(any(Path("/dev").glob(node)) for node in nodes)
    )
