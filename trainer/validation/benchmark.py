"""Checkpoints on the test split of a benchmark in HRM's layout: Sudoku, mazes, ARC. A row for each says what
was reached, and on how much compute."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hrmdoc.errors import ConfigError

from ..data import PuzzleData, dataset_hash
from ..data.iterate import EvalBatch, test_batches
from ..evaluation.breakdown import board_of
from ..evaluation.draw import ARC, MAZE, SUDOKU
from ..evaluation.passk import wilson
from ..evaluation.score import Scored, open_checkpoint
from ..evaluation.vote import vote
from ..model.evaluate import evaluate
from ..model.hrm import HRM
from .budget import Budget, cpu_s
from .compute import count, fingerprint, step_flops
from .sample import shuffled

SCHEMA = "hrmdoc.benchmark/1"
KINDS = {SUDOKU: "Sudoku", MAZE: "maze", ARC: "ARC"}
Say = Callable[[str], None]
PUBLISHED = {
    "sudoku-extreme": 0.55,
    "maze-30x30-hard": 0.745,
    "arc-2": 0.05,
    "arc-aug": 0.403,
}
"""What HRM's authors report for 27 million parameters (Wang et al. 2025, arXiv 2506.21734, figure 1): shares
of puzzles wholly right, of ARC by the vote with two tries. Other checkpoints of the same recipe came to 45 to
57 % on Sudoku."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is evaluated: on which data, and how much of them."""

    data: str | None
    limit: int | None
    seed: int
    budget: float | None
    words: tuple[str, ...]


def benchmark(checkpoints: Sequence[Path], task: Task, say: Say) -> dict[str, Any]:
    """A row for each checkpoint. A budget is shared out evenly among them.

    Raises:
        HrmdocError: a checkpoint or the data cannot be used.
    """
    rows = []
    for place in checkpoints:
        share = None if task.budget is None else task.budget / len(checkpoints)
        rows.append(_row(place, task, Budget(share), say))
    return {"schema": SCHEMA, "seed": task.seed, "rows": rows}


def _row(place: Path, task: Task, budget: Budget, say: Say) -> dict[str, Any]:
    if not place.exists():
        raise ConfigError("there is no such run or checkpoint", file=place)
    words = [*task.words, *([] if task.data is None else [f"data_path={task.data}"])]
    scored = open_checkpoint(place, words)
    data = scored.data
    board = board_of(data.info)
    if board is None:
        raise ConfigError(
            "holds no boards: Sudoku, mazes or ARC", file=data.path, hint="leave out --benchmark"
        )
    chosen, began = shuffled(data, task.limit, task.seed), cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "predictions.npz"
        batches = _until(test_batches(chosen, scored.config.global_batch_size), budget, place.name, say)
        found = evaluate(scored.model, batches, scored.device, saved)
        voted = vote(saved, data.path / "identifiers.json") if board == ARC else None
    seconds = cpu_s() - began
    puzzles = sum(round(one["count"]) for one in found.values())

    def mean(metric: str) -> float:
        return math.fsum(one[metric] * one["count"] for one in found.values() if one["count"]) / max(
            1, puzzles
        )

    name = Path(scored.config.data_path.rstrip("/")).name
    return {
        "checkpoint": str(place),
        "chosen": scored.chosen or None,
        "step": scored.step,
        "weights_sha256": fingerprint(scored.model.state_dict().items()),
        "benchmark": KINDS[board],
        "data": {"name": name, "sha256": dataset_hash(data.path), "test_puzzles": data.examples},
        "puzzles": puzzles,
        "complete": puzzles == data.examples,
        "exact_accuracy": asdict(wilson(mean("exact_accuracy") * puzzles, puzzles)),
        "accuracy": mean("accuracy"),
        **({} if voted is None else {"vote": voted}),
        "published": next((share for key, share in PUBLISHED.items() if key in name), None),
        "parameters": scored.model.num_parameters(),
        "act_steps": scored.model.arch.halt_max_steps,
        "flops": _flops(scored, puzzles),
        "cpu_seconds": round(seconds, 1),
    }


def _until(batches: Iterator[EvalBatch], budget: Budget, name: str, say: Say) -> Iterator[EvalBatch]:
    """The batches until the budget is spent; one at least."""
    for number, batch in enumerate(batches, 1):
        yield batch
        say(f"{number} batches of {name} scored")
        if budget.over():
            return


def _flops(scored: Scored, puzzles: int) -> dict[str, float | None]:
    """Floating-point operations of the matrix products: of the training, as far as its steps are known, and
    of this evaluation."""
    config, model = scored.config, scored.model
    info = model.data
    step = step_flops(model.arch, info, config.global_batch_size) * config.grad_accum
    return {
        "training": step * scored.step if scored.step else None,
        "evaluation": puzzles * _puzzle_flops(model, scored.data),
    }


def _puzzle_flops(model: HRM, data: PuzzleData) -> int:
    """Those of one puzzle, in PyTorch's operations."""
    kernels, model.core.kernels = model.core.kernels, None
    try:
        one = shuffled(data, 1, 0)
        return count(lambda: evaluate(model, test_batches(one, 1), model.H_init.device)) // max(
            1, one.examples
        )
    finally:
        model.core.kernels = kernels


def table(report: dict[str, Any]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| checkpoint | step | data | puzzles | wholly right | cells | published | parameters | ACT steps "
        "| FLOP of training | FLOP here | CPU s |",
        "|" + "---|" * 12,
    ]
    for row in report["rows"]:
        cells = [
            "/".join(Path(row["checkpoint"]).parts[-2:]),
            str(row["step"] or ""),
            f"{row['benchmark']}: {row['data']['name']}",
            f"{row['puzzles']:,} of {row['data']['test_puzzles']:,}",
            _shares(row),
            f"{row['accuracy']:.1%}",
            "" if row["published"] is None else f"{row['published']:.1%}",
            f"{row['parameters']:,}",
            str(row["act_steps"]),
            "" if row["flops"]["training"] is None else f"{row['flops']['training']:.3g}",
            f"{row['flops']['evaluation']:.3g}",
            f"{row['cpu_seconds']:,.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _shares(row: dict[str, Any]) -> str:
    found = [_share(row["exact_accuracy"])]
    if "vote" in row:
        found += [f"pass@{k} {_share(row['vote'][f'pass@{k}'])}" for k in (1, 2)]
    return ", ".join(found)


def _share(share: dict[str, float]) -> str:
    return f"{share['estimate']:.1%} ({share['low']:.1%} to {share['high']:.1%})"
