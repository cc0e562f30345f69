"""Which patch `hrmdoc apply` makes: the first that fits, the one that is named, or all that go together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hrmdoc.errors import PatchError
from hrmdoc.remedies import store
from hrmdoc.remedies.aims import decided
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.prescribe import Prescription, fitting, for_cause, misfit, prescribe, together
from hrmdoc.remedies.targets import targets

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.record.run import Run

BY_NAME = "its cause is one of several, and no setting speaks for it; --remedy applies it all the same"
BY_HAND = "done by hand, see hrmdoc explain"
_ANY = 100
NOTHING_WRITTEN = "; nothing was written"


@dataclass(frozen=True, slots=True)
class Choice:
    """The patch to make, and what was passed over for it, with the reason.

    `instead`: why a better remedy cannot be made, "" where none is better. Such a patch is for those who ask
    for it by name.
    """

    prescription: Prescription
    notes: tuple[str, ...] = ()
    instead: str = ""

    @property
    def patch(self) -> Patch:
        """What is to be changed."""
        assert self.prescription.patch is not None
        return self.prescription.patch


def choose(analysis: Analysis, remedy: str | None, config: Path | None, *, every: bool) -> Choice:
    """The patch for a diagnosis.

    Args:
        remedy: the one that the user names: any of a cause that is in question.
        config: the file that the user names.
        every: all changes for the leading cause that go together, as one patch.

    Raises:
        PatchError: there is none, or none that may be made without being named.
    """
    offered = _for_all(analysis, config) if every else _offered(analysis, remedy, config)
    late = tuple(f"{one.remedy.id}: {one.obstacle}" for one in offered if one.late)
    possible = [one for one in offered if one.patch is not None]
    if every and possible:
        where = targets(analysis.run, analysis.situation, analysis.book, config)
        return Choice(together(possible, analysis.situation, analysis.book, where), late)
    chosen = next((one for one in possible if remedy or not one.unsure), None)
    if chosen is None:
        raise _refusal(analysis, offered, remedy)
    passed = offered[: offered.index(chosen)]
    refused = next((f"{one.remedy.id}: {one.obstacle}" for one in passed if one.is_hindered), "")
    return Choice(chosen, tuple(dict.fromkeys((*late, *_passed_over(passed)))), refused)


def named_by_none(choice: Choice) -> Choice:
    """The same choice, of a file that the user has not named yet."""
    return replace(choice, prescription=replace(choice.prescription, unnamed=True))


def _offered(analysis: Analysis, remedy: str | None, config: Path | None) -> list[Prescription]:
    if remedy is None:
        groups = prescribe(analysis.run, analysis.situation, analysis.diagnosis, analysis.book, config)
        return [one for group in groups.values() for one in group]
    causes = [one for one in analysis.diagnosis.hypotheses if remedy in one.remedies and not one.benign]
    if not causes:
        return []
    where = targets(analysis.run, analysis.situation, analysis.book, config)
    shown = analysis.diagnosis.severities.keys()
    if why := misfit(analysis.book.remedies[remedy], analysis.situation, shown):
        raise PatchError(f"{remedy} does not fit this run: {why}", hint="see hrmdoc analyze")
    return fitting([remedy], analysis.situation, analysis.book, where, shown)


def _for_all(analysis: Analysis, config: Path | None) -> list[Prescription]:
    """Every remedy of the causes that a config may be changed for; where there is none, of the first cause
    that a config can be changed for."""
    shown = analysis.diagnosis.severities.keys()
    where = targets(analysis.run, analysis.situation, analysis.book, config)
    parts = (analysis.run, analysis.situation, analysis.diagnosis, analysis.book, where, _ANY)
    causes = [one for one in analysis.diagnosis.hypotheses if not one.benign]
    offers = {cause.cause: for_cause(cause, *parts) for cause in causes}
    sure = [offer for one in causes if decided(one, shown, analysis.book) for offer in offers[one.cause]]
    if any(one.patch for one in sure):
        return sure
    return next((group for group in offers.values() if any(one.patch for one in group)), sure)


def _passed_over(passed: Sequence[Prescription]) -> Iterator[str]:
    """Why what stands before the chosen remedy is not made."""
    for one in passed:
        if not one.late:
            why = _reason(one).replace(NOTHING_WRITTEN, "")  # something else may be, in this very command
            yield f"{one.remedy.id} stands before it: {why}"


def _reason(one: Prescription) -> str:
    return one.obstacle or (BY_NAME if one.patch else BY_HAND)


def _refusal(analysis: Analysis, offered: Sequence[Prescription], remedy: str | None) -> PatchError:
    """Why no patch is made."""
    if analysis.verdict in ("healthy", "info", "incomplete"):
        return PatchError("nothing to patch: the run shows no fault")
    if not offered and remedy:
        return PatchError(f"no cause in question here has the remedy {remedy}", hint="see hrmdoc analyze")
    if remedy and offered:
        return PatchError(f"{remedy} cannot be applied to a config", hint=_reason(offered[0]))
    for one in offered:  # a patch that was written already has taken the setting away that spoke for it
        if one.patch is not None:
            check_rerun(analysis, one.patch)
    reasons: dict[str, list[str]] = {}
    for one in offered:
        reasons.setdefault(_reason(one), []).append(one.remedy.id)
    hint = "\n        ".join(f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in reasons.items())
    return PatchError("no remedy of the leading causes can be applied to a config", hint=hint)


def check_rerun(analysis: Analysis, patch: Patch) -> None:
    """Refuses to patch a config that was patched after the run's last record: no run has seen that yet.

    Raises:
        PatchError: naming the file and how to go on.
    """
    ended = max((os.path.getmtime(file) for file in _records(analysis.run)), default=0.0)
    for edit in patch.edits:
        for entry in store.history(edit.path):
            if entry.time > ended:
                hint = (
                    "start the run again first; or take the patch back with --undo; or apply it once more "
                    "with --force"
                )
                what = f"{entry.remedy} was written already, and no run has shown its effect yet"
                raise PatchError(what, file=edit.path, hint=hint)


def _records(run: Run) -> set[str]:
    """The files in which the run itself wrote, as far as they are still there."""
    named = {file for series in run.series.values() for file in series.files}
    named |= {line.file for line in run.lines}
    return {file for file in named if os.path.isfile(file)}
