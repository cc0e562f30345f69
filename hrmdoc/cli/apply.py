"""`hrmdoc apply PATH`"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.options import console, metric_roles, note_other_runs, run_options, stated_facts
from hrmdoc.errors import ActionError, PatchError, UsageError, did_you_mean

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis, AnalysisSession
    from hrmdoc.record.run import Run
    from hrmdoc.remedies.patch import Patch
    from hrmdoc.remedies.prescribe import Prescription


BY_NAME = "its cause is one of several, and no setting speaks for it; --remedy applies it all the same"
BY_HAND = "done by hand, see hrmdoc explain"


@click.command("apply")
@click.argument("path")
@click.option("--diff", "mode", flag_value="diff", default=True, help="Show the patch (the default).")
@click.option("--write", "mode", flag_value="write", help="Write it, with a backup.")
@click.option(
    "--undo", "mode", flag_value="undo", help="Take the last patch of the config back, byte for byte."
)
@click.option(
    "--live",
    "mode",
    flag_value="live",
    help="Send the remedy's action to the running trainer instead of patching.",
)
@click.option(
    "--rerun", is_flag=True, help="With --write: start the patched run (runs of hrmdoc's own trainer)."
)
@click.option("--remedy", help="Apply this remedy instead of the first.")
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="The config file to patch.")
@click.option(
    "--force",
    is_flag=True,
    help="Even if the file was changed after the patch (--undo), or has this patch already (--write).",
)
@run_options
def command(
    path: str,
    *,
    mode: str,
    rerun: bool,
    remedy: str | None,
    config: Path | None,
    force: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
) -> int:
    """Patch the run's config by its diagnosis: shows a diff, writes with --write, takes back with --undo;
    acts with --live.

    PATH is the run; with --undo it may also be the config file itself.
    """
    if mode == "undo":
        return _undo(Path(path), config, force=force)
    if mode == "live":
        return _send(_session(path, roles, kind, facts, remedy), path, remedy)
    if rerun and mode != "write":
        raise UsageError("--rerun needs --write")
    analysis, possible, chosen = _choose(_session(path, roles, kind, facts, remedy), path, remedy, config)
    assert chosen.patch is not None
    if mode == "write" and not force:
        for one in possible[
            : possible.index(chosen) + 1
        ]:  # one that was written took the setting away that spoke for it
            assert one.patch is not None
            _check_rerun(analysis, one.patch)
    _show(analysis, chosen)
    again = _again(path, remedy, config)
    if mode == "diff":
        click.echo(
            f"to write it: {again} --write" if chosen.patch.edits else "to paste: programs are not edited",
            err=True,
        )
        return 0
    if not chosen.patch.edits:
        raise PatchError(
            "nothing was written: programs are not edited", file=config, hint="paste what is shown above"
        )
    from hrmdoc.remedies import store

    for entry in store.write(chosen.patch):
        click.echo(f"written: {entry.file}", err=True)
    click.echo(f"to take it back: {again} --undo", err=True)
    return _rerun(analysis, chosen) if rerun else 0


def _again(path: str, remedy: str | None, config: Path | None) -> str:
    """This command, ready to be pasted."""
    from hrmdoc.reports.layout import typed

    named = f" --remedy {remedy}" if remedy else ""
    return f"hrmdoc apply {typed(path)}{named}" + (f" --config {typed(str(config))}" if config else "")


def _session(
    path: str, roles: tuple[str, ...], kind: str | None, facts: tuple[str, ...], remedy: str | None
) -> AnalysisSession:
    """The run at `path` as the user described it, not read yet.

    Raises:
        UsageError: there is no such remedy.
    """
    from hrmdoc.analysis import AnalysisSession

    session = AnalysisSession(path, facts=stated_facts(kind, facts), metric_roles=metric_roles(roles))
    if remedy is not None and remedy not in session.book.remedies:
        raise UsageError(
            f"no remedy {remedy!r}", hint=did_you_mean(remedy, session.book.remedies) or "`hrmdoc rules list`"
        )
    return session


def _choose(
    session: AnalysisSession, path: str, remedy: str | None, config: Path | None
) -> tuple[Analysis, list[Prescription], Prescription]:
    """The analysis, every patch that fits, and the one to apply.

    Raises:
        PatchError: there is none, or none that may be applied without being named.
    """
    from hrmdoc.preflight.config import config_facts
    from hrmdoc.remedies.prescribe import prescribe
    from hrmdoc.remedies.python_text import is_program
    from hrmdoc.reports.layout import typed

    program = config is not None and is_program(config)
    session.read([path] if config is None or program else [path, str(config)])
    if config is not None and program:
        session.run.extend(fact for fact in config_facts(config) if fact.scope == "config")
    note_other_runs(session.other_runs)
    analysis = session.look(closed=True)
    offered = prescribe(analysis.run, analysis.situation, analysis.diagnosis, analysis.book, config)
    every = [one for group in offered.values() for one in group if remedy in (None, one.remedy.id)]
    possible = [one for one in every if one.patch is not None]
    chosen = next((one for one in possible if remedy or not one.unsure), None)
    for note in dict.fromkeys(f"note: {one.remedy.id}: {one.obstacle}" for one in every if one.late):
        click.echo(note, err=True)
    if chosen is not None:
        return analysis, possible, chosen
    if analysis.verdict in ("healthy", "info"):
        raise PatchError("nothing to patch: the run shows no fault")
    if not every:
        raise PatchError(
            f"the diagnosis of this run does not ask for {remedy}", hint=f"hrmdoc analyze {typed(path)}"
        )
    for one in possible:  # a patch that was written already has taken the setting away that spoke for it
        assert one.patch is not None
        _check_rerun(analysis, one.patch, any_remedy=True)
    reasons: dict[str, list[str]] = {}
    for one in every:
        reasons.setdefault(one.obstacle or (BY_NAME if one.patch else BY_HAND), []).append(one.remedy.id)
    hint = "\n        ".join(
        f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in reasons.items()
    )
    raise PatchError("no remedy of the leading causes can be applied to a config", hint=hint)


def _send(session: AnalysisSession, path: str, remedy: str | None) -> int:
    """Has the running trainer do the action of the first remedy that is one, or of the remedy named."""
    from hrmdoc.live.treatment import live_actions, worded
    from hrmdoc.remedies import actions
    from hrmdoc.reports.layout import typed

    session.read([path])
    note_other_runs(session.other_runs)
    analysis = session.look(closed=False, prescriptions=False)
    offered = (
        (one.id for one, _ in live_actions(analysis))
        if analysis.verdict in ("warning", "critical")
        else iter(())
    )
    name = remedy or next(offered, None)
    if name is None:
        raise ActionError(
            "nothing of what shows has a remedy that a live run can execute",
            hint=f"hrmdoc analyze {typed(path)}",
        )
    request = actions.from_remedy(analysis.book.remedies[name], analysis.situation.facts)
    click.echo(f"{name}: {worded(request)}", err=True)
    answer = actions.send(os.path.realpath(path), request["action"], lr=request.get("lr"), reason=name)
    step = "" if answer.step is None else f" at step {answer.step}"
    click.echo(f"{answer.status}{step}{f': {answer.why}' if answer.why else ''}", err=True)
    return 0 if answer.status == "done" else 1


def _check_rerun(analysis: Analysis, patch: Patch, *, any_remedy: bool = False) -> None:
    """Refuses to apply a remedy, or any, to a config that was patched after the run's last record: no run has
    seen that yet.

    Raises:
        PatchError: naming the file and how to go on.
    """
    from hrmdoc.remedies import store

    ended = max((os.path.getmtime(file) for file in _records(analysis.run)), default=0.0)
    for edit in patch.edits:
        for entry in store.history(edit.path):
            if entry.time > ended and (any_remedy or entry.remedy == patch.remedy):
                hint = "start the run again first; or take the patch back with --undo; or apply it once more with --force"
                what = f"{entry.remedy} was written already, and no run has shown its effect yet"
                raise PatchError(what, file=edit.path, hint=hint)


def _records(run: Run) -> set[str]:
    """The files in which the run itself wrote, as far as they are still there."""
    named = {file for series in run.series.values() for file in series.files} | {
        line.file for line in run.lines
    }
    return {file for file in named if os.path.isfile(file)}


def _show(analysis: Analysis, chosen: Prescription) -> None:
    from rich.syntax import Syntax

    patch = chosen.patch
    assert patch is not None
    out = console()
    click.echo(f"{patch.title}  [{patch.risk}]\n{patch.why}\n", err=True)
    diff = patch.diff() or patch.paste + "\n"
    if sys.stdout.isatty():
        out.print(Syntax(diff, "diff", background_color="default"))
    else:
        click.echo(diff, nl=False)
    click.echo(f"\nas overrides: {patch.overrides}", err=True)
    for note in patch.notes:
        click.echo(f"note: {note}", err=True)
    verify = chosen.remedy.verify
    showing = {symptom.id for symptom in analysis.present}
    gone = [name for name in verify.gone if name in showing] or list(verify.gone)
    if gone:
        verb, within = "is" if len(gone) == 1 else "are", f" within {verify.within}" if verify.within else ""
        click.echo(f"it has helped when {', '.join(gone)} {verb} gone{within}", err=True)


def _undo(path: Path, config: Path | None, *, force: bool) -> int:
    from hrmdoc.remedies import store

    target = config or path
    if config is None and (path.is_dir() or not store.history(path)):
        target = _patched_config(path)
    entry = store.undo(target, force)
    click.echo(f"taken back: {entry.file}", err=True)
    return 0


def _patched_config(path: Path) -> Path:
    """The config of the run at `path` that was patched last."""
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.remedies import store
    from hrmdoc.remedies.prescribe import config_files

    session = AnalysisSession(str(path))
    session.read([str(path)])
    analysis = session.look(closed=True, prescriptions=False)
    for candidate in config_files(analysis.run, analysis.situation, analysis.book):
        if store.history(candidate):
            return candidate
    raise PatchError("no config of this run was patched", file=path, hint="name the file with --config")


def _rerun(analysis: Analysis, chosen: Prescription) -> int:
    if analysis.situation.framework != "hrm" or chosen.patch is None or not chosen.patch.edits:
        hint = f"start it as before, with: {chosen.overrides}"
        raise UsageError("only runs of hrmdoc's own trainer can be started from here", hint=hint)
    status: int = importlib.import_module("hrmdoc.cli.train").call(
        "train", (str(chosen.patch.edits[0].path),)
    )
    return status
