"""Processor, memory, disk, processes and limits of containers."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hrmdoc.monitors.cgroup import Cgroup
from hrmdoc.monitors.machine import DiskSensor, MachineSensor
from hrmdoc.monitors.processes import ProcessSensor, Tree, writer_of
from hrmdoc.monitors.sampler import Sampler
from hrmdoc.monitors.sensor import UNITS, Rate

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's files are Linux's")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_limits_of_version_2_are_those_of_the_tightest_group(tmp_path: Path) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    put(proc / "7/cgroup", "0::/job/task\n")
    put(root / "cgroup.controllers", "cpu memory\n")
    put(root / "job/memory.max", "1000\n")
    put(root / "job/memory.current", "900\n")
    put(root / "job/memory.stat", "anon 600\ninactive_file 200\n")
    put(root / "job/task/memory.max", "max\n")
    put(root / "job/task/memory.current", "800\n")
    put(root / "job/task/memory.events", "low 0\noom 3\noom_kill 2\n")
    put(root / "job/task/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 40\n")
    group = Cgroup(7, root, proc)
    assert group.memory_share() == 70, "what can be dropped is free"
    assert group.oom_kills() == 2
    assert group.periods() == (100, 40)


def test_limits_of_version_1_lie_at_the_root_inside_a_container(tmp_path: Path) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    put(proc / "7/cgroup", "9:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n")
    put(root / "memory/memory.limit_in_bytes", "2000\n")
    put(root / "memory/memory.usage_in_bytes", "1500\n")
    put(root / "memory/memory.stat", "total_inactive_file 500\n")
    put(root / "memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    put(root / "cpu,cpuacct/cpu.stat", "nr_periods 10\nnr_throttled 1\nthrottled_time 5\n")
    group = Cgroup(7, root, proc)
    assert (group.memory_share(), group.oom_kills(), group.periods()) == (50, 1, (10, 1))


def test_a_group_without_limits_says_nothing(tmp_path: Path) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    put(proc / "7/cgroup", "9:memory:/\nno group\n")
    put(root / "memory/memory.limit_in_bytes", "9223372036854771712\n")
    put(root / "memory/memory.usage_in_bytes", "1500\n")
    group = Cgroup(7, root, proc)
    assert (group.memory_share(), group.oom_kills(), group.periods()) == (None, None, None)
    assert Cgroup(8, root, proc).memory_share() is None


def test_a_rate_is_since_the_reading_before_and_a_new_counter_is_none() -> None:
    rate = Rate(10)
    assert [rate.of(0, 100), rate.of(2, 140), rate.of(3, 5), rate.of(4, 15)] == [None, 2, None, 1]


def test_the_machine_answers_in_known_names() -> None:
    sensor = MachineSensor()
    first = sensor.read(0.0)
    assert 0 < first["host.memory_share"] < 100
    assert set(first) <= set(UNITS)


def test_the_disk_is_that_of_the_nearest_folder(tmp_path: Path) -> None:
    assert DiskSensor(tmp_path / "not" / "yet").read(0)["disk.free"] > 0


def test_a_tree_of_processes_is_measured_whole(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    child = "import time; x = bytearray(60_000_000); print('ready', flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", parent], stdout=file)
    try:
        for _ in range(400):
            if log.read_text():
                break
            time.sleep(0.05)
        assert writer_of(log) == process.pid
        sensor = ProcessSensor(Tree(lambda: process.pid))
        shown = sensor.read(0)
        assert shown["host.processes"] == 2
        assert shown["host.process_memory"] > 0.06
        assert sensor.read(1)["host.process_cpu"] < 50
    finally:
        for pid in Tree(lambda: process.pid).processes():
            pid.kill()
        process.wait()
    assert sensor.read(2) == {}


def test_who_reads_a_log_is_not_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.touch()
    with log.open("rb"), subprocess.Popen(["sleep", "30"], stdin=log.open("rb")) as reader:
        assert writer_of(log) is None
        reader.kill()
    assert writer_of(tmp_path / "none") is None
    with log.open("ab"):
        assert writer_of(log) is None, f"we ({os.getpid()}) are nobody's run"


def test_a_kill_for_want_of_memory_shows_when_the_run_is_gone(tmp_path: Path) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    put(proc / "7/cgroup", "0::/job\n")
    put(root / "cgroup.controllers", "memory\n")
    put(root / "job/memory.events", "oom 0\noom_kill 0\n")
    machine = MachineSensor()
    machine._group = Cgroup(7, root, proc)
    lives: list[int | None] = [os.getpid()]
    sampler = Sampler(tmp_path, lambda: lives[0], 10, sensors=[machine])
    sampler.read()
    lives[0] = None
    put(root / "job/memory.events", "oom 1\noom_kill 1\n")
    sampler.read()
    sampler.last()
    counts = [sample.values.get("host.oom_kills") for sample in sampler.taken()]
    assert counts == [0, None, 1]
    strange = Sampler(tmp_path, lambda: None, 10, sensors=[machine])
    strange.last()
    assert strange.taken() == [], "of a run on another machine nothing is said"
