"""One try of a supervised command, as it is kept: what the verdict for the next one goes by."""

from __future__ import annotations

from msgspec import Struct


class Attempt(Struct, frozen=True):
    """One start of a command and its end.

    Attributes:
        number: counted from 1.
        log: the file with its output.
        host: the machine that it ran on.
        began, ended: Unix seconds; `ended` is None while it runs.
        status: as `subprocess` gives it, negative where a signal ended it; None where nobody saw the end.
        step: the last step that it reached, None where it logged none.
        failure: what it failed of, in one word; "" where it did not fail.
        interrupted: it was taken away and did not fail.
        checkpoint: what it went on from, "" for a start from the beginning.
        call: the verdict at its end.
    """

    number: int
    log: str
    host: str
    began: float
    ended: float | None = None
    status: int | None = None
    step: int | None = None
    failure: str = ""
    interrupted: bool = False
    checkpoint: str = ""
    call: str = ""

    def repeats(self, other: Attempt) -> bool:
        """Whether it failed as the other one did, at the same step."""
        return bool(self.failure) and (self.failure, self.step) == (other.failure, other.step)
