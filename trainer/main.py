"""`hrmdoc train`, `hrmdoc evaluate`, `hrmdoc dataset`, `hrmdoc validate` and `python -m hrmdoc.trainer`."""

from __future__ import annotations

import sys

from hrmdoc.errors import HrmdocError

from .commands.train import train, usage

COMMANDS = ("train", "evaluate", "dataset", "validate")


def main(argv: list[str]) -> int:
    """Runs `[train] ...`, `evaluate ...`, `dataset ...` or `validate ...`.

    Returns:
        0 done, 1 the training failed, 2 wrong configuration or input, 128 + n after signal n (130 for an
        interrupt).
    """
    command, words = (argv[0], argv[1:]) if argv and argv[0] in COMMANDS else ("train", argv)
    if command == "train" and any(word in ("-h", "--help") for word in words):
        sys.stdout.write(usage())
        return 0
    try:
        if command == "dataset":
            from .commands.dataset import command as build

            return build(words)
        if command == "evaluate":
            from .commands.evaluate import command as evaluate

            return evaluate(words)
        if command == "validate":
            from .commands.validate import command as validate

            return validate(words)
        return train(words)
    except HrmdocError as error:
        sys.stderr.write(f"hrmdoc: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
