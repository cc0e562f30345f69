"""A small job for the tests of the loop: 4x4 boards of random tokens, a hidden size of 16, a step in about 5
ms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from hrmdoc.trainer.commands.train import read_config
from hrmdoc.trainer.data import DataInfo, write_identifiers, write_split
from hrmdoc.trainer.loop.job import Job
from hrmdoc.trainer.setup.make import make_job
from hrmdoc.trainer.state.state import TrainState

WORDS = [
    *(
        "epochs=4",
        "global_batch_size=4",
        "lr=1e-3",
        "puzzle_emb_lr=1e-3",
        "weight_decay=0.1",
        "lr_warmup_steps=2",
    ),
    *("arch.hidden_size=16", "arch.H_layers=1", "arch.L_layers=1", "arch.num_heads=2", "arch.expansion=1"),
    *("arch.H_cycles=1", "arch.L_cycles=1", "arch.halt_max_steps=4", "log_interval=2", "threads=1"),
]


class Lab:
    """Makes jobs in `folder`, and reads what they wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.lines: list[str] = []

    def dataset(self, groups: int = 16, seed: int = 0) -> Path:
        """Writes a dataset of random boards."""
        rng = np.random.default_rng(seed)
        for split, count in (("train", groups), ("test", 6)):
            inputs, labels = (rng.integers(low, 6, (count, 16), dtype=np.uint8) for low in (1, 2))
            write_split(self.data, split, DataInfo(vocab_size=6, seq_len=16), inputs, labels)
        write_identifiers(self.data)
        return self.data

    def words(self, *more: str, run: str = "run") -> list[str]:
        """The settings of a job. `more` wins."""
        place = [] if any(word.startswith("resume=") for word in more) else [f"run_dir={self.folder / run}"]
        return [*WORDS, f"data_path={self.data}", *place, *more]

    def job(self, *more: str, run: str = "run") -> Job:
        """A job that is ready to run in `folder/<run>`."""
        return make_job(read_config(None, self.words(*more, run=run)), None, self.lines.append)

    def events(self, kind: str | None = None, run: str = "run") -> list[dict[str, Any]]:
        """The lines of events.jsonl."""
        found = [json.loads(line) for line in (self.folder / run / "events.jsonl").read_text().splitlines()]
        return [event for event in found if kind in (None, event["event"])]

    def scalars(self, run: str = "run") -> dict[str, list[tuple[int, float]]]:
        """Tag -> (step, value) as TensorBoard reads them, without the measured speeds."""
        found: dict[str, list[tuple[int, float]]] = {}
        for file in sorted(
            (self.folder / run).glob("events.out.tfevents.*"), key=lambda path: path.stat().st_mtime_ns
        ):
            for event in EventFileLoader(str(file)).Load():
                for value in event.summary.value:
                    if not value.tag.startswith("perf/"):
                        found.setdefault(value.tag, []).append((event.step, value.tensor.float_val[0]))
        return found

    def checkpoints(self, run: str = "run") -> list[str]:
        return sorted(path.name for path in (self.folder / run / "checkpoints").iterdir())

    @staticmethod
    def weights(state: TrainState) -> dict[str, torch.Tensor]:
        """A copy of all that the model holds."""
        return {name: tensor.clone() for name, tensor in state.model.state_dict().items()}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.dataset()
    return made
