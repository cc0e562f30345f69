"""What a rule says of itself, as Markdown: a rule is its own documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hrmdoc.resources import data_dir
from hrmdoc.rulebook import Cause, Remedy, Rulebook, Signature, SymptomRule, When


def explanation(name: str, book: Rulebook) -> str | None:
    """The page for the symptom, cause, remedy or signature of that id, None when there is none."""
    if name in book.symptoms:
        return "\n".join(_symptom(book.symptoms[name], book))
    if name in book.causes:
        return "\n".join(_cause(book.causes[name], book))
    if name in book.remedies:
        return "\n".join(_remedy(book.remedies[name]))
    if name in book.signatures:
        return "\n".join(_signature(book.signatures[name]))
    return None


def _symptom(rule: SymptomRule, book: Rulebook) -> Iterator[str]:
    yield f"# {rule.title}\n\n`{rule.id}` · symptom · {rule.severity} · {rule.status}\n"
    if rule.summary:
        yield f"{rule.summary}\n"
    yield f"**Present when** {condition(rule.when)}.\n"
    for variant in rule.variants:
        where = ", ".join((*variant.kinds, *variant.frameworks))
        yield f"* for {where}: enter {variant.enter if variant.enter is not None else rule.when.enter}"
    signatures = [s for s in book.signatures.values() if s.symptom == rule.id]
    yield from _listed("Lines that show it", (f"`{s.example[:160]}`" for s in signatures[:6]))
    yield from _listed("When it is wrong", rule.falsepositives)
    causes = [(c.produces[rule.id], c) for c in book.causes.values() if rule.id in c.produces]
    ranked = sorted(causes, key=lambda pair: -pair[0])
    yield from _listed("Causes that produce it", (f"{c.title} (`{c.id}`, in {w:.0%} of its cases)" for w, c in ranked[:8]))
    yield from _page(rule.playbook)
    yield from _listed("References", rule.references)


def condition(when: When) -> str:
    """A `when` in words."""
    form = when.form()
    if form == "detector":
        role = when.role if isinstance(when.role, str) else " or ".join(when.role or ())
        against = f" against {when.against}" if when.against else ""
        sign = "at or above" if when.direction == "above" else "at or below"
        return (
            f"the {when.detector} score of {role}{against} stays {sign} {when.enter} for {when.patience} point(s), "
            f"judged from {when.min_points} points on"
        )
    if when.lines is not None:
        return f"at least {when.lines.at_least} log line(s) match one of its signatures"
    if when.check is not None:
        return f"`{when.check}`"
    if when.event is not None:
        return f"at least {when.event.at_least} {when.event.kind} event(s) occur"
    if when.silence is not None:
        return f"nothing is written for {when.silence.factor:g} times the usual interval and at least {when.silence.floor:g} s"
    if when.absent is not None:
        return f"it is not so that {condition(when.absent)}"
    joint = " and " if when.all is not None else " or "
    return joint.join(condition(inner) for inner in (when.all if when.all is not None else when.any) or ())


def _cause(cause: Cause, book: Rulebook) -> Iterator[str]:
    tag = "benign cause" if cause.benign else "cause"
    yield f"# {cause.title}\n\n`{cause.id}` · {tag} · prior {cause.prior:.3g}\n"
    if cause.summary:
        yield f"{cause.summary}\n"
    if cause.check:
        yield f"**To confirm:** {cause.check}\n"
    shown = sorted(cause.produces.items(), key=lambda pair: -pair[1])
    yield from _listed("What it shows as", (f"`{name}` in {w:.0%} of cases" for name, w in shown))
    remedies = [book.remedies[name] for name in cause.remedies if name in book.remedies]
    yield from _listed("Remedies", (f"{r.title} (`{r.id}`, {r.kind}, {r.risk})" for r in remedies))
    yield from _page(cause.playbook)
    yield from _listed("References", cause.references)


def _remedy(remedy: Remedy) -> Iterator[str]:
    yield f"# {remedy.title}\n\n`{remedy.id}` · {remedy.kind} · risk: {remedy.risk}\n\n{remedy.why}\n"
    yield from _listed(
        "Changes", (f"`{c.key}`: {c.op} {c.value if c.value is not None else ''}".rstrip() for c in remedy.changes)
    )
    if remedy.action:
        yield f"**Action on a live run:** `{remedy.action}`\n"
    yield from _listed("Steps", remedy.steps)
    verify = remedy.verify
    gone = ", ".join(f"`{name}`" for name in verify.gone)
    within = f" within {verify.within}" if verify.within else ""
    yield f"**Verified when** {gone or 'the symptom'} is gone{within}. {verify.also}\n"
    yield from _listed("References", remedy.references)


def _signature(signature: Signature) -> Iterator[str]:
    yield f"# {signature.id}\n\nsignature of `{signature.symptom}` · {signature.role}{' · fatal' if signature.fatal else ''}\n"
    yield f"{signature.means}\n\n**Example:** `{signature.example}`\n\n**Pattern:** `{signature.pattern}`\n"
    yield from _listed("Not this", (f"`{line}`" for line in signature.counterexamples))
    yield from _listed("References", signature.references)


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"* {item}" for item in items]
    if lines:
        yield f"\n**{title}**\n"
        yield from lines
        yield ""


def _page(playbook: str) -> Iterator[str]:
    """The playbook's page without its front matter, headings one level down."""
    path = data_dir("playbooks") / f"{playbook.partition('#')[0]}.md"
    if not path.is_file():
        return
    text = path.read_text("utf-8")
    if text.startswith("---\n"):
        text = text.partition("\n---\n")[2]
    yield "\n---\n"
    yield "\n".join("#" + line if line.startswith("#") else line for line in text.strip().splitlines())
