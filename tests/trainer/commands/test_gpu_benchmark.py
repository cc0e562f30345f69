"""`benchmarks/trainer/gpu/`, which is for a GPU: what it does around the measurements, and a quick run of
it all on the CPU."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.trainer.gpu import curves as gpu_curves
from benchmarks.trainer.gpu.__main__ import assumed_peak
from benchmarks.trainer.gpu.alone import alone
from benchmarks.trainer.gpu.curves import curves, fastest
from benchmarks.trainer.gpu.settings import FULL, QUICK, settings
from benchmarks.trainer.gpu.speeds import speeds

ROOT = Path(__file__).parents[3]
RATES = ("puzzles_per_second", "step_seconds", "tflop_per_second", "of_matmul", "peak_memory_bytes")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result of a quick run, in a process of its own: a process that has computed in threads must not be
    forked."""
    folder = tmp_path_factory.mktemp("quick")
    env = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "XDG_CACHE_HOME": str(folder)}
    call = [
        sys.executable,
        "-m",
        "benchmarks.trainer.gpu",
        str(folder / "out"),
        "--quick",
        "--seconds",
        "900",
        "--peak-tflops",
        "0.1",
    ]
    subprocess.run(call, env=env, cwd=ROOT, check=True, capture_output=True, timeout=1800)
    found: dict[str, Any] = json.loads((folder / "out" / "gpu.json").read_text())
    found["text"] = (folder / "out" / "gpu.txt").read_text()
    return found


@pytest.mark.slow
def test_a_quick_run_measures_every_setting_or_says_why_not(quick: dict[str, Any]) -> None:
    parts = {part["name"]: part for part in quick["parts"] if part["part"] == "speed"}
    assert list(parts) == [setting.name for setting in settings(QUICK)]
    missing = {name for name, part in parts.items() if part["status"] != "done"}
    assert missing == {name for name in parts if " flash " in name}
    assert all("flash" in parts[name]["reason"] for name in missing)
    for part in (part for part in parts.values() if part["status"] == "done"):
        assert all(math.isfinite(part[rate]) and part[rate] > 0 for rate in RATES)
        assert part["puzzles_per_second"] * part["step_seconds"] == pytest.approx(part["rows"])
        assert (part["compiler"] is not None) is part["compiled"]
        assert (part["mfu"] is None) is (part["dtype"] == "float32")


@pytest.mark.slow
def test_a_quick_run_scores_two_runs_of_equal_length(quick: dict[str, Any]) -> None:
    first, second = (part for part in quick["parts"] if part["part"] == "curve")
    assert first["name"] == "eager float32: float32 sdpa eager batch 16"
    assert second["name"].startswith("fastest: ")
    assert "compiled" not in second["name"]
    for part in (first, second):
        if part["status"] != "done":  # a machine under load may not come to an evaluation in so few seconds
            assert part["reason"].startswith("no evaluation within")
            assert "error" not in part["reason"]
            continue
        assert part["seconds"] == QUICK.curve_s
        assert all(0 <= score["exact_accuracy"] <= 1 for score in part["scores"])
        assert part["exact_accuracy"] == part["scores"][-1]["exact_accuracy"]


@pytest.mark.slow
def test_the_head_names_versions_device_and_where_the_peak_is_from(quick: dict[str, Any]) -> None:
    head = quick["head"]
    assert head["versions"]["torch"]
    assert head["device"]["name"] == "CPU"
    assert head["peak"] == "0.1 TFLOP/s in bfloat16, given by --peak-tflops"
    for part in quick["parts"]:
        assert part["name"] in quick["text"]


def test_what_no_longer_fits_is_skipped_by_name() -> None:
    printed: list[str] = []
    parts = speeds(FULL, None, time.monotonic() + 2, printed.append)
    assert [part["name"] for part in parts] == [setting.name for setting in settings(FULL)]
    assert {part["status"] for part in parts} == {"skipped"}
    assert printed
    assert all("no time: " in text for text in printed)


def test_no_run_follows_a_speed_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_curves, "alone", lambda *_: {"status": "done", "groups": 1})
    printed: list[str] = []
    parts = speeds(FULL, None, time.monotonic(), printed.append)
    found = curves(parts, FULL, "builtin:sudoku-hard", time.monotonic() + 100, printed.append)
    assert [(part["status"], part["reason"]) for part in found] == [
        ("skipped", "its speed could not be measured")
    ] * 2


def test_a_run_can_be_given_neither_a_single_kernel_nor_the_stand_in_for_a_compiler() -> None:
    def part(
        attention: str, compiled: bool, speed: float, device: str = "cuda", **more: Any
    ) -> dict[str, Any]:
        known = {
            "status": "done",
            "rows": 384,
            "attention": attention,
            "compiled": compiled,
            "device": device,
        }
        return {**known, "puzzles_per_second": speed, **more}

    plain, best = part("sdpa", False, 1.0), part("flash", True, 2.0)
    others = [
        part("sdpa-flash", True, 9.0),
        part("sdpa", True, 9.0, device="cpu"),
        part("sdpa", True, 9.0, rows=768),
    ]
    assert fastest([plain, best, *others, {"status": "failed"}], 384) is best
    assert fastest([*others, plain], 384) is plain
    assert fastest(others, 384) is None


def _out_of_memory() -> dict[str, Any]:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB\nmore of it")


def _killed() -> dict[str, Any]:
    os.kill(os.getpid(), 9)
    return {}


def _slow() -> dict[str, Any]:
    time.sleep(60)
    return {}


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (_out_of_memory, "out of memory: RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"),
        (_killed, "its process ended with status -9 (negative: by that signal)"),
        (_slow, "not done within 0 s"),
    ],
)
def test_a_part_that_fails_dies_or_hangs_costs_only_itself(work: Any, reason: str) -> None:
    assert alone(work, 0.3 if work is _slow else 30) == {"status": "failed", "reason": reason}


def test_the_peak_goes_by_the_most_exact_name() -> None:
    assert assumed_peak("NVIDIA H100 PCIe", None)[0] == 756e12
    assert assumed_peak("NVIDIA H100 80GB HBM3", None)[0] == 989e12
    assert assumed_peak("NVIDIA L40S", None)[0] == 362e12
    assert assumed_peak("NVIDIA H200", None) == (
        989e12,
        "989 TFLOP/s in bfloat16, assumed from the name NVIDIA H200",
    )
    assert assumed_peak("CPU", None)[0] is None
