"""The checks of the harness under atheris, which steers the bytes towards branches that none reached before.

`pip install atheris` into an environment of its own, then `python -m tests.fuzz.guided --minutes 10 READER`.
It stops at the first fault; libFuzzer says where it keeps the input that showed it.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """One long pass over one reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    import atheris

    with atheris.instrument_imports(include=["hrmdoc.readers"]):
        from tests.fuzz import harness

        importlib.import_module(f"hrmdoc.readers.{options.reader}")
    with tempfile.TemporaryDirectory() as corpus, tempfile.TemporaryDirectory() as work:
        for number, seed in enumerate(harness.seeds(options.reader)):
            (Path(corpus) / str(number)).write_bytes(seed[: 1 << 16])

        def one(blob: bytes) -> None:
            harness.check(options.reader, blob, Path(work), random.Random(blob))

        flags = [
            f"-max_total_time={options.minutes * 60:.0f}",
            f"-seed={options.seed}",
            "-max_len=65536",
            "-timeout=60",
        ]
        kept = f"-artifact_prefix={tempfile.gettempdir()}/guided-{options.reader}-"
        atheris.Setup([sys.argv[0], *flags, kept, "-print_final_stats=1", corpus], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
