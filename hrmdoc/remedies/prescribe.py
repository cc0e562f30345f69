"""Remedies as they apply to one run: for each leading cause, what would change in the user's own config file,
or why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from msgspec.structs import replace as replace_struct

from hrmdoc.diagnosis.diagnose import Diagnosis, Hypothesis
from hrmdoc.errors import HrmdocError, PatchError, UnchangedError, UnknownKeyError
from hrmdoc.examination.examine import Situation
from hrmdoc.record.run import Run
from hrmdoc.remedies.aims import by_aim, decided
from hrmdoc.remedies.editors.scalars import same
from hrmdoc.remedies.own_config import framework_of
from hrmdoc.remedies.patch import KeyChange, Patch
from hrmdoc.remedies.planner import plan
from hrmdoc.remedies.targets import Targets, anywhere, targets
from hrmdoc.rulebook import Framework, Remedy, Rulebook, Verify
from hrmdoc.rulebook.expressions import MissingInput, about, compile_expression

CAUSES = 3
REMEDIES = 24
"""All that fit, so that every step of a ladder can be asked for; reports show the first few."""
WORTH_TREATING = 0.05


@dataclass(frozen=True, slots=True)
class Prescription:
    """One remedy for one cause. `patch` is None when it is no patch or cannot be applied; then `obstacle`
    says why.

    `late`: the config no longer says what the run had.
    `unsure`: the cause is one of several, and no setting speaks for it; the patch is for those who ask for it
    by name.
    `unnamed`: the file lies outside the run's folder and only the run names it; it is changed once the user
    names it, too.
    """

    remedy: Remedy
    patch: Patch | None = None
    obstacle: str = ""
    late: bool = False
    unsure: bool = False
    unnamed: bool = False

    @property
    def is_hindered(self) -> bool:
        """Whether it would be a patch that the user's files do not let be made."""
        return self.patch is None and self.remedy.kind == "patch" and bool(self.obstacle) and not self.late

    @property
    def changes(self) -> tuple[KeyChange, ...]:
        """What changes, key by key."""
        return self.patch.changes if self.patch else ()

    @property
    def overrides(self) -> str:
        """The same change as words for the command line."""
        return self.patch.overrides if self.patch else ""

    @property
    def diff(self) -> str:
        """The same change as a unified diff of the user's file."""
        return self.patch.diff() if self.patch else ""


def prescribe(
    run: Run,
    situation: Situation,
    diagnosis: Diagnosis,
    book: Rulebook,
    config: Path | None = None,
    within: Callable[[Path], bool] = anywhere,
) -> dict[str, Sequence[Prescription]]:
    """Prescriptions for the leading causes that are not benign, by cause.

    Args:
        config: the config file to patch; by default those that `targets` finds.
        within: where `targets` may look for one.
    """
    where = targets(run, situation, book, config, within)
    leading = [
        h for h in diagnosis.hypotheses if not h.benign and (h.rank == 1 or h.probability >= WORTH_TREATING)
    ]
    return {one.cause: for_cause(one, run, situation, diagnosis, book, where) for one in leading[:CAUSES]}


def for_cause(
    cause: Hypothesis,
    run: Run,
    situation: Situation,
    diagnosis: Diagnosis,
    book: Rulebook,
    where: Targets,
    most: int = REMEDIES,
) -> list[Prescription]:
    """The first `most` remedies of a cause, as they apply to this run."""
    shown = diagnosis.severities.keys()
    unsure = not decided(cause, shown, book)
    offers = fitting(by_aim(cause, shown, book), situation, book, where, shown, most)
    return [replace(_still(offer, run), unsure=unsure) for offer in offers]


def fitting(
    names: Sequence[str],
    situation: Situation,
    book: Rulebook,
    where: Targets,
    shown: Set[str],
    most: int = REMEDIES,
) -> list[Prescription]:
    """The first remedies of these names that suit the run and would change something in its config files.

    Those that the framework has no key for are offered only when there is no other.

    Args:
        shown: the symptoms that show.
    """
    framework = _spelled_by(where, situation, book)
    known = situation.framework if framework is None else framework.id
    possible, unspoken = [], []
    for remedy in _suited(names, known, situation, book, shown):
        try:
            possible.append(_prescription(remedy, situation, book, where, framework))
        except UnchangedError:
            continue
        except UnknownKeyError as error:
            unspoken.append(_refused(remedy, error))
    return list(islice(_without_repeats(possible or unspoken), most))


def suited(cause: Hypothesis, situation: Situation, diagnosis: Diagnosis, book: Rulebook) -> list[Remedy]:
    """The remedies of a cause that suit the run, without a look at its config."""
    shown = diagnosis.severities.keys()
    return _suited(by_aim(cause, shown, book), situation.framework, situation, book, shown)


def _suited(
    names: Sequence[str], framework: str, situation: Situation, book: Rulebook, shown: Set[str]
) -> list[Remedy]:
    """The remedies of these names that fit, and of them those for the framework, where there are any."""
    named = [book.remedies[name] for name in names if name in book.remedies]
    fit = [remedy for remedy in named if not misfit(remedy, situation, shown)]
    return [remedy for remedy in fit if not remedy.frameworks or framework in remedy.frameworks] or fit


def _spelled_by(where: Targets, situation: Situation, book: Rulebook) -> Framework | None:
    """In whose words the settings stand: the config's framework before that of the log, and common words
    where there are settings of a framework that nobody knows."""
    files = where.files or where.records
    logged = book.frameworks.get(situation.framework)
    stated = framework_of(files, book, logged) or logged
    return stated or (book.frameworks.get("generic") if files else None)


def _still(one: Prescription, run: Run) -> Prescription:
    """Refuses a patch of a config that no longer says what the run had: it would mend what is mended already,
    or did not help."""
    for change in one.changes:
        had = run.facts.get(("config", change.path))
        if had is None or not change.file or Path(had.file) == Path(change.file):
            continue
        numbers = all(
            isinstance(value, int | float) and not isinstance(value, bool)
            for value in (had.value, change.before)
        )
        if numbers and not same(change.before, had.value):
            said = (
                f"{Path(change.file).name} says {change.path} = {change.before}, but this run had {had.value}"
            )
            return Prescription(
                one.remedy, obstacle=f"{said}: changed since, or overridden on its command line", late=True
            )
    return one


def _without_repeats(prescriptions: Iterable[Prescription]) -> Iterator[Prescription]:
    """Leaves out what changes nothing beyond those before it."""
    made: set[tuple[str, str]] = set()
    for one in prescriptions:
        changes = {(change.path, str(change.after)) for change in one.changes}
        if not changes or not changes <= made:
            made |= changes
            yield one


def _prescription(
    remedy: Remedy, situation: Situation, book: Rulebook, where: Targets, framework: Framework | None
) -> Prescription:
    if remedy.kind != "patch":
        return Prescription(remedy)
    if framework is None:
        return Prescription(
            remedy,
            obstacle=f"the framework of this run is {situation.framework}; its config keys are not known",
        )
    try:
        record = "" if where.files else where.why_none
        patch = plan(
            remedy, {**situation.facts, **where.said}, framework, where.files or where.records,
            book.frameworks.get("generic"), record=record,
        )  # fmt: skip
        return Prescription(remedy, patch, unnamed=any(edit.path in where.unnamed for edit in patch.edits))
    except (UnchangedError, UnknownKeyError):
        raise
    except HrmdocError as error:
        return _refused(remedy, error)


def _refused(remedy: Remedy, error: HrmdocError) -> Prescription:
    return Prescription(remedy, obstacle=error.what + (f" ({error.hint})" if error.hint else ""))


def misfit(remedy: Remedy, situation: Situation, shown: Set[str]) -> str:
    """Why a remedy does not fit the run; empty when it does."""
    if remedy.specific and shown.isdisjoint(remedy.verify.gone):
        return f"it helps only against {' or '.join(remedy.verify.gone)}, which this run does not show"
    where = remedy.applies
    if (where.kinds and situation.kind not in where.kinds) or situation.kind in where.not_kinds:
        return f"it is not for runs of kind {situation.kind}"
    for fit in remedy.fits:
        try:
            if not compile_expression(fit.check)(situation.facts, about(situation.facts)):
                return fit.why
        except MissingInput:
            continue
    return ""


def together(
    offered: Sequence[Prescription], situation: Situation, book: Rulebook, where: Targets
) -> Prescription:
    """One prescription that makes all changes of `offered` that go together: of several that change one
    setting the first counts.

    Raises:
        PatchError: none of them changes a config.
    """
    taken: set[str] = set()
    chosen: list[Remedy] = []
    for one in offered:
        settings = {change.key for change in one.remedy.changes}
        if one.patch is not None and not settings & taken:
            taken |= settings
            chosen.append(one.remedy)
    if not chosen:
        raise PatchError("none of the remedies changes a config")
    every = replace_struct(
        chosen[0],
        id="+".join(remedy.id for remedy in chosen),
        title="; ".join(remedy.title for remedy in chosen),
        risk="guarded" if any(remedy.risk != "safe" for remedy in chosen) else "safe",
        why=" ".join(remedy.why for remedy in chosen),
        changes=tuple(change for remedy in chosen for change in remedy.changes),
        verify=Verify(tuple(dict.fromkeys(name for remedy in chosen for name in remedy.verify.gone))),
        frameworks=(),
    )
    return _prescription(every, situation, book, where, _spelled_by(where, situation, book))


def first_patch(prescriptions: Mapping[str, Sequence[Prescription]]) -> Prescription | None:
    """The first prescription that changes a config and is neither `unsure` nor `unnamed`."""
    every = (one for offered in prescriptions.values() for one in offered)
    return next((one for one in every if one.patch and not one.unsure and not one.unnamed), None)
