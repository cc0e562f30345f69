"""The rulebook as a whole: every name in it points somewhere, and everything in it is of use."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import get_args

from hrmdoc.errors import RuleError
from hrmdoc.rulebook import formerly, relations
from hrmdoc.rulebook.alternatives import unshown
from hrmdoc.rulebook.brevity import wordy
from hrmdoc.rulebook.expressions import compile_expression
from hrmdoc.rulebook.pages import sections
from hrmdoc.rulebook.schema.book import Rulebook
from hrmdoc.rulebook.schema.causes import EVERY_SYMPTOM, Cause, Given, Restart
from hrmdoc.rulebook.schema.remedies import Remedy


def check(book: Rulebook, own: Collection[str] = ()) -> list[str]:
    """Names that point nowhere and checks that are several claims, one message each; empty when the rulebook
    is whole.

    Args:
        own: symptoms of a user's own; no cause needs to account for them, and how long their checks are is up
            to the user.
    """
    return [
        *_of_signatures(book),
        *_of_lines(book),
        *relations.problems(book.symptoms),
        *formerly.problems(book, own),
        *_long(book, own),
        *_flapping(book, own),
        *(f"cause {one.id}: {problem}" for one in book.causes.values() for problem in _of_cause(one, book)),
        *(f"remedy {one.id}: {flaw}" for one in book.remedies.values() for flaw in _of_remedy(one, book)),
        *_unused(book, own),
        *_unwritten(book),
    ]


def _of_signatures(book: Rulebook) -> Iterator[str]:
    for one in book.signatures.values():
        if one.symptom not in book.symptoms:
            yield f"signature {one.id}: no symptom {one.symptom!r}"
        for part in unshown(one):
            yield f"signature {one.id}: no example that this alternative alone matches: {part}"


def _of_lines(book: Rulebook) -> Iterator[str]:
    """Symptoms of log lines that no line can open, or that name an unknown signature as their end."""
    named = {one.symptom for one in book.signatures.values()}
    for rule in book.symptoms.values():
        if rule.when.lines is not None and rule.id not in named:
            yield f"symptom {rule.id}: no signature names it"
        for part in rule.when.walk():
            over = part.lines.got_over if part.lines else ""
            if over and over not in book.signatures:
                yield f"symptom {rule.id}: no signature {over!r}"


def _long(book: Rulebook, own: Collection[str]) -> Iterator[str]:
    """Checks of built-in rules that are more than one claim."""
    for rule in book.symptoms.values():
        if rule.id not in own:
            yield from (f"symptom {rule.id}: {flaw}" for _, flaw in wordy(rule))


def _flapping(book: Rulebook, own: Collection[str]) -> Iterator[str]:
    """Thresholds of built-in rules that one point's noise could open and close again."""
    for rule in book.symptoms.values():
        for part in rule.when.walk():
            held = part.leave is not None and part.leave != part.enter
            if part.detector and rule.id not in own and not held and part.leave_patience < 2:
                flaw = f"{part.detector} leaves where it enters; give it `leave` or `leave_patience`"
                yield f"symptom {rule.id}: {flaw}"


def _of_cause(cause: Cause, book: Rulebook) -> Iterator[str]:
    known = {*book.symptoms, EVERY_SYMPTOM}
    yield from (f"no symptom {name!r}" for name in cause.produces if name not in known)
    yield from (f"no remedy {name!r}" for name in cause.remedies if name not in book.remedies)
    if cause.restart is None:
        yield f"`restart` says what it means for starting a run again: one of {', '.join(get_args(Restart))}"
    for given in cause.given:
        yield from _flaws(given, book)


def _flaws(given: Given, book: Rulebook) -> Iterator[str]:
    """What is wrong with a circumstance of a cause."""
    asked = [
        name
        for name in compile_expression(given.check).symptoms
        if name not in relations.groups(book.symptoms.values()) and name not in book.formerly
    ]
    yield from (f"no symptom {name!r}" for name in (*asked, *given.about) if name not in book.symptoms)
    if given.odds <= 0:
        yield f"odds are above 0, not {given.odds:g}"


def _of_remedy(remedy: Remedy, book: Rulebook) -> Iterator[str]:
    yield from (f"no symptom {name!r}" for name in remedy.verify.gone if name not in book.symptoms)
    yield from (error for fit in remedy.fits if (error := _uncompiled(fit.check)))
    keys = {key for framework in book.frameworks.values() for key in framework.config}
    yield from (
        f"no framework has a key for {change.key!r}" for change in remedy.changes if change.key not in keys
    )


def _uncompiled(check: str) -> str:
    """Why a check is no expression; empty when it is one."""
    try:
        compile_expression(check)
    except RuleError as error:
        return str(error)
    return ""


def _unused(book: Rulebook, own: Collection[str]) -> Iterator[str]:
    """Remedies that no cause offers, and symptoms that no cause accounts for."""
    offered = {name for cause in book.causes.values() for name in cause.remedies}
    yield from (f"remedy {name}: no cause offers it" for name in book.remedies if name not in offered)
    known = {symptom for cause in book.causes.values() for symptom in cause.produces} | {*own}
    yield from (f"symptom {name}: no cause produces it" for name in book.symptoms if name not in known)


def _unwritten(book: Rulebook) -> Iterator[str]:
    """Rules that link to a page of the playbooks, or to a section of one, that is not there."""
    links = [(one.id, one.playbook) for one in book.symptoms.values()]
    links += [(one.id, one.playbook) for one in book.causes.values()]
    for name, link in links:
        page, _, anchor = link.partition("#")
        known = sections(page)
        if not known:
            yield f"{name}: no playbook {page!r}"
        elif anchor and anchor not in {section.anchor for section in known if section.level >= 3}:
            yield f"{name}: the playbook {page} has no section {anchor!r}"
