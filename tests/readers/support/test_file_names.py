"""What names of files and folders say, case by case."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from hrmdoc.readers.support import names

W_AND_B = datetime(2026, 1, 2, 3, 4, 5).astimezone().timestamp()


@pytest.mark.parametrize(
    ("name", "no_log"),
    [
        ("model.pt", True), ("MODEL.PT", True), ("a.png", True), ("train.py", True), ("vocab.json", True),
        ("model.safetensors.index.json", True), ("a.log~", True), ("a.log.swp", True), (".hidden.log", True),
        ("experiment_state-1.json", True), ("events.out.tfevents.1.host.pt", False), ("train.log", False),
        ("train.log.gz", False), ("model.pt.gz", True), ("metrics", False), ("a.jsonl", False),
        ("latest", True),
    ],
)  # fmt: skip
def test_a_name_may_say_that_a_file_is_no_log(name: str, no_log: bool) -> None:
    assert names.is_no_log(name) is no_log


@pytest.mark.parametrize(
    ("name", "weights"),
    [("a.pt", True), ("a.PKL.gz", True), ("a.log", False), ("x.tfevents.pt", False), ("pt", False)],
)
def test_a_name_may_say_that_a_file_holds_weights(name: str, weights: bool) -> None:
    assert names.holds_weights(name) is weights


@pytest.mark.parametrize(
    ("name", "passed"),
    [("venv", True), (".git", True), (".hydra", False), (".aim", False), ("tests", True), ("runs", False)],
)
def test_some_folders_are_passed_by(name: str, passed: bool) -> None:
    assert names.is_no_log_folder(name) is passed


def test_a_folder_is_marked_by_what_lies_in_it(tmp_path: Path) -> None:
    def made(name: str, *inside: str, text: str = "id: x\n") -> str:
        for one in inside:
            (tmp_path / name / one).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / one).write_text(text)
        return str(tmp_path / name)

    assert names.is_no_run_folder(made("a", "pyvenv.cfg"))
    assert names.is_no_run_folder(made("b/plots", "x.png"))
    assert not names.is_no_run_folder(made("c/plots", "metrics/loss.tsv"))
    assert names.is_no_run_folder(made("d", "symptoms/x.yaml"))
    assert not names.is_no_run_folder(made("e", "symptoms/x.yaml", text="loss: 1\n"))
    assert not names.is_no_run_folder(made("f", "symptoms/x.txt"))
    assert not names.is_no_run_folder(made("g", "train.log"))
    assert not names.is_no_run_folder(str(tmp_path / "gone"))
    made("h", "run.swanlab")
    assert names.is_no_run_folder(made("h/debug", "x.log"))
    assert not names.is_no_run_folder(made("i/debug", "x.log"))


@pytest.mark.parametrize(
    ("path", "reader", "logger"),
    [
        ("a/events.out.tfevents.1.h", "tfevents", "a/*.tfevents"),
        ("events.out.tfevents.1.h", "tfevents", "./*.tfevents"),
        ("wandb/run-20260102_030405-abc/run-abc.wandb", "wandb", "wandb:abc"),
        ("out/checkpoint-20/trainer_state.json", "hf_state", "out/trainer_state.json"),
        ("checkpoint-20/trainer_state.json", "hf_state", "./trainer_state.json"),
        ("out/trainer_state.json", "hf_state", "out/trainer_state.json"),
        ("trainer_state.json", "hf_state", "./trainer_state.json"),
        ("x/attempt_1/3/stderr.log", "text", "x/3/stderr.log"),
        ("attempt_1/3/stdout.log", "text", "3/stdout.log"),
        ("a/train.log.2", "text", "a/train.log"),
        ("a/train.log.2.gz", "text", "a/train.log"),
        ("train.log-1", "text", "train.log"),
        ("a/train.log", "text", "a/train.log"),
        ("a/train.2", "text", "a/train.2"),
    ],
)
def test_files_of_one_logger_are_told_by_their_names(path: str, reader: str, logger: str) -> None:
    assert names.logger_of(path, reader) == logger


@pytest.mark.parametrize(
    ("path", "started"),
    [
        ("a/events.out.tfevents.1767322000.h", 1_767_322_000.0),
        ("events.out.tfevents.12.h", None),
        ("wandb/offline-run-20260102_030405-abc/x", W_AND_B),
        ("wandb/run-20261302_030405-abc/x", None),
        ("train.log", None),
    ],
)
def test_a_name_may_say_when_a_file_was_begun(path: str, started: float | None) -> None:
    assert names.started_in(path) == started


@pytest.mark.parametrize(
    ("path", "rank", "attempt", "rotation"),
    [
        ("x/attempt_2/3/stderr.log", 3, 2, 0), ("rank5.log", 5, 0, 0), ("rank5.log.7", 5, 0, 7),
        ("attempt_2/3/other.log", None, 0, 0), ("a/train.log.12.gz", None, 0, 12), ("a.log.1234", None, 0, 0),
    ],
)  # fmt: skip
def test_ranks_restarts_and_rotations_are_told_by_the_name(
    path: str, rank: int | None, attempt: int, rotation: int
) -> None:
    assert (names.rank_in(path), names.attempt(path), names.rotation(path)) == (rank, attempt, rotation)
    assert names.is_torchrun_part(path) is (attempt > 0)
    assert names.is_torchrun_part(path.replace("/", "\\")) is (attempt > 0)


@pytest.mark.parametrize(
    ("folder", "number"),
    [("checkpoint-20", 20), ("global_step7", 7), ("step_9", 9), ("iter-3", 3), ("ckpt4", 4), ("best", None),
     ("my_checkpoint-20", None), ("checkpoint-20b", None)],
)  # fmt: skip
def test_a_checkpoint_bears_its_step(folder: str, number: int | None) -> None:
    assert names.checkpoint_number(folder) == number


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    assert sorted(["step_10", "step_9", "step_b", "step_"], key=names.natural) == [
        "step_", "step_9", "step_10", "step_b",
    ]  # fmt: skip
    long = "9" * 30
    assert sorted([long, "1"], key=names.natural) == ["1", long]
    assert [names.plain_name(name) for name in ("a.log.gz", "a.zst", "a.log")] == ["a.log", "a", "a.log"]
