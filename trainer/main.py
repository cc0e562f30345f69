"""`hrmdoc train`, `hrmdoc evaluate` and `python -m hrmdoc.trainer`."""

from __future__ import annotations

import sys
from pathlib import Path

from hrmdoc.errors import HrmdocError, UsageError

from . import config as configs


def main(argv: list[str]) -> int:
    """Runs `train [CONFIG] [key=value ...]`. Returns the exit status: 0 done, 1 the run failed, 2 a wrong configuration, 130 interrupted."""
    try:
        config = configs.load(*split_words(argv))
    except HrmdocError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(configs.dump(config), end="")
    return 0


def split_words(argv: list[str]) -> tuple[Path | None, list[str]]:
    """The configuration file, if one is named, and the overrides."""
    files = [word for word in argv if "=" not in word]
    if len(files) > 1:
        raise UsageError(f"one configuration file at most, not {len(files)}: {' '.join(files)}", hint="overrides are key=value")
    return (Path(files[0]) if files else None), [word for word in argv if "=" in word]
