"""Samples in a run, and in the file beside it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hrmdoc.analysis import analyze
from hrmdoc.monitors import kept
from hrmdoc.monitors.kept import Kept, load
from hrmdoc.monitors.sampler import Sampler
from hrmdoc.monitors.sensor import Absent, Sample, Values
from hrmdoc.paths import kept_in
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.roles import RoleMap
from hrmdoc.rulebook import load as rules

NOW = 1_800_000_000.0


def samples(count: int, begin: float = NOW) -> list[Sample]:
    return [Sample(begin + 10 * at, {"disk.free": 100.0 - at, "gpu.util": 50.0}) for at in range(count)]


def test_what_was_measured_is_read_again_by_the_next_watch(tmp_path: Path) -> None:
    path = tmp_path / kept.FILE
    first, second = Run(), Run()
    Kept(first, path, NOW).take(samples(5), 40)
    again = Kept(second, path, NOW + 100)
    again.take(samples(2, NOW + 200), 60)
    series = second.best("disk.free")
    assert series is not None
    assert series.values.tolist() == [100, 99, 98, 97, 96, 100, 99]
    assert series.steps.tolist() == [40] * 5 + [60] * 2
    assert len(path.read_text().splitlines()) == 7


def test_samples_of_a_run_before_of_the_same_name_are_left(tmp_path: Path) -> None:
    path = tmp_path / kept.FILE
    Kept(Run(), path, NOW).take(samples(5), 0)
    run = Run()
    Kept(run, path, NOW + 7200).take(samples(1, NOW + 7200), 0)
    series = run.best("disk.free")
    assert series is not None
    assert len(series) == 1
    assert len(path.read_text().splitlines()) == 1


def test_what_is_no_sample_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / kept.FILE
    good = '{"time": 5.0, "step": 1, "values": {"disk.free": 3.0, "train.loss": 9.0}}\n'
    path.write_bytes(b'{"time": 1\n\xff\xfe\n[]\n{"time": "x"}\n' + good.encode() + good.encode())
    run = Run()
    assert load(run, path, 0) == 1, "time goes on"
    assert run.best("train.loss") is None, "a sample holds what is measured alone"
    assert load(Run(), tmp_path / "none", 0) == 0
    assert load(Run(), tmp_path, 0) == 0


def test_memory_and_file_are_bounded_and_recent_hours_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST", 40)
    path = tmp_path / kept.FILE
    run = Run()
    keeper = Kept(run, path, NOW)
    for sample in samples(200):
        keeper.take([sample], 7)
    series = run.best("gpu.util")
    assert series is not None
    assert 20 <= len(series) <= 40
    assert np.diff(series.times)[-10:].tolist() == [10] * 10
    assert series.times[0] == NOW, "the beginning stays"
    assert [json.loads(line)["time"] for line in path.read_text().splitlines()] == series.times.tolist()


def test_without_a_file_and_on_a_full_disk_memory_is_enough(tmp_path: Path) -> None:
    for path in (None, tmp_path / "none" / "deep" / "x", tmp_path):
        run = Run()
        keeper = Kept(run, path if path != tmp_path else tmp_path / "." / ".", NOW)
        keeper.take(samples(2), 0)
        keeper.take(samples(2, NOW + 50), 0)
        assert len(run.best("gpu.util") or ()) == 4


def test_what_is_measured_is_no_word_of_the_run() -> None:
    run = Run(role_of=RoleMap(rules()))
    Kept(run, None, NOW).take(samples(3), 0)
    assert run.points == 0
    assert math.isnan(run.last_time)
    assert run.progress is None
    assert run.is_measured("gpu.util")
    own = Points("gpu_util", np.array([1]), np.array([77.0]), np.array([np.nan]), "a.log")
    run.add(own)
    best = run.best("gpu.util")
    assert best is not None
    assert best.values[0] == 77, "the run's own word comes first"
    assert not run.is_measured("gpu.util")


def test_analyze_sees_what_the_watch_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = tmp_path / "a.log"
    log.write_text("".join(f"step {step} loss {3 - step / 100:.3f}\n" for step in range(40)))
    idle = [
        Sample(log.stat().st_mtime - 900 + 10 * at, {"gpu.util": 0.0 if at > 40 else 90.0})
        for at in range(90)
    ]
    path = kept_in(log) / kept.FILE
    path.parent.mkdir(parents=True)
    Kept(Run(), path, 0).take(idle, 20)
    found = {symptom.id: symptom for symptom in analyze(log).present}
    assert found["gpu-util-low"].first_step == 20
    assert "gpu-util-low" not in {symptom.id for symptom in analyze(_elsewhere(log)).present}


def _elsewhere(log: Path) -> Path:
    copy = log.with_name("b.log")
    copy.write_bytes(log.read_bytes())
    return copy


class _Sensor:
    every = 0.0

    def __init__(self, *answers: Values | Exception) -> None:
        self.answers = list(answers)

    def read(self, now: float) -> Values:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_sensor_that_is_absent_or_breaks_is_named_once_and_the_rest_go_on(tmp_path: Path) -> None:
    said: list[str] = []
    gone, broken = _Sensor(Absent("NVML")), _Sensor({"gpu.util": 1.0}, RuntimeError("bus"))
    sound = _Sensor(*[{"host.cpu": float(at), "nonsense": 1.0, "host.net_sent": math.nan} for at in range(4)])
    import os

    sampler = Sampler(tmp_path, os.getpid, 1, said.append, sensors=[gone, broken, sound])
    for _ in range(4):
        sampler.read()
    assert said == ["not measured here: NVML", "not measured here: _Sensor (RuntimeError: bus)"]
    taken = [sample.values for sample in sampler.taken()]
    assert [values["host.cpu"] for values in taken] == [0, 1, 2, 3]
    assert taken[0].keys() == {"disk.free", "gpu.util", "host.cpu"}
    assert sampler.taken() == []


def test_of_a_run_elsewhere_the_disk_alone_is_looked_at(tmp_path: Path) -> None:
    sensor = _Sensor({"host.cpu": 5.0})
    sampler = Sampler(tmp_path, lambda: None, 1, sensors=[sensor])
    sampler.read()
    assert [sample.values.keys() for sample in sampler.taken()] == [{"disk.free"}]


def test_a_dear_sensor_is_read_less_often(tmp_path: Path) -> None:
    import os

    now = [0.0]
    sensor = _Sensor(*[{"gpu.util": float(at)} for at in range(3)])
    sensor.every = 60
    sampler = Sampler(tmp_path, os.getpid, 10, sensors=[sensor], steady=lambda: now[0])
    for now[0] in range(0, 130, 10):
        sampler.read()
    found = [sample.values.get("gpu.util") for sample in sampler.taken()]
    assert [value for value in found if value is not None] == [0, 1, 2]
