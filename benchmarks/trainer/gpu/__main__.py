"""`python -m benchmarks.trainer.gpu`: the whole programme within its time."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import torch

from benchmarks.trainer import gpu
from benchmarks.trainer.gpu.alone import alone
from benchmarks.trainer.gpu.curves import curves
from benchmarks.trainer.gpu.settings import FULL, QUICK, Part, Sizes
from benchmarks.trainer.gpu.speeds import speeds
from hrmdoc.trainer.devices.machine import probe
from hrmdoc.trainer.setup.facts import git_commit

ROOT = Path(__file__).resolve().parents[3]
# Dense bfloat16 TFLOP/s of the makers' data sheets, by a part of the device's name; the first that occurs
# counts.
PEAKS = {
    "B200": 2250,
    "H200": 989,
    "H100 PCIe": 756,
    "H100": 989,
    "A100": 312,
    "L40S": 362,
    "L40": 181,
    "L4": 121,
    "RTX 4090": 165,
    "RTX 3090": 71,
}
SPEED_SHARE = 0.5  # of the time for speeds, the rest for the two curves


def head() -> Part:
    """Versions, device and commit; in a process of its own, as it wakes the device."""
    machine = probe()
    versions = {
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
    }
    for package in ("hrmdoc", "torch", "triton", "flash_attn", "numpy"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "device": asdict(machine),
        "versions": versions,
        "commit": git_commit(ROOT),
        "platform": platform.platform(),
    }


def assumed_peak(name: str, given: float | None) -> tuple[float | None, str]:
    """The device's bfloat16 FLOP/s, and where the number is from."""
    if given is not None:
        return given * 1e12, f"{given:g} TFLOP/s in bfloat16, given by --peak-tflops"
    known = next((key for key in PEAKS if key in name), None)
    if known is None:
        return None, f"unknown for {name}: no MFU (give --peak-tflops)"
    return PEAKS[known] * 1e12, f"{PEAKS[known]} TFLOP/s in bfloat16, assumed from the name {name}"


def run(
    sizes: Sizes, data: str, seconds: float, peak_tflops: float | None, say: Callable[[str], None]
) -> Part:
    """The whole programme within `seconds`."""
    begun = time.monotonic()
    if (
        torch.version.cuda is None
    ):  # once, not in every process; a build with CUDA might wake the device by it
        importlib.import_module("torch._inductor")
    top = alone(head, seconds)
    name = top["device"]["name"] if top["status"] == "done" else "an unknown device"
    peak, source = assumed_peak(name, peak_tflops)
    top |= {
        "seconds": seconds,
        "peak": source,
        "model": list(sizes.model) or ["the default: hidden 512, 4+4 layers"],
    }
    say(json.dumps(top, indent=1))
    parts = speeds(sizes, peak, begun + SPEED_SHARE * seconds, say)
    parts += curves(parts, sizes, data, begun + seconds, say)
    spent = time.monotonic() - begun
    say(f"{spent:.0f} of {seconds:.0f} s")
    return {"head": top, "parts": parts, "spent_seconds": spent}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(gpu.__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="for gpu.json and gpu.txt; none: print both")
    parser.add_argument("--seconds", type=float, default=450, help="for everything")
    parser.add_argument(
        "--peak-tflops", type=float, help="dense bfloat16 TFLOP/s of the device, instead of the table's"
    )
    parser.add_argument("--data", help="what the curves train on; builtin:sudoku-hard by default")
    parser.add_argument("--quick", action="store_true", help="a tiny model, on any device")
    given = parser.parse_args(words)
    sizes = QUICK if given.quick else FULL
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        print(text, flush=True)

    found = run(sizes, given.data or sizes.data, given.seconds, given.peak_tflops, say)
    text = json.dumps(found, indent=1) + "\n"
    if given.folder is None:
        print(text, end="")
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "gpu.json").write_text(text)
    (given.folder / "gpu.txt").write_text("\n".join(said) + "\n")


if __name__ == "__main__":
    main()
