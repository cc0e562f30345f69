"""`hrmdoc apply PATH`"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.options import console, run_options, stated_facts
from hrmdoc.errors import PatchError, UsageError

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.prescribe import Prescription


@click.command("apply")
@click.argument("path")
@click.option("--diff", "mode", flag_value="diff", default=True, help="Show the patch (the default).")
@click.option("--write", "mode", flag_value="write", help="Write it, with a backup.")
@click.option("--undo", "mode", flag_value="undo", help="Take the last patch of the config back, byte for byte.")
@click.option("--rerun", is_flag=True, help="With --write: start the patched run (runs of hrmdoc's own trainer).")
@click.option("--remedy", help="Apply this remedy instead of the first.")
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="The config file to patch.")
@click.option("--force", is_flag=True, help="With --undo: even if the file was changed after the patch.")
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
    """Patch the run's config by its diagnosis: shows a diff, writes with --write, takes back with --undo.

    PATH is the run; with --undo it may also be the config file itself.
    """
    if mode == "undo":
        return _undo(Path(path), config, force=force)
    if rerun and mode != "write":
        raise UsageError("--rerun needs --write")
    analysis, chosen = _choose(path, roles, kind, facts, remedy, config)
    _show(chosen)
    if mode == "diff":
        click.echo(f"to write it: hrmdoc apply {path} --write", err=True)
        return 0
    from hrmdoc.remedies import store

    assert chosen.patch is not None
    for entry in store.write(chosen.patch):
        click.echo(f"written: {entry.file}", err=True)
    click.echo(f"to take it back: hrmdoc apply {path} --undo", err=True)
    return _rerun(analysis, chosen) if rerun else 0


def _choose(
    path: str, roles: tuple[str, ...], kind: str | None, facts: tuple[str, ...], remedy: str | None, config: Path | None
) -> tuple[Analysis, Prescription]:
    from hrmdoc.analysis import Patient
    from hrmdoc.cli.options import metric_roles
    from hrmdoc.prescribe import first_patch, prescribe

    patient = Patient(path, facts=stated_facts(kind, facts), metric_roles=metric_roles(roles))
    patient.read([path])
    analysis = patient.look(closed=True)
    offered = prescribe(analysis.run, analysis.situation, analysis.diagnosis, analysis.book, config)
    chosen = first_patch(offered, remedy)
    if chosen is not None:
        return analysis, chosen
    if analysis.verdict in ("healthy", "info"):
        raise PatchError("nothing to patch: the run shows no fault")
    reasons = [f"{p.remedy.id}: {p.obstacle or 'done by hand'}" for group in offered.values() for p in group]
    raise PatchError(
        "no remedy of the leading causes can be applied to a config", hint="; ".join(reasons[:6]) or "hrmdoc explain CAUSE"
    )


def _show(chosen: Prescription) -> None:
    from rich.syntax import Syntax

    patch = chosen.patch
    assert patch is not None
    out = console()
    click.echo(f"{patch.title}  [{patch.risk}]\n{patch.why}\n", err=True)
    diff = patch.diff() or patch.paste
    if sys.stdout.isatty():
        out.print(Syntax(diff, "diff", background_color="default"))
    else:
        click.echo(diff, nl=False)
    click.echo(f"\nas overrides: {patch.overrides}", err=True)
    for note in patch.notes:
        click.echo(f"note: {note}", err=True)
    verify = chosen.remedy.verify
    if verify.gone:
        click.echo(
            f"verified when {', '.join(verify.gone)} is gone{f' within {verify.within}' if verify.within else ''}", err=True
        )


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
    from hrmdoc.analysis import Patient
    from hrmdoc.prescribe import config_files
    from hrmdoc.remedies import store

    patient = Patient(str(path))
    patient.read([str(path)])
    analysis = patient.look(closed=True, prescriptions=False)
    for candidate in config_files(analysis.run, analysis.situation, analysis.book):
        if store.history(candidate):
            return candidate
    raise PatchError("no config of this run was patched", file=path, hint="name the file with --config")


def _rerun(analysis: Analysis, chosen: Prescription) -> int:
    if analysis.situation.framework != "hrm" or chosen.patch is None or not chosen.patch.edits:
        hint = f"start it as before, with: {chosen.overrides}"
        raise UsageError("only runs of hrmdoc's own trainer can be started from here", hint=hint)
    status: int = importlib.import_module("hrmdoc.cli.train").call("train", (str(chosen.patch.edits[0].path),))
    return status
