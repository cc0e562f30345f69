"""What a rule says of itself, as Markdown: a rule is its own documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from hrmdoc import measures
from hrmdoc.reports.pages import excerpt
from hrmdoc.reports.rule_words import changes, condition
from hrmdoc.rulebook import (
    Cause,
    Change,
    Remedy,
    Restart,
    Rulebook,
    Signature,
    SymptomRule,
    When,
)
from hrmdoc.rulebook.expressions import compile_expression

CAUSES = 8
REMEDIES = 8
RESTART: dict[Restart, str] = {
    "harmless": "it does not hinder; no run ends for it",
    "passes": "it may be gone; a run that goes on from its last checkpoint can come through",
    "interrupted": "nothing failed; the run goes on from its last checkpoint",
    "elsewhere": "start it on another machine; this one is at fault",
    "fix": "it comes back until something is changed",
    "stop": "nothing is gained by going on",
}
FAMILIAR = ("hrm", "hf-trainer", "trl", "axolotl", "lightning", "deepspeed", "distributed-lab", "chimera")
"""Frameworks whose spelling of a key is shown with a remedy."""
Quote = Callable[[str, Iterable[str]], Iterator[str]]
"""What is given of a playbook: its reference, and those of the likely causes."""
Sort = Literal["symptoms", "causes", "remedies", "signatures"]


def explanation(name: str, book: Rulebook) -> str | None:
    """What there is to say of the symptom, cause, remedy, signature or measure of that id, None when there
    is none.

    An id may name a symptom and a cause at once; then both are explained. One of before leads to those that
    stand for it.
    """
    if now := book.formerly.get(name):
        pages_now = (explanation(one, book) or "" for one in now)
        return "\n\n".join((f"`{name}` is no more; see {', '.join(f'`{one}`' for one in now)}.", *pages_now))
    pages: list[Iterator[str]] = []
    if name in book.symptoms:
        pages.append(_symptom(book.symptoms[name], book, _page))
    if name in book.causes:
        pages.append(_cause(book.causes[name], book, _page))
    if name in book.remedies:
        pages.append(_remedy(book.remedies[name], book, _page))
    if name in book.signatures:
        pages.append(_signature(book.signatures[name], book, _page))
    return "\n\n".join("\n".join(page) for page in pages or _measures(name, book)) or None


def entry(sort: Sort, name: str, book: Rulebook) -> str:
    """One rule as it stands in a book that holds its playbook as well: the page is named, not quoted.

    Raises:
        KeyError: there is no rule of that sort and id.
    """
    if sort == "symptoms":
        return "\n".join(_symptom(book.symptoms[name], book, _reference))
    if sort == "causes":
        return "\n".join(_cause(book.causes[name], book, _reference))
    if sort == "remedies":
        return "\n".join(_remedy(book.remedies[name], book, _reference))
    return "\n".join(_signature(book.signatures[name], book, _reference))


def _symptom(rule: SymptomRule, book: Rulebook, page: Quote) -> Iterator[str]:
    yield f"# {rule.title}\n\n`{rule.id}` · symptom · {rule.severity} · {rule.status}\n"
    if rule.summary:
        yield f"{rule.summary}\n"
    yield f"**Present when** {condition(rule.when)}.\n"
    for variant in rule.variants:
        where = ", ".join((*variant.kinds, *variant.frameworks))
        yield f"* for {where}: {changes(variant)}"
    measures = dict.fromkeys(part.detector for part in rule.when.walk() if part.detector)
    yield from _listed("What is measured", (f"`{name}`: {_first_paragraph(name)}" for name in measures))
    signatures = [s for s in book.signatures.values() if s.symptom == rule.id]
    yield from _listed("Lines that show it", (_code(_last_line(s)[:160]) for s in signatures[:6]))
    yield from _listed("When it is wrong", rule.falsepositives)
    causes = [(c.produces[rule.id], c) for c in book.causes.values() if rule.id in c.produces]
    ranked = sorted(causes, key=lambda pair: -pair[0] * pair[1].prior)[:CAUSES]
    yield from _listed(
        "Causes that produce it, commonest first",
        (f"{c.title} (`{c.id}`, in {w:.0%} of its cases)" for w, c in ranked),
    )
    yield from _listed(
        "Remedies", (_offer(name, book) for name in _remedies_for(rule.id, (c for _, c in ranked), book))
    )
    yield from page(rule.playbook, (c.playbook for _, c in ranked))
    yield from _listed("References", rule.references)


def _remedies_for(symptom: str, causes: Iterable[Cause], book: Rulebook) -> list[str]:
    """Remedies of the causes, those first that name the symptom as what must be gone."""
    names = dict.fromkeys(name for cause in causes for name in cause.remedies if name in book.remedies)
    return sorted(names, key=lambda name: symptom not in book.remedies[name].verify.gone)[:REMEDIES]


def _offer(name: str, book: Rulebook) -> str:
    remedy = book.remedies[name]
    return f"{remedy.title} (`{name}`, {remedy.kind}, {remedy.risk})"


def _cause(cause: Cause, book: Rulebook, page: Quote) -> Iterator[str]:
    tag = "benign cause" if cause.benign else "cause"
    yield f"# {cause.title}\n\n`{cause.id}` · {tag} · prior {cause.prior:.3g}\n"
    if cause.summary:
        yield f"{cause.summary}\n"
    if cause.restart is not None:
        yield f"**When the run is started again:** {RESTART[cause.restart]}.\n"
    if cause.check:
        yield f"**To confirm:** {cause.check}\n"
    shown = sorted(cause.produces.items(), key=lambda pair: -pair[1])
    yield from _listed("What it shows as", (f"`{name}` in {w:.0%} of cases" for name, w in shown))
    yield from _listed(
        "Beforehand", (f"{given.odds:g} times as likely where {given.text}" for given in cause.given)
    )
    yield from _listed("Remedies", (_offer(name, book) for name in cause.remedies if name in book.remedies))
    yield from page(cause.playbook, ())
    yield from _listed("References", cause.references)


def _remedy(remedy: Remedy, book: Rulebook, page: Quote) -> Iterator[str]:
    yield f"# {remedy.title}\n\n`{remedy.id}` · {remedy.kind} · risk: {remedy.risk}\n\n{remedy.why}\n"
    yield from _listed("Changes", (_change(change, book) for change in remedy.changes))
    if remedy.action:
        yield f"**Action on a live run:** `{remedy.action}`\n"
    yield from _listed("Steps", remedy.steps)
    verify = remedy.verify
    gone = ", ".join(f"`{name}`" for name in verify.gone)
    within = f" within {verify.within}" if verify.within else ""
    yield f"**Verified when** {gone or 'the symptom'} is gone{within}. {verify.also}\n"
    causes = [cause for cause in book.causes.values() if remedy.id in cause.remedies]
    yield from _listed("Helps against", (f"{cause.title} (`{cause.id}`)" for cause in causes))
    if causes:
        yield from page(max(causes, key=lambda cause: cause.prior).playbook, ())
    yield from _listed("References", remedy.references)


def _change(change: Change, book: Rulebook) -> str:
    """One change with its bounds, and what the key is called where."""
    words = [f"`{change.key}`: {change.op}"]
    words += [f"`{change.value}`"] if change.value is not None else []
    words += [f"at least {change.min:g}"] if change.min is not None else []
    words += [f"at most {change.max:g}"] if change.max is not None else []
    keys = {
        name: book.frameworks[name].config.get(change.key) for name in FAMILIAR if name in book.frameworks
    }
    spelled = ", ".join(f"{name} `{key.keys[0]}`" for name, key in keys.items() if key is not None)
    return " ".join(words) + (f". In {spelled}" if spelled else "")


def _signature(signature: Signature, book: Rulebook, page: Quote) -> Iterator[str]:
    yield (
        f"# {signature.id}\n\nsignature of `{signature.symptom}` · "
        f"{signature.role}{' · fatal' if signature.fatal else ''}\n"
    )
    yield (
        f"{signature.means}\n\n**Example:** {_code(_last_line(signature))}\n\n"
        f"**Pattern:** {_code(signature.pattern)}\n"
    )
    yield from _listed("Not this", (_code(line) for line in signature.counterexamples))
    if signature.symptom in book.symptoms:
        yield from page(book.symptoms[signature.symptom].playbook, ())
    yield from _listed("References", signature.references)


def _last_line(signature: Signature) -> str:
    """The line of its first example that says what went wrong."""
    return signature.shown()[0].splitlines()[-1]


def _measures(name: str, book: Rulebook) -> Iterator[Iterator[str]]:
    """The detector and the function of that name, as far as there are such."""
    if name in measures.detector_names():
        yield _measure(name, book, None)
    if (function := measures.all_functions().get(name)) is not None:
        yield _measure(name, book, function)


def _measure(name: str, book: Rulebook, function: measures.Function | None) -> Iterator[str]:
    """A function, or the detector of that name where there is none."""
    kind = "detector · a score for every point, judged by the thresholds of a rule"
    if function is not None:
        kind = f"function of expressions · one answer, asked of {_asked_of(function)}{_onset_of(function)}"
    yield f"# {name}\n\n{kind}\n\n{measures.describe(name, detector=function is None)}\n"
    yield from _listed(
        "Parameters",
        (
            f"`{one.name}` ({one.type}, default {one.default!r}): {one.text}"
            for one in measures.parameters(name, detector=function is None)
        ),
    )
    uses = _watches if function is None else _calls
    users = [rule.id for rule in book.symptoms.values() if any(uses(part, name) for part in rule.when.walk())]
    yield from _listed("Symptoms that use it", (f"`{user}`" for user in users))


def _asked_of(function: measures.Function) -> str:
    if function.subject == "families":
        return "every series whose name tells its family"
    if function.subject in ("run", "symptom"):
        return f"a {function.subject}"
    roles = "a role" if function.roles == 1 else f"{function.roles} roles"
    unit = "rank" if function.subject in ("ranks", "standings") else "point"
    return f"{roles} with at least {function.points} {unit}{'s' if function.points > 1 else ''}"


def _onset_of(function: measures.Function) -> str:
    """Whether a check that calls it can say since when it holds."""
    if function.subject not in ("values", "curve"):
        return ""
    if function.course is not None:
        return " · known at every point, so that a check tells since when it holds"
    return " · weighs the curve as a whole, so that a check with it cannot tell since when it holds"


def _watches(when: When, name: str) -> bool:
    return when.detector == name


def _calls(when: When, name: str) -> bool:
    return bool(when.check and name in compile_expression(when.check).calls)


def _first_paragraph(detector: str) -> str:
    return measures.describe(detector, detector=True).partition("\n\n")[0]


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"* {item}" for item in items]
    if lines:
        yield f"\n**{title}**\n"
        yield from lines
        yield ""


def _code(text: str) -> str:
    """A text as code, between more backquotes than stand together in it."""
    marks = "`" * (1 + max((len(found) for found in re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{space}{text}{space}{marks}"


def _reference(playbook: str, causes: Iterable[str]) -> Iterator[str]:
    del causes
    yield f"\n**Playbook:** `{playbook}`\n"


def _page(playbook: str, causes: Iterable[str]) -> Iterator[str]:
    """The section that the rule names, what to do and how to verify it; then where the whole page is."""
    text = excerpt(playbook, causes)
    if text:
        yield f"\n---\n\n{text}\n\nWhole page: `playbooks/{playbook.partition('#')[0]}.md`\n"
