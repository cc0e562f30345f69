"""What the ways to ask for GPUs print, in their real forms, and what GPUs show together."""

import json
import os
import stat
import sys
import tracemalloc
import types
from pathlib import Path
from typing import Any

import psutil
import pytest

from hrmdoc.monitors.gpu import amd_smi, nvidia_smi, nvml, powermetrics, program, rocm_smi
from hrmdoc.monitors.gpu.device import Device, together, used
from hrmdoc.monitors.gpu.sensor import GpuSensor
from hrmdoc.monitors.processes import Tree
from hrmdoc.monitors.sensor import Absent
from tests import waiting

ROWS = """\
0, GPU-aaaa, 97, 30210, 81559, 61, 402.11, 0x0000000000000004, 1980
1, GPU-bbbb, 3, 29800, 81559, 84, 188.90, 0x0000000000000060, 345
2, GPU-cccc, [N/A], [Unknown Error], 81559, 40, [N/A], [N/A], [N/A]
"""
APPS = "GPU-aaaa, 4711\nGPU-bbbb, 4712\n"
ROCM = """\
WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

{"card0": {"Temperature (Sensor edge) (C)": "36.0", "Temperature (Sensor junction) (C)": "44.0",
 "Average Graphics Package Power (W)": "92.0", "GPU use (%)": "83", "sclk clock speed:": "(2100Mhz)",
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
    assert first == Device(0, 97, (30210 * 2**20, 81559 * 2**20), 61, 402.11, 1980, False, frozenset({4711}))
    assert second.slowed, "0x60 is heat"
    assert (third.util, third.memory, third.slowed, third.pids) == (None, None, None, frozenset())


def test_lines_of_another_form_are_passed_over() -> None:
    assert not list(nvidia_smi.read("Failed to initialize NVML: Driver/library version mismatch\n", ""))
    assert not list(rocm_smi.read("no card, no JSON"))
    assert not list(rocm_smi.read("{" * 5000))
    assert not list(powermetrics.read("powermetrics must be invoked as the superuser"))


def test_rocm_smi_and_powermetrics_are_read() -> None:
    first, second = rocm_smi.read(ROCM)
    assert first == Device(0, 83, (34351349760, 68702699520), 44, 92, 2100)
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
        "nvmlDeviceGetClockInfo": lambda *_: 1755,
        "NVML_CLOCK_SM": 1,
        "NVML_TEMPERATURE_GPU": 0,
        "NVMLError": _NVMLError,
        **broken,
    }
    for name, answer in answers.items():
        setattr(module, name, answer)
    return module


def test_nvml_leaves_out_what_a_gpu_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _library())
    assert nvml.devices() == [Device(0, 42, (5, 10), 55, None, 1755, True, frozenset({7}))]


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


METRICS = """\
WARNING: User is missing the following required groups: render, video
[
 {"gpu": 0,
  "usage": {"gfx_activity": {"value": 97, "unit": "%"}, "umc_activity": {"value": 33, "unit": "%"}},
  "power": {"socket_power": {"value": 561, "unit": "W"}, "throttle_status": "THROTTLED"},
  "clock": {"gfx_0": {"clk": {"value": 2104, "unit": "MHz"}}, "gfx_1": {"clk": "N/A"},
            "mem_0": {"clk": {"value": 1300, "unit": "MHz"}}},
  "temperature": {"edge": "N/A", "hotspot": {"value": 71, "unit": "C"}, "mem": {"value": 62, "unit": "C"}},
  "throttle": {"ppt_violation_status": "ACTIVE", "socket_thermal_violation_status": "NOT ACTIVE"},
  "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 49148, "unit": "MB"}}},
 {"gpu": 1, "usage": "N/A", "power": {"average_socket_power": 90},
  "temperature": {"edge": 40, "hotspot": "N/A"},
  "throttle": {"prochot_violation_status": "ACTIVE"}, "mem_usage": {"total_vram": 1000, "used_vram": 250}}
]
"""
PROCESSES = """\
[{"gpu": 0, "process_list": [{"process_info": {"name": "python", "pid": 4711, "memory_usage": {}}}]},
 {"gpu": 1, "process_list": [{"process_info": "No running processes detected"}]}]
"""


def test_amd_smi_is_read_in_the_forms_of_its_releases() -> None:
    first, second = amd_smi.read(METRICS, PROCESSES)
    whole = (49148 * 2**20, 196592 * 2**20)
    assert first == Device(0, 97, whole, 71, 561, 2104, False, frozenset({4711})), (
        "the power cap does not count"
    )
    assert second == Device(1, None, (250 * 2**20, 1000 * 2**20), 40, 90, None, True, frozenset())
    wrapped = '{"gpu_data": [{"gpu": 3, "usage": {"gfx_activity": 50}}]}'
    assert list(amd_smi.read(wrapped, "Permission denied")) == [Device(3, 50)]
    for text in ("", "[WARN] none", "[" * 5000, "{}", '[1, {"gpu": "all"}]'):
        assert not list(amd_smi.read(text, text))


class _AmdError(Exception):
    pass


def _amd_library(**answers: object) -> types.ModuleType:
    """A stand-in for amdsmi, by the names of ROCm 6 and 7, with one GPU."""

    def failing(*_: object) -> object:
        raise _AmdError("AMDSMI_STATUS_NOT_SUPPORTED")

    module = types.ModuleType("amdsmi")
    known = {
        "amdsmi_init": lambda: None,
        "amdsmi_shut_down": lambda: None,
        "amdsmi_get_processor_handles": lambda: ["a"],
        "amdsmi_get_gpu_activity": lambda _: {"gfx_activity": 42, "umc_activity": "N/A"},
        "amdsmi_get_power_info": lambda _: {"socket_power": "N/A", "average_socket_power": 0xFFFF},
        "amdsmi_get_clock_info": lambda *_: {"clk": 2100, "max_clk": 2105},
        "amdsmi_get_temp_metric": lambda *_: 55,
        "amdsmi_get_gpu_memory_usage": lambda *_: 5,
        "amdsmi_get_gpu_memory_total": lambda *_: 10,
        "amdsmi_get_violation_status": failing,
        "amdsmi_get_gpu_process_list": lambda _: [
            {"pid": 7, "memory_usage": {"vram_mem": 9}},
            {"pid": 8, "memory_usage": {"vram_mem": 0}},
        ],
        "AmdSmiClkType": types.SimpleNamespace(GFX=0),
        "AmdSmiMemoryType": types.SimpleNamespace(VRAM=0),
        "AmdSmiTemperatureType": types.SimpleNamespace(HOTSPOT=1),
        "AmdSmiTemperatureMetric": types.SimpleNamespace(CURRENT=0),
        "AmdSmiException": _AmdError,
        **answers,
    }
    for name, answer in known.items():
        setattr(module, name, answer)
    return module


def test_amdsmi_is_asked_where_nothing_of_nvidia_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "amdsmi", _amd_library())
    _program(tmp_path, "amd-smi", "exit 9")  # the sign that there is a GPU
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    shown = GpuSensor(Tree(lambda: None)).read(0)
    assert shown == {"gpu.util": 42, "gpu.memory_share": 50, "gpu.temperature": 55}
    slow = {"active_socket_thrm": True, "active_ppt_pwr": False}
    monkeypatch.setitem(sys.modules, "amdsmi", _amd_library(amdsmi_get_violation_status=lambda _: slow))
    assert GpuSensor(Tree(lambda: None)).read(0)["gpu.throttled"] == 1


def test_the_programs_of_amd_stand_in_where_the_library_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    (tmp_path / "metrics").write_text(METRICS)
    _program(tmp_path, "amd-smi", f"case $1 in metric) cat {tmp_path}/metrics;; *) exit 3;; esac")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    shown = GpuSensor(Tree(lambda: None)).read(0)
    assert (shown["gpu.util"], shown["gpu.power"], shown["gpu.hotter"]) == (97, 651, 31)
    (tmp_path / "rocm").write_text(ROCM)
    _program(tmp_path, "amd-smi", "exit 9")
    _program(tmp_path, "rocm-smi", f"cat {tmp_path}/rocm")
    assert GpuSensor(Tree(lambda: None)).read(0)["gpu.util"] == 82


def test_heat_and_clocks_show_the_one_that_differs_too() -> None:
    shown = together(
        [
            Device(0, 96, temperature=66, clock=1980),
            Device(1, 94, temperature=64, clock=1965),
            Device(2, 95, temperature=91, clock=1320),
            Device(3, 2, temperature=35, clock=210),
        ]
    )
    assert (shown["gpu.hotter"], shown["gpu.hotter_index"]) == (27, 2)
    assert shown["gpu.slower"] == pytest.approx(100 * (1 - 1320 / 1972.5), abs=0.1)
    assert shown["gpu.slower_index"] == 2, "one that idles lowers its clock by itself"
    assert "gpu.slower" not in together([Device(0, 90, clock=1980), Device(1, 3, clock=210)])


def test_many_beginnings_of_json_in_what_amd_smi_printed_are_not_all_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    class Counting(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            tried.append(idx)
            return super().raw_decode(s, idx)

    monkeypatch.setattr(amd_smi.json, "JSONDecoder", Counting)  # type: ignore[attr-defined]
    assert not list(amd_smi.read("[W] x\n" * 5_000, ""))
    assert len(tried) <= amd_smi.MOST_BEGINNINGS
    assert [one.index for one in amd_smi.read("[W] x\n\n" * 9 + '[{"gpu": 3}]', "")] == [3]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1e999", "1" + "0" * 400, "true", '"N/A"', "[]"])
def test_a_number_of_amd_smi_that_is_none_is_not_told(number: str) -> None:
    text = f'[{{"gpu": 0, "usage": {{"gfx_activity": {number}}}, "mem_usage": {{"used_vram": {number}}}}}]'
    (device,) = amd_smi.read(text, "")
    assert (device.index, device.util, device.memory) == (0, None, None)


@pytest.mark.parametrize("name", ["[1]", "{}", "true", '"0"'])
def test_what_names_no_gpu_or_process_in_amd_smi_is_passed_over(name: str) -> None:
    held = f'[{{"gpu": {name}, "process_list": []}}, {{"gpu": 1, "process_list": [{{"pid": {name}}}]}}]'
    devices = list(amd_smi.read(f'[{{"gpu": {name}}}, {{"gpu": 1}}]', held))
    assert [(one.index, one.pids) for one in devices] == [(1, frozenset())]


def installed(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program called nvidia-smi before all others."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_program_that_prints_without_end_is_read_in_part_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "echo $$ >pid; exec yes", monkeypatch)
    monkeypatch.chdir(tmp_path)
    tracemalloc.start()
    with pytest.raises(Absent, match="without end"):
        nvidia_smi.devices()
    assert tracemalloc.get_traced_memory()[1] < 4 * program.MOST
    tracemalloc.stop()
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_program_that_does_not_answer_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "sleep 600 & echo $! >pid; exit 0", monkeypatch)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Absent, match="does not answer"):
        program.asked("nvidia-smi", patience=4.0)
    waiting.until(lambda: gone(int((tmp_path / "pid").read_text())))


def test_a_program_that_fails_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "echo 0, GPU-a; exit 9", monkeypatch)
    with pytest.raises(Absent, match="status 9"):
        program.asked("nvidia-smi")
