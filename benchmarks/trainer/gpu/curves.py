"""Two learning curves of equal length: the usual setting, and the fastest."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.context import ForkProcess
from pathlib import Path

from benchmarks.trainer.gpu.alone import FORK, alone, failed
from benchmarks.trainer.gpu.lines import line
from benchmarks.trainer.gpu.settings import KERNELS, Part, Setting, Sizes
from hrmdoc.trainer.data.dataset import PuzzleData
from hrmdoc.trainer.data.locate import open_data
from hrmdoc.trainer.main import main as trainer

CURVE_SHARE, ENDING_SHARE = 0.65, 0.1  # of a run's time; the rest is for what comes before its first step
EVALUATIONS = 6  # of a curve


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
        return failed(f"no evaluation within {seconds:.0f} s of training; the run's last line: {last}")
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
