"""What a watch measures while a real process leaks memory, idles, or fills a disk."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hrmdoc.live.monitoring import Writer
from hrmdoc.live.watch import Watch
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run
from hrmdoc.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="who writes a log is known on Linux alone")

RULE = """
id: {name}
title: {name}
severity: critical
playbook: memory#host-memory-growth
when: {{check: "{check}"}}
needs: {{roles: [{role}]}}
evidence: "at {{last}}"
summary: A condition in time, made short for a test.
"""
PROCESS = """
import sys, time
step, held, until = 0, None, time.time() + 60
while time.time() < until:
    words = open(sys.argv[1]).read().split()
    if 'leak' in words and held is None:
        held = bytearray(150_000_000)
    if 'leak' not in words:
        held = None
    if 'stop' in words:
        break
    if 'idle' not in words:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
    print(f'step {step} loss {3 - step / 1000:.4f}', flush=True)
    step += 1
    time.sleep(0.1)
"""


@pytest.fixture
def rules(tmp_path: Path) -> Settings:
    folder = tmp_path / "own" / "symptoms"
    folder.mkdir(parents=True)
    for name, role, check in (
        ("takes-much", "host.process_memory", "seconds_above(host.process_memory, 0.12, 0.1) >= 0.5"),
        ("does-nothing", "host.process_cpu", "seconds_below(host.process_cpu, 6, 12) >= 0.5"),
    ):
        (folder / f"{name}.yaml").write_text(RULE.format(name=name, role=role, check=check))
    return Settings(rules=(str(tmp_path / "own"),))


def test_a_leak_and_an_idle_process_open_incidents_that_resolve(tmp_path: Path, rules: Settings) -> None:
    orders, log, began = tmp_path / "orders", tmp_path / "a.log", time.time()
    orders.write_text("work")
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", PROCESS, str(orders)], stdout=file)
    # The clock of incidents runs thirty times as fast: they wait ten seconds before they are over.
    watch = Watch(
        str(log),
        settings=rules,
        interval=0.1,
        remember=False,
        measure=0.15,
        now=lambda: began + 30 * (time.time() - began),
    )
    told: list[tuple[str, str]] = []
    plan = [
        ("takes-much", "opened", "leak"),
        ("takes-much", "resolved", "work"),
        ("does-nothing", "opened", "idle"),
        ("does-nothing", "resolved", "work"),
    ]
    wanted = iter(plan)
    name, change, order = next(wanted)
    deadline = time.time() + 50
    try:
        for update in watch.updates():
            told += [(one.symptom, one.change) for one in update.changes]
            if update.analysis.run.measured and orders.read_text() != order:
                orders.write_text(order)
            if (name, change) in told:
                following = next(wanted, None)
                if following is None:
                    watch.stop()
                else:
                    name, change, order = following
            assert time.time() < deadline, told
    finally:
        orders.write_text("stop")
        process.kill()
        process.wait()
    assert [one for one in told if one in [(s, c) for s, c, _ in plan]] == [(s, c) for s, c, _ in plan]


def test_the_process_that_a_run_names_is_asked_on_its_own_machine_alone() -> None:
    import os
    import platform

    def writer(host: str, alive: bool) -> Callable[[], int | None]:
        run = Run()
        for key, value in (
            ("run.host", host),
            ("run.pid", os.getppid()),
            ("run.process_alive", alive),
        ):
            run.add(Fact(key, value))
        return Writer(run, list)

    assert writer(platform.node(), True)() == os.getppid()
    assert writer(platform.node(), False)() is None
    assert writer("elsewhere", True)() is None
