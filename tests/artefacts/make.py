"""Makes the recorded artefacts again: `python tests/artefacts/make.py [NAME...]` where the frameworks are
installed.

Each artefact is what a tiny training (see `programs/`) left behind: it is run in an empty folder, its printed
output goes to `train.log`, and the files that a user would hand to hrmdoc are copied. Weights and the like
are left out.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
_PYTHON = sys.executable
_RANKS = [_PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


@dataclass(frozen=True)
class Recipe:
    """How one artefact is made.

    Attributes:
        commands: program and arguments, run one after the other; all print to the same `train.log`.
        keep: glob pattern -> where the files go, a name for a single file or a folder that ends with `/`.
        packed: these files are stored with gzip.
        environment: variables beside those of every artefact.
    """

    commands: list[list[str]]
    keep: dict[str, str]
    packed: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


def _program(name: str, *arguments: str) -> list[str]:
    return [_PYTHON, f"{name}.py", *arguments]


_LOG = {"train.log": "train.log"}
_HF = {"out/runs/*/events*": "", "out/trainer_state.json": "trainer_state.json"}
_LIGHTNING = {"lightning_logs/version_0/metrics.csv": "metrics.csv", "lightning_logs/version_0/events*": ""}
_RANK_LOGS = ["--log-dir=logs", "--redirects=3", "ranks.py", "crash"]
_RECORDER = (("TORCH_FR_BUFFER_SIZE", "100"),)

RECIPES: dict[str, Recipe] = {
    "hf-trainer/healthy": Recipe([_program("hf", "healthy")], _LOG | _HF),
    "hf-trainer/diverging": Recipe([_program("hf", "diverging")], _LOG | _HF),
    "hf-trainer/resumed": Recipe([_program("hf", "first_half"), _program("hf", "second_half")], _LOG | _HF),
    "hf-trainer/version-4": Recipe([_program("hf", "healthy")], _LOG | _HF),
    "hf-trainer/version-4-diverging": Recipe([_program("hf", "diverging")], _LOG),
    "trl/sft": Recipe([_program("trl_runs", "sft")], _LOG | {"out/runs/*/events*": ""}),
    "trl/dpo": Recipe([_program("trl_runs", "dpo")], _LOG),
    "trl/grpo": Recipe([_program("trl_runs", "grpo")], _LOG),
    "trl/kto": Recipe([_program("trl_runs", "kto")], _LOG),
    "trl/reward": Recipe([_program("trl_runs", "reward")], _LOG),
    "trl/rloo": Recipe([_program("trl_runs", "rloo")], _LOG),
    "trl/grpo-flat": Recipe([_program("trl_runs", "grpo_flat")], _LOG),
    "lightning/tqdm": Recipe(
        [_program("lightning_run", "tqdm")],
        _LOG | _LIGHTNING | {"lightning_logs/version_0/hparams.yaml": "hparams.yaml"},
    ),
    "lightning/rich": Recipe([_program("lightning_run", "rich")], _LOG),
    "lightning/diverging": Recipe([_program("lightning_run", "diverging")], _LOG | _LIGHTNING),
    "keras/bars": Recipe([_program("keras_run", "bars")], _LOG | {"training.csv": "training.csv"}),
    "keras/lines": Recipe([_program("keras_run", "lines")], _LOG),
    "keras/diverging": Recipe([_program("keras_run", "diverging")], _LOG | {"training.csv": "training.csv"}),
    "wandb/offline": Recipe([_program("loggers", "wandb")], {"wandb/offline-run-*": "wandb/"}),
    "wandb/crashed": Recipe([_program("loggers", "wandb_crash")], {"wandb/offline-run-*": "wandb/"}),
    "wandb/diverging": Recipe([_program("loggers", "wandb_diverging")], {"wandb/offline-run-*": "wandb/"}),
    "mlflow/files": Recipe(
        [_program("loggers", "mlflow_files")],
        {"mlruns": ""},
        environment=(("MLFLOW_ALLOW_FILE_STORE", "true"),),
    ),
    "mlflow/sqlite": Recipe(
        [_program("loggers", "mlflow_sqlite")], {"mlflow.db": "mlflow.db"}, packed=("mlflow.db",)
    ),
    "wandb/told": Recipe(
        [_program("loggers", "wandb_told")],
        {"wandb/offline-run-*/*.wandb": "run-tiny.wandb", "told.meta": "told.meta"},
    ),
    "mlflow/told": Recipe(
        [_program("loggers", "mlflow_told")],
        {"mlflow.db": "mlflow.db", "mlruns": "", "told-*.meta": ""},
        packed=("mlflow.db",),
        environment=(("MLFLOW_ALLOW_FILE_STORE", "true"),),
    ),
    "trackio/two-runs": Recipe(
        [_program("loggers", "trackio")],
        {"trackio/tiny.db": "tiny.db"},
        packed=("tiny.db",),
        environment=(("TRACKIO_DIR", "trackio"),),
    ),
    "skorch/classifier": Recipe([_program("skorch_run")], _LOG | {"history.json": "history.json"}),
    "stable-baselines3/dqn": Recipe([_program("sb3_run", "dqn")], _LOG),
    "stable-baselines3/ppo": Recipe(
        [_program("sb3_run", "ppo")],
        _LOG | {"out/progress.csv": "progress.csv", "out/progress.json": "progress.json", "out/events*": ""},
    ),
    "torchrun/crash": Recipe([[*_RANKS, *_RANK_LOGS]], _LOG | {"logs": ""}),
    "torchrun/flight-recorder": Recipe(
        [[*_RANKS, "ranks.py", "recorder"]], {"nccl_trace_rank_*": ""}, environment=_RECORDER
    ),
    "lightgbm/early-stopping": Recipe([_program("lightgbm_run")], _LOG),
    "fastai/classifier": Recipe([_program("fastai_run")], _LOG | {"history.csv": "history.csv"}),
    "composer/console": Recipe([_program("composer_run", "console")], _LOG),
    "composer/file": Recipe([_program("composer_run", "file")], _LOG | {"logs-rank0.txt": "logs-rank0.txt"}),
    "torchtune/disk": Recipe([_program("torchtune_run")], _LOG | {"logs/log.txt": "log.txt"}),
    "ultralytics/detector": Recipe(
        [_program("ultralytics_run")],
        _LOG | {"train/results.csv": "results.csv", "train/args.yaml": "args.yaml"},
        environment=(("YOLO_OFFLINE", "true"), ("YOLO_CONFIG_DIR", ".")),
    ),
    "mmengine/classifier": Recipe(
        [_program("mmengine_run")], _LOG | {"work/*/vis_data/scalars.json": "scalars.json"}
    ),
    "ignite/classifier": Recipe([_program("ignite_run")], _LOG),
    "llama-factory/dpo": Recipe(
        [_program("trl_runs", "llama_factory")], {"out/trainer_log.jsonl": "trainer_log.jsonl"}
    ),
}


def make(name: str, recipe: Recipe) -> None:
    """Runs the programs of one artefact and takes over what they left."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "job"
        shutil.copytree(HERE / "programs", folder)
        with (folder / "train.log").open("ab") as log:
            for command in recipe.commands:
                subprocess.run(
                    command, cwd=folder, stdout=log, stderr=log, env=_environment(recipe), check=False
                )
        target = HERE / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for pattern, where in recipe.keep.items():
            found = sorted(folder.glob(pattern))
            if not found:
                raise SystemExit(
                    f"{name}: no {pattern}; the output ends "
                    f"with\n{(folder / 'train.log').read_text()[-2000:]}"
                )
            for path in found:
                _take(path, target / where / path.name if where in ("", "wandb/") else target / where)
        for packed in recipe.packed:
            (target / f"{packed}.gz").write_bytes(gzip.compress((target / packed).read_bytes(), 9, mtime=0))
            (target / packed).unlink()
        _neutralise(target, temporary)


def _environment(recipe: Recipe) -> dict[str, str]:
    quiet = {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "COLUMNS": "100",
        "GIT_PYTHON_REFRESH": "0",
    }
    return os.environ | quiet | dict(recipe.environment)


def _take(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(
            path,
            target,
            ignore=shutil.ignore_patterns("debug*.log", "requirements.txt", "*.lock", "artifacts"),
        )
    else:
        shutil.copyfile(path, target)


def _neutralise(target: Path, temporary: str) -> None:
    """Names a neutral folder in place of the temporary one and of the environment; binary files keep their
    lengths."""
    for path in target.rglob("*"):
        if not path.is_file() or path.suffix in (".wandb", ".gz"):
            continue
        data = path.read_bytes()
        for place, name in ((temporary, "/home/user"), (sys.prefix, "/home/user/venv")):
            neutral = (name + "_" * 100)[: len(place)] if b"\0" in data else name
            data = data.replace(place.encode(), neutral.encode())
        path.write_bytes(data)


def main(names: list[str]) -> None:
    """Makes the artefacts of these names, or all."""
    for name in names or RECIPES:
        print(name, flush=True)
        make(name, RECIPES[name])


if __name__ == "__main__":
    main(sys.argv[1:])
