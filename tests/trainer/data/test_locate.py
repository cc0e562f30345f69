from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hrmdoc.errors import ConfigError, InputError
from hrmdoc.trainer.data import DataInfo, write_split
from hrmdoc.trainer.data.locate import check_data, open_data


def test_a_folder_with_a_training_split_is_good(tmp_path: Path) -> None:
    boards = np.ones((3, 16), np.uint8)
    write_split(tmp_path / "mine", "train", DataInfo(vocab_size=6, seq_len=16), boards, boards)
    check_data("mine", tmp_path)
    assert open_data("mine", tmp_path) == tmp_path / "mine"


def test_a_missing_folder_names_the_built_in_datasets(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such dataset folder") as caught:
        check_data("mine", tmp_path)
    assert "builtin:sudoku-4x4" in str(caught.value)


def test_the_data_of_a_published_recipe_come_with_the_command_that_builds_them() -> None:
    with pytest.raises(ConfigError, match="not built yet") as caught:
        check_data("data/sudoku-extreme-1k-aug-1000")
    assert "sapientinc/sudoku-extreme data/sudoku-extreme-1k-aug-1000 subsample-size=1000" in str(
        caught.value
    )


def test_a_folder_without_a_dataset_is_reported_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="no such folder in the dataset"):
        check_data("mine", tmp_path)


def test_a_misspelt_built_in_dataset_gets_the_right_name() -> None:
    check_data("builtin:sudoku-4x4")
    with pytest.raises(ConfigError, match="did you mean 'sudoku-4x4'"):
        check_data("builtin:sudok-4x4")


def test_datasets_are_checked_and_built_without_torch() -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from hrmdoc.trainer.main import main\n"
        "sys.exit(10 * main(['dataset', '--help']) + main(['train', 'data_path=nowhere']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "nowhere: there is no such dataset folder" in done.stderr
