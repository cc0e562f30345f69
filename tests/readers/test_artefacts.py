"""What real frameworks left behind (tests/artefacts) is read with the right framework, steps, roles and
values."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hrmdoc.analysis import Analysis, AnalysisSession
from hrmdoc.record.series import Series

ARTEFACTS = Path(__file__).parents[1] / "artefacts"


def examine(path: Path) -> Analysis:
    session = AnalysisSession(str(path))
    session.read([str(path)])
    return session.diagnose(closed=True, prescriptions=False)


def best(analysis: Analysis, role: str) -> Series:
    series = analysis.run.best(role)
    assert series is not None, f"nothing has the role {role}"
    return series


def curve(analysis: Analysis, role: str) -> tuple[list[int], list[float]]:
    series = best(analysis, role)
    return series.steps.tolist(), series.values.tolist()


EXPECTED: dict[str, tuple[str, str, str, dict[str, tuple[int, int, float]]]] = {
    # name: framework, kind, state, role -> (points, last step, last value)
    "hf-trainer/healthy": ("hf-trainer", "pretraining", "finished",
        {"train.loss": (8, 40, 1.4817), "eval.loss": (4, 40, 1.3497), "lr": (8, 40, 2.7778e-4),
         "grad_norm": (8, 40, 0.6853)}),
    "hf-trainer/resumed": ("hf-trainer", "pretraining", "finished",
        {"train.loss": (8, 40, 1.4817), "eval.loss": (4, 40, 1.3497)}),
    "hf-trainer/diverging": ("hf-trainer", "pretraining", "finished",
        {"train.loss": (8, 40, 0.0), "eval.loss": (4, 40, math.nan), "grad_norm": (8, 40, math.nan)}),
    "trl/sft": ("trl", "sft", "finished",
        {"train.loss": (6, 12, 1.912), "eval.loss": (2, 12, 2.0854),
         "train.accuracy": (6, 12, 0.7764), "num_tokens": (6, 12, 456)}),
    "hf-trainer/version-4": ("hf-trainer", "pretraining", "finished",
        {"train.loss": (8, 40, 1.4817), "eval.loss": (4, 40, 1.3497)}),
    "hf-trainer/version-4-diverging": ("hf-trainer", "unknown", "finished",
        {"train.loss": (8, 40, 0.0), "eval.loss": (4, 40, math.nan), "grad_norm": (8, 40, math.nan)}),
    "trl/kto": ("trl", "preference", "finished",
        {"dpo.margin": (6, 12, 0.7397), "dpo.logp_rejected": (6, 12, -14.606), "rl.kl": (6, 12, 0.4698)}),
    "trl/reward": ("trl", "preference", "finished",
        {"dpo.margin": (6, 12, 2.0219), "train.accuracy": (6, 12, 1.0), "train.loss": (6, 12, 0.1244)}),
    "trl/rloo": ("trl", "rl", "finished",
        {"rl.reward": (16, 16, -5.249), "rl.entropy": (16, 16, 2.8857), "rl.kl": (16, 16, -3.872e-3)}),
    "trl/dpo": ("trl", "preference", "finished",
        {"dpo.margin": (6, 12, 0.7291), "dpo.accuracy": (6, 12, 1.0), "dpo.logp_chosen": (6, 12, -10.24)}),
    "lightning/tqdm": ("lightning", "unknown", "finished",
        {"train.loss": (8, 23, 0.0262941), "eval.loss": (3, 23, 0.0524873), "lr": (3, 23, 0.05)}),
    "lightning/rich": ("lightning", "unknown", "finished", {"train.loss": (1, 24, 0.026),
     "eval.loss": (1, 24, 0.052)}),
    "lightning/diverging": ("lightning", "unknown", "finished", {"eval.loss": (3, 23, math.nan)}),
    "keras/bars": ("keras", "classification", "unknown",
        {"train.loss": (4, 3, 0.40655), "eval.accuracy": (4, 3, 0.833333), "lr": (4, 4, 0.1)}),
    "keras/lines": ("keras", "classification", "unknown", {"train.loss": (4, 4, 0.4065),
     "eval.loss": (4, 4, 0.4592)}),
    "keras/diverging": ("keras", "classification", "unknown", {"train.loss": (4, 3, math.nan),
     "eval.loss": (4, 3, math.nan)}),
    "skorch/classifier": ("skorch", "classification", "unknown",
        {"train.loss": (6, 6, 0.55616), "eval.loss": (6, 6, 0.62273), "eval.accuracy": (6, 6, 0.75)}),
    "stable-baselines3/dqn": ("stable-baselines3", "rl", "unknown",
        {"rl.reward": (10, 400, 3.66), "train.loss": (9, 400, 4.97e-4), "lr": (9, 400, 0.01)}),
    "lightgbm/early-stopping": ("lightgbm", "classification", "finished",
        {"train.loss": (7, 14, 0.393826), "eval.loss": (7, 14, 0.487352)}),
    "fastai/classifier": ("fastai", "classification", "unknown",
        {"train.loss": (5, 4, 0.55384), "eval.loss": (5, 4, 0.49862), "eval.accuracy": (5, 4, 0.8)}),
    "composer/console": ("composer", "classification", "unknown",
        {"train.loss": (30, 30, 0.4793), "eval.loss": (3, 30, 0.5187), "train.accuracy": (30, 30, 0.875)}),
    "composer/file": ("composer", "classification", "unknown",
        {"train.loss": (30, 30, 0.4793), "eval.loss": (3, 29, 0.5187), "eval.accuracy": (3, 30, 0.85)}),
    "torchtune/disk": ("torchtune", "sft", "unknown",
        {"train.loss": (30, 30, 0.00702), "lr": (30, 30, 0.05), "grad_norm": (30, 30, 0.16005)}),
    "ultralytics/detector": ("ultralytics", "detection", "unknown",
        {"train.loss": (4, 4, 5.51216), "eval.loss": (4, 4, 1.48351), "eval.accuracy": (4, 4, 0.0)}),
    "mmengine/classifier": ("mmengine", "classification", "unknown",
        {"train.loss": (12, 60, 0.28129), "eval.accuracy": (3, 60, 98.25), "lr": (12, 60, 0.1)}),
    "ignite/classifier": ("unknown", "classification", "finished",
        {"train.loss": (30, 30, 0.345), "eval.loss": (3, 30, 0.37), "eval.accuracy": (3, 30, 0.97)}),
    "llama-factory/dpo": ("llama-factory", "preference", "finished",
        {"train.loss": (6, 12, 0.39364), "lr": (6, 12, 8.333e-4), "dpo.accuracy": (6, 12, 1.0)}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_an_artefact_is_recognised_and_its_curves_are_whole(name: str) -> None:
    framework, kind, state, roles = EXPECTED[name]
    analysis = examine(ARTEFACTS / name)
    assert (analysis.situation.framework, analysis.situation.kind, analysis.state) == (framework, kind, state)
    one_frame = ["Rich draws the last frame"] if name == "lightning/rich" else []
    assert [damage.what[:25] for damage in analysis.run.damages] == one_frame
    for role, (points, step, value) in roles.items():
        series = best(analysis, role)
        assert (len(series), int(series.steps[-1])) == (points, step), role
        assert float(series.values[-1]) == pytest.approx(value, rel=1e-3, nan_ok=True), role


@pytest.mark.parametrize(
    "name", ["hf-trainer/diverging", "lightning/diverging", "keras/diverging", "wandb/diverging"]
)
def test_a_diverging_run_is_found_and_a_healthy_one_of_the_framework_is_not(name: str) -> None:
    assert any(symptom.id == "loss-nonfinite" for symptom in examine(ARTEFACTS / name).present)
    healthy = name.replace(
        "diverging", {"hf": "healthy", "li": "tqdm", "ke": "bars", "wa": "offline"}[name[:2]]
    )
    assert examine(ARTEFACTS / healthy).verdict in ("healthy", "info")


def test_the_table_of_keras_tells_its_framework_without_a_log(tmp_path: Path) -> None:
    table = (ARTEFACTS / "keras/bars/training.csv").read_text()
    (tmp_path / "training.log").write_text(table)
    assert examine(tmp_path).situation.framework == "keras"
    (tmp_path / "training.log").write_text(
        table.replace("epoch,accuracy,loss,val_accuracy", "epoch,loss,accuracy,val_accuracy")
    )
    assert examine(tmp_path).situation.framework == "unknown", (
        "Keras writes the columns in alphabetical order"
    )


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("fastai/classifier", {"train.loss", "eval.loss", "eval.accuracy"}),
        ("composer/file", {"train.loss"}),
        (
            "ultralytics/detector",
            {"eval.accuracy"},
        ),  # the log prints the three parts of the loss, the table holds their sum
        ("mmengine/classifier", {"train.loss", "lr", "eval.accuracy"}),
        ("torchtune/disk", {"train.loss", "lr", "grad_norm"}),
    ],
)
def test_the_printed_log_alone_tells_what_the_files_beside_it_tell(
    name: str, roles: set[str], tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_bytes((ARTEFACTS / name / "train.log").read_bytes())
    printed, all_files = examine(tmp_path), examine(ARTEFACTS / name)
    for role in roles:
        steps, values = curve(printed, role)
        exact = best(all_files, role).values.tolist()[-len(values) :]
        assert best(printed, role).axis == best(all_files, role).axis
        assert max(steps) == curve(all_files, role)[0][-1]
        assert values[: len(exact)] == pytest.approx(exact, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", ["healthy", "resumed", "diverging"])
def test_the_state_the_event_file_and_the_printed_lines_of_a_trainer_agree(name: str) -> None:
    folder = ARTEFACTS / "hf-trainer" / name
    history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    wanted = {row["step"]: row["loss"] for row in history if "loss" in row}
    found = examine(folder).run.with_role("train.loss")
    assert {series.precision for series in found} == {0, 2, 3}
    for series in found:
        assert series.steps.tolist() == list(wanted)
        assert series.values == pytest.approx(list(wanted.values()), rel=1e-3)


def test_event_files_read_as_tensorboard_reads_them() -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for path in sorted(ARTEFACTS.rglob("events*")):
        theirs = EventAccumulator(str(path), size_guidance={"scalars": 0})
        theirs.Reload()
        ours = {key.metric: series for key, series in examine(path).run.series.items()}
        assert sorted(ours) == sorted(theirs.Tags()["scalars"])
        for tag in ours:
            events = theirs.Scalars(tag)
            assert ours[tag].steps.tolist() == [event.step for event in events]
            np.testing.assert_array_equal(ours[tag].values, [event.value for event in events])


def test_a_real_wandb_log_gives_history_config_and_exit() -> None:
    analysis = examine(ARTEFACTS / "wandb/offline")
    assert "wandb" in analysis.run.formats
    steps, values = curve(analysis, "train.loss")
    assert steps == list(range(30))
    assert values[0] > 5 * values[-1]
    assert curve(analysis, "eval.loss")[0] == [9, 19, 29]
    config = {key: fact.value for (scope, key), fact in analysis.run.facts.items() if scope == "config"}
    assert (config["lr"], config["batch_size"], config["model.width"]) == (0.05, 16, 8)
    assert analysis.state == "finished"
    assert examine(ARTEFACTS / "wandb/crashed").state == "crashed"


def test_a_wandb_log_alone_tells_the_printed_error(tmp_path: Path) -> None:
    log = next((ARTEFACTS / "wandb/crashed").rglob("*.wandb"))
    (tmp_path / log.name).write_bytes(log.read_bytes())
    analysis = examine(tmp_path)
    assert len(best(analysis, "train.loss")) == 25
    assert any(event.kind == "end" and "exit code 1" in event.detail for event in analysis.run.events)


def test_a_wandb_log_reads_as_the_reader_of_its_own_sdk_tells() -> None:
    folder = ARTEFACTS / "wandb/told"
    wanted: dict[str, list[tuple[int, str]]] = {}
    for items in json.loads((folder / "told.meta").read_text()):
        row = {key: json.loads(value) for key, value in items}
        for key, value in row.items():
            if isinstance(value, int | float) and not key.startswith("_"):
                wanted.setdefault(key, []).append((row["_step"], repr(float(value))))
    assert {"odd", "deep.er.still", "train/loss", "late"} == set(wanted)
    found = {
        key.metric: list(zip(series.steps.tolist(), map(repr, series.values.tolist()), strict=True))
        for key, series in examine(folder / "run-tiny.wandb").run.series.items()
    }
    assert found == wanted


@pytest.mark.parametrize("store", ["mlflow.db", "mlruns"])
def test_an_mlflow_store_reads_as_its_own_client_tells(store: str, tmp_path: Path) -> None:
    folder = ARTEFACTS / "mlflow/told"
    expected = json.loads((folder / f"told-{store}.meta").read_text())
    path = folder / store
    if store == "mlflow.db":
        path = tmp_path / store
        path.write_bytes(gzip.decompress((folder / f"{store}.gz").read_bytes()))
    run = examine(path).run
    found = {
        key.metric: list(zip(series.steps.tolist(), map(repr, series.values.tolist()), strict=True))
        for key, series in run.series.items()
    }
    largest = {
        "1.7976931348623157e+308": "inf",
        "-1.7976931348623157e+308": "-inf",
    }  # as the database holds infinities
    wanted = {
        name: [(step, largest.get(value, value)) for step, value in points]
        for name, points in expected["metrics"].items()
    }
    assert found == wanted
    params = {key: str(fact.value) for (scope, key), fact in run.facts.items() if scope == "config"}
    assert params == expected["params"], "of two runs in the store the newer one"


def test_a_real_mlflow_file_store_and_database_are_read_alike(tmp_path: Path) -> None:
    files = examine(ARTEFACTS / "mlflow/files")
    assert curve(files, "train.loss")[0] == list(range(30))
    assert curve(files, "eval.loss")[0] == [9, 19, 29]
    (tmp_path / "mlflow.db").write_bytes(
        gzip.decompress((ARTEFACTS / "mlflow/sqlite/mlflow.db.gz").read_bytes())
    )
    database = examine(tmp_path)
    steps, values = curve(database, "train.loss")
    assert steps == list(range(30))
    assert values[0] == pytest.approx(curve(files, "train.loss")[1][0])
    assert not math.isfinite(values[-1]), "the run in the database diverges; MLflow stores a flag for that"
    config: dict[str, Any] = {
        key: fact.value for (scope, key), fact in database.run.facts.items() if scope == "config"
    }
    assert float(config["lr"]) == 1e4
    assert database.state == "finished"


def test_a_real_trackio_project_gives_its_newest_run(tmp_path: Path) -> None:
    (tmp_path / "tiny.db").write_bytes(
        gzip.decompress((ARTEFACTS / "trackio/two-runs/tiny.db.gz").read_bytes())
    )
    analysis = examine(tmp_path)
    steps, values = curve(analysis, "train.loss")
    assert steps == list(range(30))
    assert values[0] > 5 * values[-1], "the older run of the project diverges"
    assert curve(analysis, "eval.loss")[0] == [9, 19, 29]
    config = {key: fact.value for (scope, key), fact in analysis.run.facts.items() if scope == "config"}
    assert config == {"lr": 0.05, "batch_size": 16, "model.width": 8}
    assert not analysis.run.damages
    session = AnalysisSession("older")
    session.read([f"{tmp_path / 'tiny.db'}#diverging"])
    assert not math.isfinite(best(session.diagnose(closed=True), "train.loss").values[-1])


def test_stable_baselines_tables_csv_json_and_events_agree() -> None:
    analysis = examine(ARTEFACTS / "stable-baselines3/ppo")
    assert (analysis.situation.framework, analysis.situation.kind) == ("stable-baselines3", "rl")
    rewards = analysis.run.with_role("rl.reward")
    assert len(rewards) >= 3
    assert {int(series.steps[-1]) for series in rewards} == {512}
    assert {len(series) for series in rewards} == {8}
    assert [series.values[-1] for series in rewards] == pytest.approx(
        [rewards[0].values[-1]] * len(rewards), rel=0.01
    )


@pytest.mark.parametrize(
    ("name", "verdict"), [("grpo", {"healthy", "info"}), ("grpo-flat", {"warning", "critical"})]
)
def test_grpo_with_a_flat_reward_is_told_from_one_that_can_learn(name: str, verdict: set[str]) -> None:
    analysis = examine(ARTEFACTS / "trl" / name)
    assert (analysis.situation.framework, analysis.situation.kind) == ("trl", "rl")
    assert len(best(analysis, "rl.reward")) == 16
    flat = any(symptom.id == "frac-reward-zero-std-high" for symptom in analysis.present)
    assert flat == (name == "grpo-flat")
    assert analysis.verdict in verdict


def test_torchrun_logs_name_the_rank_whose_error_came_first() -> None:
    analysis = examine(ARTEFACTS / "torchrun/crash")
    assert analysis.state == "crashed"
    assert analysis.run.ranks == [0, 1]
    first = analysis.run.fact("ranks.first_failed")
    assert first is not None
    assert first.value == 1
    for rank in (0, 1):
        assert analysis.run.with_role("train.loss", rank)[0].steps.tolist() == [5, 10, 15, 20]


def test_flight_records_name_the_rank_that_did_not_come() -> None:
    analysis = examine(ARTEFACTS / "torchrun/flight-recorder")
    missing = analysis.run.fact("fr.missing_ranks")
    assert missing is not None
    assert missing.value == "1"
    assert any(symptom.id == "hang-uneven-ranks" for symptom in analysis.present)
    assert analysis.diagnosis.hypotheses[0].cause == "rank-desync"
    assert any(symptom.id == "nccl-timeout" for symptom in analysis.not_evaluated), (
        "no log was read that could lack its line"
    )


def test_no_artefact_names_a_person_a_key_or_a_place() -> None:
    for path in (
        path for path in ARTEFACTS.rglob("*") if path.is_file() and path.suffix not in (".gz", ".py", ".md")
    ):
        data = path.read_bytes()
        for word in (rb"api_key", rb"WANDB_API", rb"password", rb"(?<!\w)/root/", rb"hf_token=", rb"@gmail"):
            assert not re.search(word, data), f"{path} holds {word!r}"
