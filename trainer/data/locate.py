"""Where the data of a run are: a folder, or a built-in dataset by its name."""

from __future__ import annotations

from pathlib import Path

from hrmdoc.errors import ConfigError

from ..config.schema import TrainConfig
from .dataset import PuzzleData, dataset_hash
from .sudoku_dataset import BUILTIN, builtin, recipe_of

BUILTIN_PREFIX = "builtin:"
# What the published recipes call their data, and the options that build it.
RECIPES = {
    "sudoku-extreme-small": "subsample-size=100 num-aug=100",
    "sudoku-extreme-1k-aug-1000": "subsample-size=1000 num-aug=1000",
    "sudoku-extreme-full": "",
}


def check_data(data_path: str, folder: Path = Path()) -> None:
    """Refuses a `data_path` under which there is nothing to train on. Takes no time, so that it can come
    before all that does.

    Raises:
        ConfigError: there is no such folder or built-in dataset; says how to get one.
        InputError: the folder holds no dataset, or a broken one.
    """
    if data_path.startswith(BUILTIN_PREFIX):
        recipe_of(data_path.removeprefix(BUILTIN_PREFIX))
        return
    path = folder / data_path
    if path.is_dir():
        PuzzleData(path, "train")
        return
    options = RECIPES.get(path.name)
    known = ", ".join(f"{BUILTIN_PREFIX}{name}" for name in BUILTIN)
    if options is None:
        hint = f"give a folder with train/ and test/, or one of {known}"
        raise ConfigError("there is no such dataset folder", file=path, hint=hint)
    call = " ".join(filter(None, ("hrmdoc dataset sudoku sapientinc/sudoku-extreme", data_path, options)))
    raise ConfigError("this dataset is not built yet", file=path, hint=f"{call}\n  or train on {known}")


def open_data(data_path: str, folder: Path = Path()) -> Path:
    """The folder of the dataset, built first if it is one of ours (`builtin:<name>`).

    Raises:
        ConfigError, InputError: there is none, as `check_data` says.
    """
    check_data(data_path, folder)
    return (
        builtin(data_path.removeprefix(BUILTIN_PREFIX))
        if data_path.startswith(BUILTIN_PREFIX)
        else folder / data_path
    )


def check_hash(config: TrainConfig, path: Path, digest: str | None = None) -> None:
    """Refuses a dataset whose hash (`digest`, taken here if None) is not the one that `config` asks for, if
    it asks for one."""
    if config.data_hash is None:
        return
    digest = digest or dataset_hash(path)
    if config.data_hash.removeprefix("sha256:") != digest:
        raise ConfigError(
            f"the dataset has changed: its hash is {digest}, not {config.data_hash}",
            file=path,
            hint="restore the data",
        )
