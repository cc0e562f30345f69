"""`python -m benchmarks.lab [--matrix ci|small|full] [--analyze-only] [--frameworks]`"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.lab import judge, report
from benchmarks.lab.execute import execute, finished, say
from benchmarks.lab.matrix import specs

ACCURACY = Path(__file__).parents[1] / "accuracy.md"


def main(argv: list[str] | None = None) -> int:
    """Runs a matrix, examines every run, writes the table and the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab", description="Measures how often the doctor is right.")
    parser.add_argument("--matrix", choices=("ci", "small", "full"), default="small")
    parser.add_argument("--analyze-only", action="store_true", help="run nothing: examine what is kept")
    parser.add_argument(
        "--frameworks",
        action="store_true",
        help="also a transformers Trainer; HRMDOC_LAB_PYTHON names an interpreter that has it",
    )
    parser.add_argument("--only", help="programs, joined by commas")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=ACCURACY, help="where the report goes")
    options = parser.parse_args(argv)
    wanted = specs(options.matrix, frameworks=options.frameworks)
    if options.only:
        wanted = [spec for spec in wanted if spec.program in options.only.split(",")]
    began = time.monotonic()
    if not options.analyze_only:
        execute(wanted, processes=options.processes, tell=say)
    kept = [spec for spec in wanted if finished(spec)]
    say(f"{len(kept)} of {len(wanted)} runs are there after {time.monotonic() - began:.0f} s; examining them")
    verdicts = judge.judge(kept)
    judge.save(verdicts)
    report.write(verdicts, options.output, options.matrix)
    say(f"examined in {time.monotonic() - began:.0f} s; report: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
