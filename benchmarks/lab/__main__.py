"""`python -m benchmarks.lab [--matrix ci|small|full] [--analyze-only] [--only PROGRAMS]`"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.lab import history, judge, peers, report, tables
from benchmarks.lab.execute import execute, finished, say
from benchmarks.lab.launch import LAB_PYTHON, missing_library
from benchmarks.lab.matrix import specs
from benchmarks.lab.spec import Spec
from benchmarks.revision import commit

EPILOG = f"""\
Runs that are kept are not run again. The programs keras, lightning, hf-trainer and trl-* need the
libraries of those names (trl brings transformers), here or in the environment whose Python {LAB_PYTHON}
names; without them they are left out, and the lab says so. {peers.PEERS_PYTHON} names the Python of an
environment with runmedic, trainspotter, gradsnitch and tbparse, which then read the same runs."""
REPORTS = Path(__file__).parents[2] / "runs" / "reports"


def main(argv: list[str] | None = None) -> int:
    """Runs a matrix, examines every run, writes the table and the report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lab", description="Measures how often the doctor is right.", epilog=EPILOG
    )
    parser.add_argument("--matrix", choices=("ci", "small", "full"), default="small")
    parser.add_argument("--analyze-only", action="store_true", help="run nothing: examine what is kept")
    parser.add_argument(
        "--record", action="store_true", help="keep the figures of this commit in history.csv"
    )
    parser.add_argument("--only", help="programs, joined by commas")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--output",
        type=Path,
        help="where the report goes [default: runs/reports/accuracy-MATRIX.md]",
    )
    options = parser.parse_args(argv)
    output = options.output or REPORTS / f"accuracy-{options.matrix}.md"
    wanted = specs(options.matrix)
    if options.only:
        wanted = [spec for spec in wanted if spec.program in options.only.split(",")]
    began = time.monotonic()
    if not options.analyze_only:
        say(f"{sum(not finished(spec) for spec in wanted)} of {len(wanted)} runs are to be trained")
        execute(_possible(wanted), processes=options.processes, report=say)
    kept = [spec for spec in wanted if finished(spec)]
    say(f"{len(kept)} of {len(wanted)} runs are there after {time.monotonic() - began:.0f} s; examining them")
    verdicts = judge.judge(kept)
    judge.save(verdicts)
    if options.record:
        history.record(commit(), verdicts, tables.groups(verdicts))
    report.write(verdicts, output, options.matrix, peers.ask(kept))
    say(f"examined in {time.monotonic() - began:.0f} s; report: {output}")
    return 0


def _possible(wanted: list[Spec]) -> list[Spec]:
    """Without the runs that are neither kept nor possible here, which it names."""
    waiting = Counter(spec.program for spec in wanted if not finished(spec))
    missing = {program: library for program in waiting if (library := missing_library(program))}
    for program, library in missing.items():
        say(
            f"{waiting[program]} runs of {program} are left out: {library} is neither installed nor in "
            f"{LAB_PYTHON}"
        )
    return [spec for spec in wanted if spec.program not in missing]


if __name__ == "__main__":
    sys.exit(main())
