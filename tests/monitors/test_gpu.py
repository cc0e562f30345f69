"""What the ways to ask for GPUs print, in their real forms, and what GPUs show together."""

import stat
import sys
import types
from pathlib import Path

import pytest

from hrmdoc.monitors.gpu import nvidia_smi, nvml, powermetrics, rocm_smi
from hrmdoc.monitors.gpu.device import Device, together, used
from hrmdoc.monitors.gpu.sensor import GpuSensor
from hrmdoc.monitors.processes import Tree
from hrmdoc.monitors.sensor import Absent

ROWS = """\
0, GPU-aaaa, 97, 30210, 81559, 61, 402.11, 0x0000000000000004
1, GPU-bbbb, 3, 29800, 81559, 84, 188.90, 0x0000000000000060
2, GPU-cccc, [N/A], [Unknown Error], 81559, 40, [N/A], [N/A]
"""
APPS = "GPU-aaaa, 4711\nGPU-bbbb, 4712\n"
ROCM = """\
WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

{"card0": {"Temperature (Sensor edge) (C)": "36.0", "Temperature (Sensor junction) (C)": "44.0",
 "Average Graphics Package Power (W)": "92.0", "GPU use (%)": "83",
 "VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "34351349760"},
 "card1": {"GPU use (%)": "81"}, "system": {"Driver version": "6.2.4"}}
"""
POWER = """\
**** GPU usage ****

GPU HW active frequency: 712 MHz
GPU HW active residency:  48.35% (389 MHz:  12% 486 MHz: .21%)
GPU idle residency:  51.65%
GPU Power: 3421 mW
"""


def test_nvidia_smi_tells_use_heat_and_who_computes() -> None:
    first, second, third = nvidia_smi.read(ROWS, APPS)
    assert first == Device(0, 97, (30210 * 2**20, 81559 * 2**20), 61, 402.11, False, frozenset({4711}))
    assert second.slowed, "0x60 is heat"
    assert (third.util, third.memory, third.slowed, third.pids) == (None, None, None, frozenset())


def test_lines_of_another_form_are_passed_over() -> None:
    assert not list(nvidia_smi.read("Failed to initialize NVML: Driver/library version mismatch\n", ""))
    assert not list(rocm_smi.read("no card, no JSON"))
    assert not list(rocm_smi.read("{" * 5000))
    assert not list(powermetrics.read("powermetrics must be invoked as the superuser"))


def test_rocm_smi_and_powermetrics_are_read() -> None:
    first, second = rocm_smi.read(ROCM)
    assert first == Device(0, 83, (34351349760, 68702699520), 44, 92)
    assert second == Device(1, 81)
    assert list(powermetrics.read(POWER)) == [Device(0, 48.35, power=3.421)]


def test_gpus_of_the_run_are_those_that_its_processes_compute_on() -> None:
    mine, other, idle = (
        Device(0, 90, pids=frozenset({1})),
        Device(1, 10, pids=frozenset({2})),
        Device(2, 0, pids=frozenset()),
    )
    assert used([mine, other, idle], [1]) == [mine]
    assert used([mine, other, idle], [99]) == [mine, other], "numbers of another namespace"
    assert used([idle], [1]) == [], "a run that uses no GPU lets none idle"
    assert used([mine, Device(3)], [1]) == [mine, Device(3)], "nobody can tell"


def test_together_they_show_the_one_that_differs() -> None:
    shown = together([Device(0, 96), Device(1, 94), Device(4, 5, (9, 10)), Device(5, 95, slowed=True)])
    assert shown["gpu.behind"] == 90
    assert shown["gpu.behind_index"] == 4
    assert shown["gpu.memory_share"] == 90
    assert shown["gpu.throttled"] == 1, "of those that tell"
    assert "gpu.behind" not in together([Device(0, 96)])
    assert together([]) == {}


class _NVMLError(Exception):
    pass


def _library(**broken: object) -> types.ModuleType:
    """A stand-in for pynvml, with one GPU."""
    module = types.ModuleType("pynvml")

    def failing(*_: object) -> object:
        raise _NVMLError("Not Supported")

    answers = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetUtilizationRates": lambda _: types.SimpleNamespace(gpu=42, memory=9),
        "nvmlDeviceGetMemoryInfo": lambda _: types.SimpleNamespace(used=5, total=10),
        "nvmlDeviceGetPowerUsage": failing,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: 0x20,
        "nvmlDeviceGetComputeRunningProcesses": lambda _: [types.SimpleNamespace(pid=7)],
        "nvmlDeviceGetTemperature": lambda *_: 55,
        "NVML_TEMPERATURE_GPU": 0,
        "NVMLError": _NVMLError,
        **broken,
    }
    for name, answer in answers.items():
        setattr(module, name, answer)
    return module


def test_nvml_leaves_out_what_a_gpu_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _library())
    assert nvml.devices() == [Device(0, 42, (5, 10), 55, None, True, frozenset({7}))]


def _program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(stat.S_IRWXU)


def test_the_first_way_that_answers_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver() -> None:
        raise _NVMLError("Driver Not Loaded")

    monkeypatch.setitem(sys.modules, "pynvml", _library(nvmlInit=no_driver))
    (tmp_path / "rows").write_text(ROWS)
    (tmp_path / "apps").write_text(APPS)
    _program(
        tmp_path, "nvidia-smi", f"case $1 in *apps*) cat {tmp_path}/apps;; *) cat {tmp_path}/rows;; esac"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    sensor = GpuSensor(Tree(lambda: None))
    assert sensor.read(0)["gpu.util"] == 50
    assert sensor.every == nvidia_smi.EVERY_S, "a start of the program is dear"
    _program(tmp_path, "nvidia-smi", "exit 9")
    assert sensor.read(60) == {}, "a driver that fails once is asked again"
    _program(
        tmp_path, "nvidia-smi", f"case $1 in *apps*) cat {tmp_path}/apps;; *) cat {tmp_path}/rows;; esac"
    )
    assert sensor.read(120)["gpu.util"] == 50


def test_where_there_is_a_sign_of_a_gpu_the_missing_ways_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    _program(tmp_path, "nvidia-smi", "exit 9")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Absent, match=r"NVML .*nvidia-smi .*rocm-smi"):
        GpuSensor(Tree(lambda: None)).read(0)
