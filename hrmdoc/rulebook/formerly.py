"""Ids that rules had before: what settings, rules of a user's own and kept files say under one of them is
meant for the rules that bear its claim now.

A rule names such ids under `formerly`. Several may name one id, which then stands for all of them, as after
a split. A symptom that went without a successor is named by the cause that it spoke for chiefly: `explain`
leads there, and as a symptom the id stands for none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from msgspec.structs import replace

from hrmdoc.errors import UsageError, did_you_mean
from hrmdoc.rulebook import relations
from hrmdoc.rulebook.schema.book import Rulebook
from hrmdoc.rulebook.schema.causes import Cause
from hrmdoc.rulebook.schema.remedies import Remedy


class Renamed(Protocol):
    """A rule that may have had other ids."""

    @property
    def id(self) -> str: ...
    @property
    def formerly(self) -> tuple[str, ...]: ...


def current(names: Iterable[str], book: Rulebook, known: Collection[str]) -> tuple[str, ...]:
    """The names as they are now: an id of before gives way to those of `known` that stand for it, maybe to
    none; one that never was is left as it is."""
    found: dict[str, None] = {}
    for name in names:
        old = name not in known and name in book.formerly
        found.update(
            dict.fromkeys(one for one in book.formerly[name] if one in known) if old else {name: None}
        )
    return tuple(found)


def named(name: str, sort: str, book: Rulebook, known: Collection[str]) -> tuple[str, ...]:
    """The rules of `known`, which are of one sort, that a user means by a name.

    Raises:
        UsageError: there is none.
    """
    found = current((name,), book, known)
    if not found or found[0] not in known:
        instead = ", ".join(book.formerly.get(name, ()))
        hint = f"what it said: hrmdoc explain {instead}" if instead else did_you_mean(name, known)
        raise UsageError(f"no {sort} {name!r}", hint=hint or "`hrmdoc rules list` lists all ids")
    return found


def adopted(book: Rulebook) -> Rulebook:
    """The rules, with what they say of one another under the present ids."""
    book = replace(book, formerly=_old_ids(book))
    of_symptoms = {old: now for old, now in book.formerly.items() if book.symptoms.keys() >= {*now}}
    signatures = {
        name: replace(one, symptom=_now(book, (one.symptom,), book.symptoms)[0])
        for name, one in book.signatures.items()
    }
    return replace(
        book,
        symptoms=relations.with_members(book.symptoms, of_symptoms),
        signatures=signatures,
        causes={name: _cause(one, book) for name, one in book.causes.items()},
        remedies={name: _remedy(one, book) for name, one in book.remedies.items()},
    )


def problems(book: Rulebook, own: Collection[str] = ()) -> Iterator[str]:
    """Ids under `formerly` that a rule bears, one message each; a user's `own` rules may be called as they
    like."""
    borne = {rule.id for rule in _rules(book)} - {*own}
    for rule in _rules(book):
        for name in rule.formerly:
            if name in borne:
                yield f"{rule.id}: `formerly` names {name!r}, which is the id of a rule"


def _old_ids(book: Rulebook) -> dict[str, tuple[str, ...]]:
    """Each id of before, with the ids of the rules that stand for it."""
    found: dict[str, tuple[str, ...]] = {}
    borne = {rule.id for rule in _rules(book)}
    for rule in _rules(book):
        for name in rule.formerly:
            if name not in borne:
                found[name] = (*found.get(name, ()), rule.id)
    return found


def _rules(book: Rulebook) -> Iterator[Renamed]:
    for sort in (book.symptoms, book.causes, book.remedies, book.signatures):
        yield from sort.values()


def _now(book: Rulebook, names: tuple[str, ...], known: Collection[str]) -> tuple[str, ...]:
    """As `current`, but an id that stands for nothing here is kept, to be told of by `rules check`."""
    return tuple(new for name in names for new in current((name,), book, known) or (name,))


def _cause(one: Cause, book: Rulebook) -> Cause:
    produces = {
        new: rate for name, rate in one.produces.items() for new in _now(book, (name,), book.symptoms)
    }
    given = tuple(replace(part, about=_now(book, part.about, book.symptoms)) for part in one.given)
    return replace(one, produces=produces, given=given, remedies=_now(book, one.remedies, book.remedies))


def _remedy(one: Remedy, book: Rulebook) -> Remedy:
    return replace(one, verify=replace(one.verify, gone=_now(book, one.verify.gone, book.symptoms)))
