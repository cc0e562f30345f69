"""Remedies as they apply to one run: for each leading cause, what would change in the user's own config file,
or why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from hrmdoc.diagnosis.diagnose import Diagnosis, Hypothesis
from hrmdoc.errors import HrmdocError, UnchangedError, UnknownKeyError
from hrmdoc.examination.examine import Situation
from hrmdoc.record.run import Run
from hrmdoc.remedies.patch import KeyChange, Patch
from hrmdoc.remedies.planner import plan
from hrmdoc.remedies.scalars import same
from hrmdoc.rulebook import Remedy, Rulebook
from hrmdoc.rulebook.expressions import compile_expression

CAUSES = 3
REMEDIES = 4
WORTH_TREATING = 0.05
DECIDED = 0.5
"""From this probability on a cause is treated even where no setting of the run speaks for it."""
OWN_RECORD = "run.json"
SETTINGS = (
    "optimizer.",
    "schedule.",
    "data.",
    "model.",
    "lora.",
    "precision",
    "rl.",
    "act.",
    "train.",
    "eval.",
)
"""How the canonical keys of what a config holds begin."""


@dataclass(frozen=True, slots=True)
class Prescription:
    """One remedy for one cause. `patch` is None when it is no patch or cannot be applied; then `obstacle`
    says why.

    `late`: the config no longer says what the run had.
    `unsure`: the cause is one of several, and no setting speaks for it; the patch is for those who ask for it
    by name.
    """

    remedy: Remedy
    patch: Patch | None = None
    obstacle: str = ""
    late: bool = False
    unsure: bool = False

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
    run: Run, situation: Situation, diagnosis: Diagnosis, book: Rulebook, config: Path | None = None
) -> dict[str, Sequence[Prescription]]:
    """Prescriptions for the leading causes that are not benign, by cause.

    Args:
        config: the config file to patch; by default those found beside the run.
    """
    files = [config] if config is not None else config_files(run, situation, book)
    leading = [
        h for h in diagnosis.hypotheses if not h.benign and (h.rank == 1 or h.probability >= WORTH_TREATING)
    ]
    shown = diagnosis.severities.keys()
    return {
        one.cause: [
            replace(_still(offer, run), unsure=not _decided(one, shown, book))
            for offer in fitting(_aimed(one, shown, book), situation, book, files)
        ]
        for one in leading[:CAUSES]
    }


def _aimed(cause: Hypothesis, shown: Set[str], book: Rulebook) -> list[str]:
    """The remedies of a cause: first those that are to end what the config itself gives as evidence, last
    those against what does not show, such as a model that is too large where nothing says so. Those against a
    message that nobody printed are left out. What shows may be against none of them, as a cause has more
    signs than a remedy names; then all stand as they are."""
    stated = _stated_for(cause, shown, book)

    def turn(name: str) -> int:
        gone = book.remedies[name].verify.gone if name in book.remedies else ()
        if not gone or not shown.isdisjoint(gone):
            return 1 if stated.isdisjoint(gone) else 0
        return 3 if all(_is_message(one, book) for one in gone) else 2

    fits = any(
        shown & set(book.remedies[name].verify.gone) for name in cause.remedies if name in book.remedies
    )
    return (
        sorted((name for name in cause.remedies if turn(name) < 3), key=turn)
        if fits
        else list(cause.remedies)
    )


def _decided(cause: Hypothesis, shown: Set[str], book: Rulebook) -> bool:
    """Whether a config may be changed for this cause: it is likely, or part of its evidence is what the
    config says."""
    return cause.probability >= DECIDED or bool(_stated_for(cause, shown, book))


def _stated_for(cause: Hypothesis, shown: Set[str], book: Rulebook) -> set[str]:
    """What the config says for the cause. That a setting is not unusual may speak for it too, but names
    nothing to change."""
    return {one.symptom for one in cause.for_ if one.symptom in shown and _is_setting(one.symptom, book)}


def _is_setting(symptom: str, book: Rulebook) -> bool:
    """Whether it is seen in the config, such as a rate above the usual range: a check that reads a setting
    and no series.

    That may be one of several ways to see it, as a warmup that never ends is seen in the schedule or in the
    logged rate, and other checks may have to agree. Beside a detector it is the curve that is seen.
    """
    rule = book.symptoms.get(symptom)
    ways = () if rule is None else rule.when.any or (rule.when,)
    groups = (way.all or (way,) for way in ways)
    texts = [part.check for parts in groups if not any(part.detector for part in parts) for part in parts]
    checks = [compile_expression(text) for text in texts if text is not None]
    return any(
        set(check.calls) <= {"known"} and any(name.startswith(SETTINGS) for name in check.names)
        for check in checks
    )


def _is_message(symptom: str, book: Rulebook) -> bool:
    rule = book.symptoms.get(symptom)
    return rule is not None and any(part.lines for part in rule.when.walk())


def fitting(
    names: Sequence[str], situation: Situation, book: Rulebook, files: Sequence[Path]
) -> list[Prescription]:
    """The first remedies of these names that suit the run's framework and would change something in its
    config `files`.

    Those that the framework has no key for are offered only when there is no other.
    """
    remedies = [book.remedies[name] for name in names if name in book.remedies]
    suited = [
        remedy for remedy in remedies if not remedy.frameworks or situation.framework in remedy.frameworks
    ]
    possible, unspoken = [], []
    for remedy in suited or remedies:
        try:
            possible.append(_one(remedy, situation, book, files))
        except UnchangedError:
            continue
        except UnknownKeyError as error:
            unspoken.append(_refused(remedy, error))
    return list(islice(_different(possible or unspoken), REMEDIES))


def _still(one: Prescription, run: Run) -> Prescription:
    """Refuses a patch of a config that no longer says what the run had: it would mend what is mended already,
    or in vain."""
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


def _different(prescriptions: Iterable[Prescription]) -> Iterator[Prescription]:
    """Leaves out what changes nothing beyond those before it."""
    made: set[tuple[str, str]] = set()
    for one in prescriptions:
        changes = {(change.path, str(change.after)) for change in one.changes}
        if not changes or not changes <= made:
            made |= changes
            yield one


def _one(remedy: Remedy, situation: Situation, book: Rulebook, files: Sequence[Path]) -> Prescription:
    if remedy.kind != "patch":
        return Prescription(remedy)
    framework = book.frameworks.get(situation.framework)
    if framework is None:
        return Prescription(
            remedy,
            obstacle=f"the framework of this run is {situation.framework}; its config keys are not known",
        )
    try:
        return Prescription(
            remedy, plan(remedy, situation.facts, framework, files, book.frameworks.get("generic"))
        )
    except (UnchangedError, UnknownKeyError):
        raise
    except HrmdocError as error:
        return _refused(remedy, error)


def _refused(remedy: Remedy, error: HrmdocError) -> Prescription:
    return Prescription(remedy, obstacle=error.what + (f" ({error.hint})" if error.hint else ""))


def config_files(run: Run, situation: Situation, book: Rulebook) -> list[Path]:
    """Config files of the run, the user's own first: the one that the run says it was started with, then
    those beside it."""
    found = _stated(run)
    found += [Path(fact.file) for fact in run.facts.values() if fact.scope == "config" and fact.file]
    framework = book.frameworks.get(situation.framework)
    folder = Path(run.path)
    folder = folder if folder.is_dir() else folder.parent
    if framework is not None and run.path not in ("", "-"):
        found += [folder / name for name in framework.config_files]
    unique = dict.fromkeys(
        path
        for path in found
        if path.is_file() and path.suffix in (".yaml", ".yml", ".json", ".py", ".sh", ".txt")
    )
    return [path for path in unique if not _machine_made(path)]


def _stated(run: Run) -> list[Path]:
    """The config that the run says it was started with. One that a log names, which is anybody's text, is
    only taken below this folder or the run's; the trainer's own record may name any."""
    named = run.fact("run.config_source")
    if named is None or not named.value:
        return []
    path = Path(str(named.value))
    if Path(named.file).name == OWN_RECORD:
        return [path]
    below = not path.is_absolute() and ".." not in path.parts
    folder = Path(run.path)
    return [place / path for place in (Path(), folder if folder.is_dir() else folder.parent) if below]


def _machine_made(path: Path) -> bool:
    """State files hold config values but are no config: a change there changes nothing."""
    if path.suffix != ".json":
        return False
    if path.name in (OWN_RECORD, "heartbeat.json"):
        return True
    with path.open("rb") as file:
        return b'"log_history"' in file.read(1 << 16)


def first_patch(prescriptions: Mapping[str, Sequence[Prescription]]) -> Prescription | None:
    """The first prescription that changes a config and is not `unsure`."""
    every = (one for offered in prescriptions.values() for one in offered)
    return next((one for one in every if one.patch is not None and not one.unsure), None)
