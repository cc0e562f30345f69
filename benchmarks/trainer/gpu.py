"""What a GPU does with the trainer: speed, memory and utilisation by attention, batch and compilation; two
learning curves.

    python -m benchmarks.trainer.gpu [FOLDER] [--seconds 450] [--peak-tflops 989] [--data builtin:sudoku-hard]
    [--quick]

Steps are those of `hrmdoc train --benchmark`, runs those of `hrmdoc train`. Every part has a process of its
own, so that one that runs out of memory, breaks the device or compiles for too long costs only itself; what
no longer fits into the time is named as skipped. A puzzle a second is one row through one ACT step: a puzzle
that takes 16 steps counts 16 times. `--quick` runs the same code with a tiny model on any device. FOLDER
receives gpu.json and gpu.txt; without it both are printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from hrmdoc.errors import HrmdocError
from hrmdoc.trainer.commands.benchmark import gemm_rate, measure_backend, step_flops
from hrmdoc.trainer.config import load as configs
from hrmdoc.trainer.config.schema import TrainConfig
from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.data.dataset import PuzzleData
from hrmdoc.trainer.data.locate import open_data
from hrmdoc.trainer.devices.machine import apply, probe
from hrmdoc.trainer.devices.memory import out_of_memory
from hrmdoc.trainer.main import main as trainer
from hrmdoc.trainer.model.arch import DTYPES
from hrmdoc.trainer.model.attention import check_backend
from hrmdoc.trainer.model.layers import inner_size
from hrmdoc.trainer.setup.facts import git_commit
from hrmdoc.trainer.setup.plan import make_plan
from hrmdoc.trainer.state.build import arch_config

Part = dict[str, Any]
FORK = multiprocessing.get_context("fork")  # a new process has PyTorch loaded already
ROOT = Path(__file__).resolve().parent.parent
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
KERNELS = {
    "sdpa-flash": SDPBackend.FLASH_ATTENTION,
    "sdpa-math": SDPBackend.MATH,
}  # PyTorch's own, one of them allowed
ATTENTIONS = ("sdpa", "flash", *KERNELS)  # sdpa: whichever PyTorch chooses; flash: the package flash-attn
SUDOKU = DataInfo(vocab_size=11, seq_len=81)
QUICK_ARCH = (
    "hidden_size=16 num_heads=1 H_layers=1 L_layers=1 H_cycles=1 L_cycles=1 expansion=1 halt_max_steps=2"
)
QUICK_MODEL = tuple(f"arch.{word}" for word in QUICK_ARCH.split())
SPEED_SHARE = 0.5  # of the time for speeds, the rest for the two curves
CURVE_SHARE, ENDING_SHARE = 0.65, 0.1  # of a run's time; the rest is for what comes before its first step
EVALUATIONS = 6  # of a curve


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to train. `attention` is one of ATTENTIONS."""

    rows: int
    attention: str
    compiled: bool
    dtype: str = "bfloat16"

    @property
    def name(self) -> str:
        return f"{self.dtype} {self.attention} {'compiled' if self.compiled else 'eager'} batch {self.rows}"

    def words(self) -> list[str]:
        """As settings of the trainer; its attention is chosen elsewhere."""
        return [
            f"global_batch_size={self.rows}",
            f"dtype={self.dtype}",
            f"compile={str(self.compiled).lower()}",
            "native=false",
        ]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is large in earnest and small in a quick run.

    An eager part and a compiled one are not begun with less than `least_s` left, and get no more than
    `most_s`.
    """

    model: tuple[str, ...]
    board: DataInfo
    batches: tuple[int, ...]
    attentions: tuple[str, ...]
    measured_s: int
    least_s: tuple[float, float]
    most_s: tuple[float, float]
    data: str
    curve_s: float


FULL = Sizes((), SUDOKU, (384, 768), ATTENTIONS, 3, (8, 30), (30, 100), "builtin:sudoku-hard", math.inf)
SMALL = DataInfo(vocab_size=6, seq_len=16)
QUICK = Sizes(
    QUICK_MODEL, SMALL, (16,), ("sdpa", "flash", "sdpa-math"), 0, (1, 2), (60, 60), "builtin:sudoku-4x4", 2.0
)


def settings(sizes: Sizes) -> list[Setting]:
    """The most telling ones first: time may end before the list does."""
    order = [Setting(sizes.batches[0], "sdpa", compiled=False, dtype="float32")]
    order += [Setting(rows, "sdpa", compiled) for rows in sizes.batches for compiled in (False, True)]
    others = [kind for kind in sizes.attentions if kind != "sdpa"]
    return order + [
        Setting(rows, kind, compiled)
        for compiled in (False, True)
        for rows in sizes.batches
        for kind in others
    ]


def head() -> Part:
    """Versions, device and commit; in a process of its own, as it wakes the device."""
    machine = probe()
    versions = {
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }  # type: ignore[no-untyped-call]
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


def speed(setting: Setting, config: TrainConfig, sizes: Sizes, peak: float | None) -> Part:
    """The speed of one setting, by the code of `hrmdoc train --benchmark`. `peak`: bfloat16 FLOP/s of the
    device, if known."""
    plan = make_plan(config, {})
    if (
        setting.compiled and plan.device == "cpu"
    ):  # inductor would take minutes there; the traced graph runs as it is
        plan = replace(plan, compile_backend="eager")
    kernel, dtype, board = KERNELS.get(setting.attention), DTYPES[plan.dtype], sizes.board
    attention = "sdpa" if kernel else setting.attention
    check_backend(attention, dtype)
    device, arch = apply(plan), arch_config(config.arch, plan.dtype)
    with sdpa_kernel([kernel]) if kernel else nullcontext():
        found = measure_backend(
            attention, config.seed, arch, board, setting.rows, plan, device, sizes.measured_s
        )
    flops = step_flops(arch, board, setting.rows)
    tokens, wide = (
        setting.rows * (board.seq_len + arch.prefix_len),
        2 * inner_size(arch.hidden_size, arch.expansion),
    )
    products = gemm_rate(
        tokens, arch.hidden_size, wide, dtype, device, seconds=min(0.5, 0.1 + sizes.measured_s)
    )
    rate = flops / found.step_seconds
    return {
        "puzzles_per_second": setting.rows / found.step_seconds,
        "step_seconds": found.step_seconds,
        "steps": found.steps,
        "tflop_per_second": rate / 1e12,
        "mfu": rate / peak if peak and plan.dtype == "bfloat16" else None,
        "of_matmul": rate / products,
        "peak_memory_bytes": found.memory_bytes,
        "compiler": None
        if plan.compile_backend is None
        else f"{plan.compile_backend} {plan.compile_mode or ''}".rstrip(),
        "device": plan.device,
        "computed_in": plan.dtype,
    }


def alone(work: Callable[[], Part], seconds: float) -> Part:
    """Does `work` in a forked process that may take `seconds`; its result with a status, or why there is
    none.

    Nothing here may wake the device before: CUDA does not survive a fork.
    """
    here, there = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_tell, args=(work, there))
    process.start()
    there.close()
    try:
        result: Part = here.recv() if here.poll(seconds) else _failed(f"not done within {seconds:.0f} s")
    except EOFError:
        process.join()
        result = _failed(f"its process ended with status {process.exitcode} (negative: by that signal)")
    if process.is_alive():
        process.join(2 if result["status"] == "done" else 0)
    if process.is_alive():
        process.kill()
    process.join()
    return result


def _tell(work: Callable[[], Part], there: Connection) -> None:
    try:
        result = {"status": "done", **work()}
    except HrmdocError as error:
        result = {"status": "skipped", "reason": error.what}
    except Exception as error:  # noqa: BLE001  # whatever a part dies of is its result
        why = str(error).strip().splitlines() or [""]
        result = _failed(
            f"{'out of memory: ' if out_of_memory(error) else ''}{type(error).__name__}: {why[0]}"
        )
    there.send(result)


def _failed(why: str) -> Part:
    return {"status": "failed", "reason": why}


def speeds(sizes: Sizes, peak: float | None, until: float, say: Callable[[str], None]) -> list[Part]:
    """Every setting that can be begun before `until` (of time.monotonic)."""
    parts = []
    for setting in settings(sizes):
        left, least = until - time.monotonic(), sizes.least_s[setting.compiled]
        if left < least:
            result: Part = {
                "status": "skipped",
                "reason": f"no time: {max(0.0, left):.0f} s left, it needs {least:.0f} s",
            }
        else:
            config = configs.load(None, [*sizes.model, *setting.words()])
            result = alone(
                partial(speed, setting, config, sizes, peak), min(left, sizes.most_s[setting.compiled])
            )
        parts.append({"part": "speed", "name": setting.name, **asdict(setting), **result})
        say(line(parts[-1]))
    return parts


def fastest(parts: list[Part], rows: int) -> Part | None:
    """The fastest setting with `rows` rows that a run can be made to use: not a single kernel of
    PyTorch's."""
    fit = [
        part
        for part in parts
        if part["status"] == "done" and part["rows"] == rows and part["attention"] not in KERNELS
    ]
    fit = [part for part in fit if not (part["compiled"] and part["device"] == "cpu")]
    return max(fit, key=lambda part: float(part["puzzles_per_second"]), default=None)


def curves(
    parts: list[Part], sizes: Sizes, data: str, until: float, say: Callable[[str], None]
) -> list[Part]:
    """Two equally long runs: eager in float32, and the fastest that was measured."""
    rows = sizes.batches[0]
    base = next(part for part in parts if part["dtype"] == "float32")
    best = fastest(parts, rows)
    found: list[Part] = []
    ready = alone(
        lambda: {"groups": PuzzleData(open_data(data), "train").info.total_groups},
        max(1.0, until - time.monotonic()),
    )
    each = (until - time.monotonic()) / 2
    seconds = min(sizes.curve_s, CURVE_SHARE * each)
    for role, part in (("eager float32", base), ("fastest", best)):
        label = {
            "part": "curve",
            "name": f"{role}: {part['name'] if part else 'none was measured'}",
            "data": data,
        }
        if ready["status"] != "done":
            result = ready
        elif part is None or part["status"] != "done":
            result = {"status": "skipped", "reason": "its speed could not be measured"}
        elif seconds < 1:
            result = {"status": "skipped", "reason": f"no time: {max(0.0, each):.0f} s for each run"}
        else:
            result = curve(part, sizes, data, ready["groups"], seconds, each)
        found.append({**label, **result})
        say(line(found[-1]))
    return found


def curve(part: Part, sizes: Sizes, data: str, groups: int, seconds: float, whole: float) -> Part:
    """A run of `hrmdoc train` of `seconds`, from where it is ready for its first step (so compilation
    counts), and its scores.

    `whole` seconds it may take with starting Python, loading, and saving at the end.
    """
    setting = Setting(part["rows"], part["attention"], part["compiled"], part["dtype"])
    steps = max(
        1, int(seconds / EVALUATIONS / part["step_seconds"] / 2)
    )  # half: evaluations take time as well
    every = max(1, round(steps * setting.rows / groups))
    ending = ENDING_SHARE * whole
    words = [
        *sizes.model,
        *setting.words(),
        f"data_path={data}",
        f"eval_interval={every}",
        f"epochs={every * 10_000}",
    ]
    words += [
        "checkpoint_every_eval=false",
        "lr_warmup_steps=50",
        "weight_decay=1.0",
        "puzzle_emb_lr=1e-4",
        "max_steps=1000000",
    ]
    with tempfile.TemporaryDirectory() as folder:
        run, log = Path(folder) / "run", Path(folder) / "log"
        flash = "1" if setting.attention == "flash" else "0"
        process = FORK.Process(target=_train, args=([*words, f"run_dir={run}"], flash, log))
        process.start()
        try:
            _await(process, lambda: bool(_events(run, "started")), whole - seconds - ending)
            _await(process, lambda: False, seconds)
            process.terminate()
            process.join(ending)
        finally:
            process.kill()
            process.join()
        scored = _scores(run, seconds)
        last = (log.read_text(errors="replace").strip().splitlines() or ["nothing was written"])[-1]
    if not scored:
        return _failed(f"no evaluation within {seconds:.0f} s of training; the run's last line: {last}")
    return {
        "status": "done",
        "seconds": seconds,
        "scores": scored,
        "exact_accuracy": scored[-1]["exact_accuracy"],
    }


def _train(words: list[str], flash: str, log: Path) -> None:
    """`hrmdoc train` in this process, which is a forked one; what it prints goes to `log`."""
    with log.open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.environ["USE_FLASH_ATTN"] = flash
    sys.exit(trainer(["train", *words]))


def _await(process: ForkProcess, ready: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while process.is_alive() and time.monotonic() < until and not ready():
        time.sleep(0.05)


def _events(run: Path, kind: str) -> list[Part]:
    file = run / "events.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.is_file() else []
    found = [json.loads(text) for text in lines if text.endswith("\n")]  # the last may be half written
    return [event for event in found if event["event"] == kind]


def _scores(run: Path, seconds: float) -> list[Part]:
    begun = next((event["time"] for event in _events(run, "started")), math.inf)
    found = [(event["time"] - begun, event["step"], event["metrics"]) for event in _events(run, "evaluated")]
    names = ("exact_accuracy", "accuracy", "lm_loss")
    return [
        {"seconds": after, "step": step, **{name: metrics[f"all.{name}"] for name in names}}
        for after, step, metrics in found
        if after <= seconds
    ]


def line(part: Part) -> str:
    """One part for people."""
    start = f"{part['part']:<6}{part['name']:<62}"
    if part["status"] != "done":
        return f"{start}{part['status']}: {part['reason']}"
    if part["part"] == "curve":
        end = part["scores"][-1]
        shown = f"exact {end['exact_accuracy']:.1%}, cells {end['accuracy']:.1%}, loss {end['lm_loss']:.3f}"
        return f"{start}{shown} at step {end['step']} after {end['seconds']:.0f} of {part['seconds']:.0f} s"
    mfu = "" if part["mfu"] is None else f"  MFU {part['mfu']:.1%}"
    shown = f"{part['puzzles_per_second']:,.1f} puzzles/s  {part['step_seconds'] * 1e3:.2f} ms"
    used = f"{part['tflop_per_second']:.3g} TFLOP/s{mfu}  {part['of_matmul']:.0%} of matmul"
    return f"{start}{shown}  {used}  {part['peak_memory_bytes'] / 2**30:.2f} GiB"


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
