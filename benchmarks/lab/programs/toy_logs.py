"""What the programs write: the lines and files that users of each kind of training code have."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any, Protocol

from ruamel.yaml import YAML

NANOGPT_KEYS = {
    "lr": "learning_rate",
    "warmup": "warmup_iters",
    "steps": "max_iters",
    "hidden": "n_embd",
    "layers": "n_layer",
    "log_every": "log_interval",
    "eval_every": "eval_interval",
    "precision": "dtype",
}
PLAIN_KEYS = {"lr": "learning_rate", "warmup": "warmup_steps", "steps": "max_steps", "hidden": "hidden_size"}


class Logger(Protocol):
    """Where a run's metrics go."""

    def train(self, step: int, values: dict[str, float]) -> None: ...

    def evaluate(self, step: int, values: dict[str, float]) -> None: ...

    def resumed(self, step: int) -> None: ...

    def close(self) -> None: ...


def write_config(config: dict[str, Any], logger: str) -> None:
    """The run's configuration as its users write it."""
    if logger == "keras":
        Path("config.json").write_text(
            json.dumps({key: config[key] for key in ("lr", "batch_size", "steps", "dropout")})
        )
        return
    names = NANOGPT_KEYS if logger == "nanogpt" else PLAIN_KEYS
    hidden = ("logger", "resume_at", "loss_scale", "noise", "task", "hard_every")
    values = {names.get(key, key): value for key, value in config.items() if key not in hidden}
    if logger == "nanogpt":
        values |= {
            "block_size": 32,
            "vocab_size": 32,
            "dtype": {"fp32": "float32", "fp16": "float16"}[config["precision"]],
        }
    with Path("config.yaml").open("w") as stream:
        YAML(typ="safe", pure=True).dump(values, stream)


class NanoGPT:
    """`iter N: loss ..` and `step N: train loss .., val loss ..` lines, and a CSV of the optimizer's view."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.last = 0.0
        self.rows = Path("metrics.csv").open("a", newline="")  # noqa: SIM115
        self.writer = csv.writer(self.rows)
        self.header: list[str] = []

    def train(self, step: int, values: dict[str, float]) -> None:
        self.last = values["loss"]
        print(
            f"iter {step}: loss {values['loss']:.4f}, time {values['step_time'] * 1000:.2f}ms, mfu -100.00%",
            flush=True,
        )
        if not self.header:
            self.header = [name for name in values if name != "data_time"]
            self.writer.writerow(["step", *self.header])
        self.writer.writerow([step, *(f"{values[name]:.6g}" for name in self.header)])
        self.rows.flush()

    def evaluate(self, step: int, values: dict[str, float]) -> None:
        print(f"step {step}: train loss {self.last:.4f}, val loss {values['loss']:.4f}", flush=True)

    def resumed(self, step: int) -> None:
        del step

    def close(self) -> None:
        self.rows.close()


class Keras:
    """One line and one CSV row an epoch (here: from evaluation to evaluation), as `model.fit` and `CSVLogger`
    write."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.epoch = 0
        self.sums: dict[str, list[float]] = {}
        self.began = time.perf_counter()

    def train(self, step: int, values: dict[str, float]) -> None:
        del step
        for name in ("loss", "accuracy", "lr"):
            if name in values:
                self.sums.setdefault(name, []).append(values[name])

    def evaluate(self, step: int, values: dict[str, float]) -> None:
        del step
        means = {name: sum(found) / len(found) for name, found in self.sums.items()}
        row = {
            "epoch": self.epoch,
            **{k: means[k] for k in ("accuracy", "loss") if k in means},
            "learning_rate": means.get("lr", 0.0),
        }
        row |= {f"val_{name}": value for name, value in sorted(values.items())}
        seconds, steps = time.perf_counter() - self.began, self.config.eval_every
        shown = " - ".join(
            f"{name}: {value:.4f}" for name, value in row.items() if name not in ("epoch", "learning_rate")
        )
        print(f"Epoch {self.epoch + 1}/{self.config.steps // steps}")
        print(f"{steps}/{steps} - {seconds:.0f}s - {seconds / steps * 1000:.0f}ms/step - {shown}", flush=True)
        fresh = not Path("history.csv").exists()
        with Path("history.csv").open("a", newline="") as stream:
            writer = csv.DictWriter(stream, list(row))
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        self.sums, self.began = {}, time.perf_counter()
        self.epoch += 1

    def resumed(self, step: int) -> None:
        del step

    def close(self) -> None:
        return


class Lines:
    """`step N | loss .. | grad_norm ..` lines, as hand-written loops print."""

    def __init__(self, config: Any) -> None:
        self.config = config

    def train(self, step: int, values: dict[str, float]) -> None:
        print(
            f"step {step}/{self.config.steps} | "
            + " | ".join(f"{name} {value:.5g}" for name, value in values.items()),
            flush=True,
        )

    def evaluate(self, step: int, values: dict[str, float]) -> None:
        print(
            f"step {step} | " + " | ".join(f"val_{name} {value:.5g}" for name, value in values.items()),
            flush=True,
        )

    def resumed(self, step: int) -> None:
        del step

    def close(self) -> None:
        print("training finished", flush=True)


class Events:
    """A TensorBoard event file."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.writer = self._open()

    def _open(self) -> Any:
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter("tb")  # type: ignore[no-untyped-call]

    def _add(self, prefix: str, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(f"{prefix}/{name}", value, step)

    def train(self, step: int, values: dict[str, float]) -> None:
        self._add("train", step, values)

    def evaluate(self, step: int, values: dict[str, float]) -> None:
        self._add("val", step, values)
        self.writer.flush()

    def resumed(self, step: int) -> None:
        del step
        self.writer.close()
        self.writer = self._open()

    def close(self) -> None:
        self.writer.close()


LOGGERS: dict[str, Any] = {"nanogpt": NanoGPT, "keras": Keras, "lines": Lines, "events": Events}
