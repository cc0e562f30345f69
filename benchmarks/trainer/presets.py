"""What each preset reaches on a CPU: two seeds a row, or why it was not run.

python -m benchmarks.trainer.presets [NAME ...] [--seeds 0 1] > docs/benchmarks/presets.md

One thread. CPU time is that of the whole process, with the start of Python and PyTorch. *Exact*: boards of
the test set that are wholly right at the last evaluation; none has the solution of a training board.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.trainer.sudoku import Reached, run

FOUR = ("data_path=builtin:sudoku-4x4", "checkpoint_every_eval=false", "log_interval=200")
HEAD = """# What the presets reach on a CPU

Made by `python -m benchmarks.trainer.presets`; one thread, two seeds. CPU minutes are those of the
whole process; exact is the share of held-out boards that are wholly right at the end. {about}

| preset | settings beside it | seed | steps | CPU minutes | exact |
|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Row:
    """A preset and what is given beside it, or why it was not run."""

    preset: str
    words: tuple[str, ...] = ()
    why_not: str = ""


ROWS = (
    Row("demo"),
    Row("demo,stable"),
    Row("tiny", (*FOUR, "epochs=30", "lr_warmup_steps=100")),
    Row("small", (*FOUR, "epochs=30", "lr_warmup_steps=100")),
    Row("medium", (*FOUR, "epochs=20", "lr_warmup_steps=100")),
    Row("sudoku"),
    Row(
        "full",
        why_not="4 s a step of 8 rows on a CPU; the published recipe takes some 52,000 steps of 384 rows",
    ),
    Row("trm", why_not="as wide as full, at several times the work of a step"),
    Row("mps", why_not="needs an Apple GPU"),
    Row("text", why_not="has no exact accuracy to speak of; nats a token are in benchmarks/RESULTS.md"),
)


def told(row: Row, seed: int | None, reached: Reached | None) -> str:
    """One line of the table."""
    beside = " ".join(word for word in row.words if word not in FOUR[1:]) or "-"
    if reached is None:
        return f"| {row.preset} | {beside} | - | not run: {row.why_not} | - | - |"
    minutes = f"{reached.cpu_s / 60:.1f}"
    return f"| {row.preset} | {beside} | {seed} | {reached.steps} | {minutes} | {reached.last:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="presets; all by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--about", default="", help="a sentence on the machine")
    given = parser.parse_args()
    print(HEAD.format(about=given.about).replace(". \n", ".\n"), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            if given.names and row.preset not in given.names:
                continue
            for seed in given.seeds if not row.why_not else []:
                words = [f"preset={row.preset}", *row.words]
                print(told(row, seed, run(words, seed, Path(folder) / row.preset)), flush=True)
            if row.why_not:
                print(told(row, None, None), flush=True)


if __name__ == "__main__":
    main()
