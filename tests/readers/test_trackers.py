"""Offline stores of trackers: the curve with its NaN, the settings, and a word where there is none."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Fact, Line, Record
from tests.fuzz.harness import NAMES
from tests.readers import trackers
from tests.readers.feeding import curves, fed

METRICS = {
    "neptune": "train/loss",
    "comet": "train/loss",
    "clearml": "loss/train",
    "otlp": "train.loss{host=a}",
    "prometheus": "train_loss{run=x}",
    "optuna": "objective_minimized",
    "swanlab": "train/loss",
}


def read(name: str, path: Path, blob: bytes, part: str = "") -> list[Record]:
    path.write_bytes(blob)
    chosen = readers.choose(path, blob[: 1 << 16])
    assert chosen is not None
    assert name == chosen.NAME
    wanted = lambda block: [0] if b"CUDA" in block else []  # noqa: E731
    return fed(chosen.open_session(Context(str(path), str(path), wanted=wanted, part=part)), blob)


@pytest.mark.parametrize("name", METRICS)
def test_a_curve_is_read_with_its_steps_and_its_nan(name: str, tmp_path: Path) -> None:
    [(metric, points)] = curves(read(name, tmp_path / NAMES[name], trackers.SEEDS[name])).items()
    assert metric == METRICS[name]
    more = 2.0 if name == "optuna" else 0.0
    assert points == [(n, repr(loss + more)) for n, loss in enumerate(trackers.LOSSES)]


@pytest.mark.parametrize("name", ["neptune", "comet", "optuna"])
def test_settings_are_what_the_user_gave_and_nothing_else(name: str, tmp_path: Path) -> None:
    found = {
        one.key: one.value
        for one in read(name, tmp_path / NAMES[name], trackers.SEEDS[name])
        if isinstance(one, Fact)
    }
    assert found == ({"lr": 0.1, "batch": "big"} if name == "optuna" else {"lr": 0.1})


def test_settings_of_clearml_get_their_types_back(tmp_path: Path) -> None:
    blob = json.dumps(trackers.CLEARML_TASK).encode()
    found = read("clearml", tmp_path / "task.json", blob)
    assert {one.key: one.value for one in found if isinstance(one, Fact)} == {"lr": 0.1, "data.shuffle": True}


@pytest.mark.parametrize("name", ["comet", "swanlab"])
def test_printed_lines_that_a_rule_asks_for_are_kept(name: str, tmp_path: Path) -> None:
    found = read(name, tmp_path / NAMES[name], trackers.SEEDS[name])
    assert [one.text for one in found if isinstance(one, Line)] == ["RuntimeError: CUDA out of memory"]


def test_a_run_of_swanlab_says_how_it_ended(tmp_path: Path) -> None:
    found = read("swanlab", tmp_path / "run-a.swanlab", trackers.swanlab())
    assert [one.detail for one in found if isinstance(one, Event) and one.kind == "end"] == ["crashed"]


def test_the_records_of_json_of_an_older_swanlab_say_the_same(tmp_path: Path) -> None:
    new = read("swanlab", tmp_path / "run-a.swanlab", trackers.swanlab())
    old = read("swanlab", tmp_path / "backup.swanlab", trackers.swanlab_of_json())
    assert curves(old) == curves(new)
    assert [one.text for one in old if isinstance(one, Line)] == ["RuntimeError: CUDA out of memory"]
    assert [one.detail for one in old if isinstance(one, Event) and one.kind == "end"] == ["crashed"]
    assert not [one for one in old if isinstance(one, Damage)]


def test_a_trial_of_optuna_is_a_run_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    first = curves(read("optuna", path, trackers.optuna("MAXIMIZE"), part="trial 0"))
    assert first["objective_maximized"][0] == (0, "3.3")
    assert readers.reader("optuna").runs(str(path)) == ["trial 0", "trial 1"]  # type: ignore[attr-defined]


def test_one_moment_of_prometheus_is_said_to_be_no_curve(tmp_path: Path) -> None:
    found = read("prometheus", tmp_path / "metrics.prom", trackers.PROMETHEUS_TEXT)
    assert curves(found) == {}
    assert ["query_range" in one.what for one in found if isinstance(one, Damage)] == [True]


def test_two_instances_of_one_job_are_two_curves(tmp_path: Path) -> None:
    answer = json.loads(trackers.prometheus_range())
    (first,) = answer["data"]["result"]
    answer["data"]["result"].append({**first, "metric": {**first["metric"], "instance": "b:9464"}})
    found = curves(read("prometheus", tmp_path / "range.json", json.dumps(answer).encode()))
    assert sorted(found) == ["train_loss{instance=a:9464,run=x}", "train_loss{instance=b:9464,run=x}"]


@pytest.mark.parametrize("values", [3, "word", None, [], [3], [[1, 2, 3]], {"0": [1, 2]}])
def test_a_series_of_prometheus_without_samples_is_left_out(values: object, tmp_path: Path) -> None:
    answer = json.loads(trackers.prometheus_range())
    answer["data"]["result"].insert(0, {"metric": {}, "values": values})
    found = read("prometheus", tmp_path / "range.json", json.dumps(answer).encode())
    assert list(curves(found)) == ["train_loss{run=x}"]
    assert [one.line for one in found if isinstance(one, Damage)] == [1]


def test_text_of_prometheus_with_times_is_a_curve(tmp_path: Path) -> None:
    blob = (
        trackers.PROMETHEUS_TEXT + b'train_loss{run="x"} 2.2 1700000015000\ntrain_loss{run="x"} +Inf\nodd\n'
    )
    found = read("prometheus", tmp_path / "metrics.prom", blob)
    assert curves(found) == {"train_loss{run=x}": [(0, "2.3"), (1, "2.2"), (2, repr(math.inf))]}
    assert [one.line for one in found if isinstance(one, Damage)] == [9]


@pytest.mark.parametrize("name", ["neptune", "comet", "clearml", "otlp"])
def test_a_torn_line_is_one_damage_and_costs_no_other(name: str, tmp_path: Path) -> None:
    blob = trackers.SEEDS[name]
    found = read(name, tmp_path / NAMES[name], blob + b'{"torn": \n' + blob[:40])
    assert len(curves(found)[METRICS[name]]) == len(trackers.LOSSES)
    assert sum(isinstance(one, Damage) for one in found) == 2


def test_the_files_of_an_offline_session_are_one_run_in_its_zip_file_too(tmp_path: Path) -> None:
    path = tmp_path / "offline-1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metrics.jsonl", trackers.clearml())
        archive.writestr("task.json", json.dumps(trackers.CLEARML_TASK))
        archive.writestr("log.jsonl", trackers.lines([[{"type": "log", "msg": "step 1"}]]))
    assert len(readers.runs_below([str(path)])) == 1
    comet = tmp_path / "comet.zip"
    with zipfile.ZipFile(comet, "w") as archive:
        archive.writestr("messages.json", trackers.comet())
        archive.writestr("experiment.json", '{"offline_id": "1"}')
        archive.writestr("tmp123", "print(1)\n")
    assert len(readers.runs_below([str(comet)])) == 1


def test_what_swanlab_says_of_itself_is_no_part_of_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run-20261123_1-a"
    (run / "debug").mkdir(parents=True)
    (run / "run-a.swanlab").write_bytes(trackers.swanlab())
    (run / "debug" / "debug.log").write_text("ModuleNotFoundError: No module named 'x'\nstep 1 loss 2\n")
    assert [Path(one.path).name for one in readers.discover(str(run))] == ["run-a.swanlab"]
