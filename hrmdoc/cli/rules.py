"""`hrmdoc rules list|check|test|new`"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.options import ids, progress
from hrmdoc.errors import RuleError, UsageError

if TYPE_CHECKING:
    from hrmdoc.rulebook import Rulebook

Folder = click.Path(file_okay=False, path_type=Path)


@click.group("rules")
def command() -> None:
    """List, check, test and scaffold rules."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("folder", required=False, type=Folder)
def list_rules(folder: Path | None, *, as_json: bool) -> int:
    """List symptoms, causes, remedies, signatures and measures, with those of your own FOLDER."""
    from hrmdoc import measures, rulebook

    book = rulebook.load([folder] if folder else [])
    rows: list[tuple[str, str, str, str]]
    rows = [("symptom", s.id, s.severity, s.title) for s in book.symptoms.values()]
    rows += [("cause", c.id, "benign" if c.benign else "", c.title) for c in book.causes.values()]
    rows += [("remedy", r.id, r.risk, r.title) for r in book.remedies.values()]
    rows += [("signature", s.id, s.role, s.symptom) for s in book.signatures.values()]
    for kind, measured in (("detector", measures.detector_names()), ("function", measures.all_functions())):
        rows += [
            (kind, name, "", measures.describe(name, detector=kind == "detector").splitlines()[0])
            for name in measured
        ]
    if as_json:
        click.echo(
            json.dumps(
                [dict(zip(("kind", "id", "level", "title"), row, strict=True)) for row in rows], indent=2
            )
        )
        return 0
    for kind, name, level, title in rows:
        click.echo(f"{kind:<9}  {name:<34}  {level:<12}  {title}")
    return 0


@command.command("check")
@click.argument("folder", required=False, type=Folder)
@click.option("--strict", is_flag=True, help="Refuse checks of your own that are too long for one claim.")
def check(folder: Path | None, *, strict: bool) -> int:
    """Check that rules are well formed, that every name points somewhere, and that no check is several
    claims."""
    from hrmdoc import rulebook
    from hrmdoc.rulebook.brevity import wordy_in

    book = rulebook.load([folder] if folder else [])
    problems = rulebook.check(book, own=_own_symptoms(book) if folder else ())
    long = wordy_in(folder) if folder else []
    problems += long if strict else []
    for problem in problems:
        click.echo(problem)
    for flaw in () if strict else long:
        click.echo(f"warning: {flaw}", err=True)
    counts = {
        name: len(getattr(book, name))
        for name in ("symptoms", "causes", "remedies", "signatures", "frameworks")
    }
    summary = ", ".join(f"{count} {name}" for name, count in counts.items())
    click.echo(f"{summary}: {len(problems)} problems", err=True)
    return 1 if problems else 0


@command.command("test")
@click.argument("folder", required=False, type=Folder)
@click.option(
    "--only",
    multiple=True,
    metavar="ID",
    shell_complete=ids,
    help="Try this symptom or signature alone; repeatable.",
)
def test(folder: Path | None, *, only: tuple[str, ...]) -> int:
    """Run the case files in FOLDER/tests (or FOLDER itself) and the examples of signatures, with the rules of
    FOLDER beside the built-in ones."""
    from hrmdoc import rulebook

    own = folder is not None and any((folder / name).is_dir() for name in rulebook.FOLDERS)
    book = rulebook.load([folder] if own and folder else [])
    signatures, symptoms = _with_examples(book, folder)
    cases = _case_files(folder, required=not signatures)
    if only:
        only = _meant(only, book)
        cases = [path for path in cases if path.stem in only]
        signatures = [name for name in signatures if {name, book.signatures[name].symptom} & set(only)]
        symptoms = [name for name in symptoms if name in only]
    tried = list(_tried(book, cases, signatures, symptoms))
    failed = sum(problem is not None for problem in tried)
    click.echo(f"{len(tried) - failed} cases passed, {failed} failed")
    return 1 if failed else 0


def _tried(
    book: Rulebook, cases: list[Path], signatures: list[str], symptoms: list[str]
) -> Iterator[str | None]:
    """The problem of each case and example, None where there is none; problems are printed as they come."""
    from hrmdoc.examination.cases.case import check_file
    from hrmdoc.examination.cases.examples import check_examples
    from hrmdoc.examination.signatures import SignatureMatcher

    matcher = SignatureMatcher(book)
    for name, problem in check_examples(book, matcher, signatures, symptoms):
        if problem is not None:
            click.echo(f"{name}: {problem}")
        yield problem
    with progress("trying", len(cases)) as advance:
        for path in cases:
            advance(path.stem)
            for case, problem in check_file(path, book, matcher):
                if problem is not None:
                    click.echo(f"{path}: {case.title}: {problem}")
                yield problem


def _with_examples(book: Rulebook, folder: Path | None) -> tuple[list[str], list[str]]:
    """The signatures and symptoms whose examples are tried: those of the user's own folder, or all."""
    if folder is None:
        return list(book.signatures), list(book.symptoms)
    from hrmdoc import rulebook

    known = rulebook.load().signatures
    return [name for name, one in book.signatures.items() if one != known.get(name)], _own_symptoms(book)


def _own_symptoms(book: Rulebook) -> list[str]:
    """The symptoms that the user's folder adds or states otherwise."""
    from hrmdoc import rulebook

    known = rulebook.load().symptoms
    return [name for name, one in book.symptoms.items() if one != known.get(name)]


def _case_files(folder: Path | None, *, required: bool) -> list[Path]:
    from hrmdoc.paths import data_dir

    root = folder if folder is not None else data_dir("rules").parent / "tests" / "rules"
    inner = root / "tests"
    files = sorted((inner if inner.is_dir() else root).glob("*.yaml"))
    if required and not files:
        raise UsageError("no case files here", file=root, hint="case files are FOLDER/tests/<symptom>.yaml")
    return files


def _meant(only: tuple[str, ...], book: Rulebook) -> tuple[str, ...]:
    from hrmdoc.rulebook import named

    known = {*book.symptoms, *book.signatures}
    return tuple(one for name in only for one in named(name, "symptom or signature", book, known))


@command.command("new")
@click.argument("name")
@click.option(
    "--in", "folder", type=Folder, default="hrmdoc_rules", show_default=True, help="Your own rule folder."
)
@click.option("--role", default="train.loss", show_default=True, help="The metric that the rule watches.")
def new(name: str, *, folder: Path, role: str) -> int:
    """Scaffold a symptom NAME with its case file in your own rule folder."""
    import re

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"an id is kebab-case, such as my-loss-jump, not {name!r}")
    rule, cases = folder / "symptoms" / f"{name}.yaml", folder / "tests" / f"{name}.yaml"
    for path in (rule, cases):
        if path.exists():
            raise RuleError("exists already; nothing was written", file=path)
    words = {"name": name, "title": name.replace("-", " ").capitalize(), "role": role}
    for path, text in ((rule, RULE), (cases, CASES)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**words), "utf-8")
        click.echo(path)
    click.echo(f"edit them, then: hrmdoc rules test {folder}", err=True)
    click.echo(f'to use them: rules = ["{folder}"] in hrmdoc.toml, then: hrmdoc trust', err=True)
    return 0


RULE = """\
id: {name}
title: {title}
status: experimental
severity: warning
playbook: own-rules
when:
  detector: level
  role: {role}
  enter: 10.0
  leave: 8.0
  patience: 3
  min_points: 5
evidence: "{{metric}} reached {{value:.3g}} at step {{step}}"
falsepositives:
- the first steps of a run from scratch
"""
CASES = """\
symptom: {name}
cases:
- title: near miss, a short burst is not enough
  series: {{{role}: "2x20 12x2 2x20"}}
  expect: absent
- title: it stays high
  series: {{{role}: "2x20 12x20"}}
  expect: present
  from_step: 20
  by_step: 20
"""
