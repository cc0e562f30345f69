"""Every error that a user can meet. All of them end the command with exit status 2 and one clear message.

HrmdocError
├── InputError       a run, log or checkpoint cannot be read: names the file and the place
├── RuleError        a rule file is wrong: names the file, the line and the nearest valid word
├── ConfigError      a configuration (the user's or hrmdoc's own) is wrong
├── PatchError       a config patch was refused; nothing was written
│   ├── UnchangedError   the config is so already
│   └── UnknownKeyError  the framework has no key for it
├── ActionError      an action on a live run was refused or not answered
└── UsageError       the command line asks for something impossible
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath


class HrmdocError(Exception):
    """A failure with a place and a next step. `str(error)` is the whole message, ready to print.

    Args:
        what: what happened, one sentence without a full stop.
        file: the file it happened in, if any.
        line: the 1-based line in that file, if known.
        hint: what to do next, if there is something to do.
    """

    def __init__(
        self,
        what: str,
        *,
        file: str | PathLike[str] | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.what = what
        self.file = None if file is None else fspath(file)
        self.line = line
        self.hint = hint
        super().__init__(self.message())

    def message(self) -> str:
        """The message as printed: `file:line: what (hint)`."""
        place = "" if self.file is None else self.file + ("" if self.line is None else f":{self.line}") + ": "
        return f"{place}{self.what}" + (f"\n  hint: {self.hint}" if self.hint else "")


class InputError(HrmdocError):
    """A run, a log or a checkpoint cannot be read."""


class RuleError(HrmdocError):
    """A rule, cause, remedy or framework file is wrong."""


class ConfigError(HrmdocError):
    """A configuration is wrong."""


class PatchError(HrmdocError):
    """A config patch was refused; nothing was written."""


class UnchangedError(PatchError):
    """The config is as the patch would make it, by its own values or by the program's defaults."""


class UnknownKeyError(PatchError):
    """The framework has no key for what the patch would change."""


class ActionError(HrmdocError):
    """An action on a live run was refused or not answered."""


class UsageError(HrmdocError):
    """The command line asks for something impossible."""


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint naming the closest known word, or None when nothing is close."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else None
