"""AMD's GPUs by the program rocm-smi."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hrmdoc.monitors.gpu.device import Device
from hrmdoc.monitors.gpu.program import asked
from hrmdoc.monitors.sensor import Absent

EVERY_S = 60.0
_CARD = re.compile(r"card(\d{1,3})")


def devices() -> Sequence[Device]:
    """All GPUs as they stand.

    Raises:
        Absent: there is no such program, or it says nothing that can be read.
    """
    shown = ("--showuse", "--showmeminfo", "vram", "--showtemp", "--showpower", "--showclocks")
    text = asked("rocm-smi", *shown, "--json")
    found = list(read(text))
    if not found:
        raise Absent("rocm-smi (it names no card)")
    return found


def read(text: str) -> Iterator[Device]:
    """The GPUs in what rocm-smi printed; warnings may stand before the JSON."""
    try:
        tree = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        return
    for name, cells in tree.items() if isinstance(tree, dict) else ():
        if (card := _CARD.fullmatch(name)) and isinstance(cells, dict):
            taken, whole = (
                _first_reading(cells, "VRAM Total Used Memory"),
                _first_reading(cells, "VRAM Total Memory"),
            )
            yield Device(
                int(card[1]),
                util=_first_reading(cells, "GPU use (%)"),
                memory=None if taken is None or whole is None else (taken, whole),
                temperature=_first_reading(cells, "Temperature (Sensor junction)", "Temperature"),
                power=_first_reading(
                    cells, "Average Graphics Package Power", "Current Socket Graphics Package Power"
                ),
                clock=_first_reading(cells, "sclk clock speed:"),
            )


def _first_reading(cells: Mapping[str, Any], *names: str) -> float | None:
    """The first number under a key that begins with one of the names, the earlier names first."""
    for name in names:
        for key, cell in cells.items():
            if key.startswith(name):
                try:
                    return float(str(cell).strip("()").removesuffix("Mhz"))
                except ValueError:
                    continue
    return None
