"""From a remedy to a patch of the user's own file: find the keys, compute the values, splice, read back,
compare.

Nothing here writes; see `hrmdoc.remedies.store`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import PatchError, UnchangedError
from hrmdoc.remedies import files, python_text
from hrmdoc.remedies.changes import Planner
from hrmdoc.remedies.patch import Patch
from hrmdoc.rulebook import Framework, Remedy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def plan(
    remedy: Remedy,
    facts: Mapping[str, Any],
    framework: Framework,
    config_files: Sequence[str | Path],
    common: Framework | None = None,
    *,
    record: str = "",
) -> Patch:
    """What `remedy` changes in `config_files`, of which the first that holds a key is the one where it is
    changed.

    Args:
        facts: canonical facts of the run (`optimizer.lr`, ...), for values that are computed and for those
            that no file holds.
        common: spellings of any training code, for a config file that is not in the framework's own words.
        record: why `config_files` must not be changed, where they only record what the run had: then the
            patch gives words for the command line alone.

    Raises:
        PatchError: the remedy is no patch, the framework does not know a key, a value is out of bounds or has
            that value already, no config file was found, or the edit would change anything else.
    """
    _check_suits(remedy, framework)
    paths = [Path(path) for path in config_files]
    code = [path for path in paths if python_text.is_program(path)]
    sources = [files.read(path) for path in paths if path not in code]
    planner = Planner(
        facts, framework, sources, common, python_text.options(code), python_text.assigned(code)
    )
    keys = {change.key for change in remedy.changes}
    for change in remedy.changes:
        try:
            planner.take(change, keys)
        except PatchError:
            if not change.optional:
                raise
    planner.settle()
    return _patch(remedy, planner, code, record)


def _check_suits(remedy: Remedy, framework: Framework) -> None:
    """Refuses a remedy that is no patch, or one for another framework."""
    if remedy.kind != "patch" or not remedy.changes:
        raise PatchError(f"the remedy {remedy.id} is done by hand or on the live run; it changes no config")
    if remedy.frameworks and framework.id not in remedy.frameworks:
        raise PatchError(
            f"the remedy {remedy.id} is for {', '.join(remedy.frameworks)}, not for {framework.title}"
        )


def _patch(remedy: Remedy, planner: Planner, code: Sequence[Path], record: str) -> Patch:
    """What the planner has come to, read back from the changed files."""
    if not planner.changes:
        raise UnchangedError(f"nothing to change: {'; '.join(planner.notes)}")
    overrides = planner.overrides()
    if not planner.files and not code:
        raise PatchError("no config file found", hint=f"name it, or add to the command: {overrides}")
    if record:
        raise PatchError(record, hint=f"name the file with --config, or add to the command: {overrides}")
    paste = (
        ""
        if planner.files
        else python_text.text_to_paste(planner.framework.id, {one.path: one.after for one in planner.changes})
    )
    if paste:
        planner.notes += python_text.places(code, [one.path for one in planner.changes])
    return Patch(
        remedy.id, remedy.title, remedy.risk, remedy.why, planner.framework.id,
        tuple(planner.changes), planner.edits(), overrides, paste, tuple(planner.notes),
    )  # fmt: skip
