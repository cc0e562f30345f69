import json
from pathlib import Path

import numpy as np
import pytest
import torch

from hrmdoc.cli.main import main
from hrmdoc.trainer.config.load import load
from hrmdoc.trainer.data import PuzzleData, build_arc
from hrmdoc.trainer.data.sudoku_dataset import builtin
from hrmdoc.trainer.evaluation.exchange import export
from hrmdoc.trainer.model.hrm import HRM
from hrmdoc.trainer.state.build import arch_config
from hrmdoc.trainer.validation.budget import Budget
from hrmdoc.trainer.validation.sample import shuffled

WORDS = (
    *("arch.hidden_size=16", "arch.num_heads=2", "arch.H_layers=1", "arch.L_layers=1", "arch.expansion=1"),
    *("arch.halt_max_steps=2", "global_batch_size=4", "native=false", "threads=1"),
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def sudoku(tmp_path):
    data = builtin("sudoku-4x4", tmp_path / "data" / "sudoku-extreme-little")
    return checkpoint(data, tmp_path / "sudoku")


@pytest.fixture
def arc(tmp_path):
    for folder in ("training", "evaluation"):
        (tmp_path / "raw" / folder).mkdir(parents=True)
        for number in range(3):
            pair = {"input": [[number, 1], [2, 3]], "output": [[number, 4]]}
            task = {"train": [pair], "test": [pair]}
            (tmp_path / "raw" / folder / f"{folder[0]}{number}.json").write_text(json.dumps(task))
    return checkpoint(
        build_arc([tmp_path / "raw"], tmp_path / "data" / "arc-aug-2", num_aug=2), tmp_path / "arc"
    )


def checkpoint(data, place):
    """An untrained model of the reference's layout, said to be of step 50."""
    config = load(None, [*WORDS, f"data_path={data}"])
    torch.manual_seed(0)
    model = HRM(arch_config(config.arch, "float32"), PuzzleData(data, "test").info, 4)
    return export(place, model, config, 50)


def score(capsys, *words):
    status = main(["validate", *map(str, words)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_row_says_what_was_reached_on_how_much_compute(sudoku, capsys):
    status, text, said = score(capsys, "--benchmark", sudoku)
    assert status == 0
    row = json.loads(text)["rows"][0]
    assert (row["step"], row["benchmark"], row["puzzles"], row["complete"]) == (50, "Sudoku", 256, True)
    assert row["published"] == 0.55
    assert row["flops"]["training"] > 50 * 4 * 16
    assert row["flops"]["evaluation"] > 0
    assert "| sudoku/step_50 | 50 | Sudoku: sudoku-extreme-little | 256 of 256 | 0.0% (0.0% to 1.5%)" in said


def test_the_folder_of_a_published_checkpoint_is_enough(sudoku, capsys):
    sudoku.rename(sudoku.with_name("checkpoint"))
    row = json.loads(score(capsys, "--benchmark", sudoku.parent)[1])["rows"][0]
    assert row["step"] == 0
    assert row["flops"]["training"] is None
    for step in (9, 10):
        (sudoku.parent / f"step_{step}").write_bytes(sudoku.with_name("checkpoint").read_bytes())
    assert json.loads(score(capsys, "--benchmark", sudoku.parent)[1])["rows"][0]["step"] == 10


def test_arc_is_voted_on(arc, capsys):
    status, text, said = score(capsys, "--benchmark", arc)
    row = json.loads(text)["rows"][0]
    assert status == 0
    assert row["benchmark"] == "ARC"
    assert (row["vote"]["tasks"], row["vote"]["votes_per_question"]) == (3, 3.0)
    assert "pass@2 0.0%" in said


def test_evaluate_votes_too(arc, capsys):
    assert main(["evaluate", str(arc)]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["vote"]["pass@2"]["estimate"] == 0.0
    assert "vote of the augmentations: pass@1 0.0%" in said.err


def test_a_part_of_the_puzzles_is_a_random_one_with_whole_groups(arc, sudoku, capsys):
    row = json.loads(score(capsys, "--benchmark", arc, "--limit", "2")[1])["rows"][0]
    assert (row["vote"]["tasks"], row["puzzles"], row["complete"]) == (2, 6, False)
    data = PuzzleData("data/sudoku-extreme-little", "test")
    rows = [shuffled(data, 9, seed).sets[0].inputs for seed in (0, 0, 1)]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])
    whole = shuffled(data, None, 3)
    assert {row.tobytes() for row in whole.sets[0].inputs} == {row.tobytes() for row in data.sets[0].inputs}
    assert whole.examples == data.examples


def test_a_spent_budget_leaves_the_rest_out(sudoku, capsys, monkeypatch):
    monkeypatch.setattr(Budget, "over", lambda *_: True)
    row = json.loads(score(capsys, "--benchmark", sudoku, "--budget", "1")[1])["rows"][0]
    assert (row["puzzles"], row["complete"]) == (4, False)


def test_wrong_words_and_data_are_refused(sudoku, arc, capsys):
    for words, says in (
        (["--benchmark", "nowhere"], "there is no such run or checkpoint"),
        (["--benchmark", sudoku, "--gate"], "--benchmark does not go with --gate"),
        (["--benchmark", sudoku, "--samples", "3"], "--benchmark does not go with --samples"),
        (["data/arc-aug-2", "--benchmark", sudoku], "embed_tokens.embedding_weight has shape"),
        (["nowhere", "--benchmark", sudoku], "there is no such dataset folder"),
    ):
        status, text, said = score(capsys, *words)
        assert (status, text) == (2, ""), words
        assert says in said


def test_damaged_data_and_checkpoints_are_named(sudoku, arc, capsys):
    file = Path("data/sudoku-extreme-little/test/all__inputs.npy")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert "all__inputs.npy: is no readable .npy file" in score(capsys, "--benchmark", sudoku)[2]
    file.write_bytes(whole)
    Path("data/arc-aug-2/identifiers.json").write_text("[")
    assert "identifiers.json: cannot be read" in score(capsys, "--benchmark", arc)[2]
    sudoku.write_bytes(sudoku.read_bytes()[:1000])
    assert "step_50: is no checkpoint of tensors" in score(capsys, "--benchmark", sudoku)[2]
    (sudoku.parent / "all_config.yaml").unlink()
    assert "there is no all_config.yaml beside the checkpoint" in score(capsys, "--benchmark", sudoku)[2]
