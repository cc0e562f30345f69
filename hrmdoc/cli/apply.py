"""`hrmdoc apply PATH`"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.options import console, ids, metric_roles, note_other_runs, run_options, stated_facts
from hrmdoc.errors import ActionError, PatchError, UsageError

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis, AnalysisSession
    from hrmdoc.remedies.choice import Choice
    from hrmdoc.remedies.prescribe import Prescription

_LONGEST = 4000
"""Characters of a command that can still be pasted."""


@click.command("apply")
@click.argument("path")
@click.option("--diff", is_flag=True, help="Show the patch (the default).")
@click.option("--write", is_flag=True, help="Write it, with a backup.")
@click.option("--undo", is_flag=True, help="Take the last patch of the config back, byte for byte.")
@click.option(
    "--live", is_flag=True, help="Send the remedy's action to the running trainer instead of patching."
)
@click.option(
    "--rerun", is_flag=True, help="With --write: start the patched run (runs of hrmdoc's own trainer)."
)
@click.option("--remedy", shell_complete=ids, help="Apply this remedy instead of the first.")
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="All changes for the leading causes that go together, as one patch and one undo.",
)
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
    diff: bool,
    write: bool,
    undo: bool,
    live: bool,
    rerun: bool,
    remedy: str | None,
    every: bool,
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
    mode = _mode(diff=diff, write=write, undo=undo, live=live)
    if mode == "undo":
        from hrmdoc.cli.shared.undoing import undo as take_back

        return take_back(Path(path), config, force=force)
    if mode == "live":
        return _send(*_session(path, roles, kind, facts, remedy), path)
    if rerun and mode != "write":
        raise UsageError("--rerun needs --write")
    if every and remedy:
        raise UsageError("--all and --remedy exclude each other")
    from hrmdoc.remedies.choice import check_rerun, choose, named_by_none

    session, remedy = _session(path, roles, kind, facts, remedy)
    analysis = _examined(session, path, config)
    choice = choose(analysis, remedy, config, every=every)
    if found := _unnamed(choice.prescription):  # what is shown is what will be written once it is named
        session, _ = _session(path, roles, kind, facts, remedy)
        analysis = _examined(session, path, found)
        choice = named_by_none(choose(analysis, remedy, found, every=every))
    if mode == "write" and not force:
        check_rerun(analysis, choice.patch)
    if rerun and analysis.situation.framework != "hrm":
        raise _not_ours(choice)
    _show(analysis, choice)
    again = _again(path, remedy, config or found, every=every)
    if mode == "diff":
        edited = bool(choice.patch.edits)
        click.echo(
            f"to write it: {again} --write" if edited else "to paste: programs are not edited", err=True
        )
        return 0
    return _write(analysis, choice, again, config, rerun=rerun)


def _mode(**asked: bool) -> str:
    """What is to be done.

    Raises:
        UsageError: several things at once.
    """
    modes = [name for name, on in asked.items() if on]
    if len(modes) > 1:
        raise UsageError(f"{' and '.join(f'--{name}' for name in modes)} exclude each other")
    return modes[0] if modes else "diff"


def _unnamed(chosen: Prescription) -> Path | None:
    """The file outside the run's folder that the user has to name, as one types it here."""
    if not chosen.unnamed or chosen.patch is None:
        return None
    path = chosen.patch.edits[0].path.resolve()
    here = Path.cwd().resolve()
    return path.relative_to(here) if here in path.parents else path


def _write(analysis: Analysis, choice: Choice, again: str, config: Path | None, *, rerun: bool) -> int:
    if not choice.patch.edits:
        raise PatchError(
            "nothing was written: programs are not edited", file=config, hint="paste what is shown above"
        )
    if choice.instead:
        raise PatchError(
            f"the better remedy cannot be made ({choice.instead}); nothing was written",
            hint=f"to write this one all the same: {again} --remedy {choice.patch.remedy} --write",
        )
    if outside := _unnamed(choice.prescription):
        raise PatchError(
            "is what this run seems to be started from, but nothing in its folder says so, and you did not "
            "name it; nothing was written",
            file=outside,
            hint=f"if it is the file that you start from: {again} --write",
        )
    from hrmdoc.live.notes import note, note_files
    from hrmdoc.remedies import store

    written = store.write(choice.patch, analysis.run.path)
    for entry in written:
        click.echo(f"written: {entry.file}", err=True)
    note(analysis.run.path, choice.patch.remedy, choice.patch.overrides, "written")
    note_files(written, choice.patch.overrides)
    click.echo(f"to take it back: {again} --undo", err=True)
    if rerun:
        return _rerun(analysis, choice)
    click.echo(f"next: {_restart(analysis)}", err=True)
    return 0


def _restart(analysis: Analysis) -> str:
    """What starts the run again, as far as it says how it was started."""
    from hrmdoc.reports.layout import safe

    command = analysis.run.fact("run.command")
    if command is None:
        return "start the run again as before, then hrmdoc watch it"
    return f"start the run again: {safe(str(command.value), _LONGEST)}"


def _again(path: str, remedy: str | None, config: Path | None, *, every: bool) -> str:
    """This command, ready to be pasted."""
    from hrmdoc.reports.layout import typed

    named = f" --remedy {remedy}" if remedy else " --all" if every else ""
    return f"hrmdoc apply {typed(path)}{named}" + (f" --config {typed(str(config))}" if config else "")


def _session(
    path: str, roles: tuple[str, ...], kind: str | None, facts: tuple[str, ...], remedy: str | None
) -> tuple[AnalysisSession, str | None]:
    """The run at `path` as the user described it, not read yet, and the remedy under its present id.

    Raises:
        UsageError: there is no such remedy.
    """
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.rulebook import named

    session = AnalysisSession(path, facts=stated_facts(kind, facts), metric_roles=metric_roles(roles))
    if remedy is not None:
        remedy, *_ = named(remedy, "remedy", session.book, session.book.remedies)
    return session, remedy


def _examined(session: AnalysisSession, path: str, config: Path | None) -> Analysis:
    """The run, read together with the config that the user names."""
    from hrmdoc.remedies.own_config import config_facts
    from hrmdoc.remedies.python_text import is_program

    program = config is not None and is_program(config)
    session.read([path] if config is None or program else [path, str(config)])
    if config is not None and program:
        session.run.extend(fact for fact in config_facts(config) if fact.scope == "config")
    note_other_runs(session.other_runs)
    return session.diagnose(closed=True, prescriptions=False)


def _send(session: AnalysisSession, remedy: str | None, path: str) -> int:
    """Has the running trainer do the action of the first remedy that is one, or of the remedy named."""
    from hrmdoc.live.notes import note
    from hrmdoc.live.offers import live_actions, worded
    from hrmdoc.remedies import actions
    from hrmdoc.reports.layout import typed

    session.read([path])
    note_other_runs(session.other_runs)
    analysis = session.diagnose(closed=False, prescriptions=False)
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
    now = actions.live_facts(analysis.run, analysis.situation.facts)
    request = actions.from_remedy(analysis.book.remedies[name], now)
    click.echo(f"{name}: {worded(request)}", err=True)
    answer = actions.send(os.path.realpath(path), request["action"], lr=request.get("lr"), reason=name)
    note(path, name, worded(request), answer.status)
    step = "" if answer.step is None else f" at step {answer.step}"
    click.echo(f"{answer.status}{step}{f': {answer.why}' if answer.why else ''}", err=True)
    return 0 if answer.status == "done" else 1


def _show(analysis: Analysis, choice: Choice) -> None:
    from rich.syntax import Syntax

    from hrmdoc.reports.layout import RISKS

    patch = choice.patch
    out = console()
    click.echo(f"{patch.title}  [{RISKS[patch.risk]}]\n{patch.why}\n", err=True)
    diff = patch.diff() or patch.paste + "\n"
    if sys.stdout.isatty():
        out.print(Syntax(diff, "diff", background_color="default"))
    else:
        click.echo(diff, nl=False)
    click.echo(f"\nas overrides: {patch.overrides}", err=True)
    for note in (*choice.notes, *patch.notes):
        click.echo(f"note: {note}", err=True)
    verify = choice.prescription.remedy.verify
    showing = {symptom.id for symptom in analysis.present}
    gone = [name for name in verify.gone if name in showing] or list(verify.gone)
    if gone:
        verb, within = "is" if len(gone) == 1 else "are", f" within {verify.within}" if verify.within else ""
        click.echo(f"it has helped when {', '.join(gone)} {verb} gone{within}", err=True)


def _rerun(analysis: Analysis, choice: Choice) -> int:
    if analysis.situation.framework != "hrm" or not choice.patch.edits:
        raise _not_ours(choice)
    status: int = importlib.import_module("hrmdoc.cli.train").call(
        "train", (str(choice.patch.edits[0].path),)
    )
    return status


def _not_ours(choice: Choice) -> UsageError:
    hint = f"start it as before, with: {choice.patch.overrides}"
    return UsageError("only runs of hrmdoc's own trainer can be started from here", hint=hint)
