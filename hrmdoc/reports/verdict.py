"""The verdict in words: what every report says first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from hrmdoc.analysis import Analysis
from hrmdoc.diagnosis.diagnose import Hypothesis
from hrmdoc.diagnosis.hypotheses import EVEN, chance
from hrmdoc.examination.course import COURSE, LOG_RATIO
from hrmdoc.examination.symptom import Symptom
from hrmdoc.reports.layout import cut, place, safe
from hrmdoc.rulebook import EVERY_SYMPTOM

SEVEREST = ("critical", "warning", "no_data", "incomplete", "info", "healthy")
SICK = ("warning", "critical")
COLOURS = {
    "critical": "bold red",
    "warning": "yellow",
    "info": "cyan",
    "healthy": "bold green",
    "no_data": "magenta",
    "incomplete": "magenta",
}
ICONS = {"critical": "✗", "warning": "!", "info": "·", "healthy": "✓", "no_data": "?", "incomplete": "?"}
NAMED = 0.05
"""Causes below this probability are named only when they lead."""
PROBABLE = 0.2
"""Below this probability a cause is one of several and no headline."""
AHEAD = 1.7
"""More than so many times as probable as the next is no longer one of several that are about as likely."""
NEARLY = 0.7
"""From this share of the leading probability on the second cause is named beside the first."""
ODDITIES = 3
"""How many oddities a headline names."""


def likely(analysis: Analysis) -> list[Hypothesis]:
    """The causes that are worth naming; benign ones only where they lead."""
    return [
        h for h in analysis.diagnosis.hypotheses if h.rank == 1 or (h.probability >= NAMED and not h.benign)
    ]


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 value`, `5,177 values`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def sentence(analysis: Analysis) -> str:
    """The verdict in one sentence."""
    if analysis.verdict == "no_data":
        return _not_enough(analysis)
    if analysis.verdict in SICK:
        worst = headline(analysis)
        over = ", by now over" if worst.state == "resolved" else ""
        return (
            worst.title
            + (f", from {worst.unit} {worst.first_step}" if worst.first_step is not None else "")
            + over
        )
    return _without_fault(analysis)


def _not_enough(analysis: Analysis) -> str:
    metrics = len(analysis.run.series)
    lines = max(analysis.run.line_count, int("text" in analysis.run.formats))  # a last line may have no end
    if any(series.role.role for series in analysis.run.series.values()):
        points = counted(analysis.run.points, "value")
        return f"not enough to judge: {points}, and no loss, score or reward of three points or more"
    if metrics:
        return (
            f"what its {counted(metrics, 'metric')} mean is unknown; say it, as with --role train.loss=NAME"
        )
    if only_settings(analysis):
        return "settings alone, no log of a run: preflight checks them"
    if (scheduled := _scheduled(analysis)) is not None:
        return f"the scheduler says that {scheduled}; nothing of the training itself was read"
    return (
        f"{counted(lines, 'line')} without a metric or a message that the rules know"
        if lines
        else _nothing_read(analysis)
    )


def _scheduled(analysis: Analysis) -> str | None:
    """What the scheduler says of the job, None where it says nothing."""
    status = analysis.run.fact("run.exit_status")
    if status is not None:
        return "it finished" if status.value == 0 else f"it ended with status {status.value}"
    alive = analysis.run.fact("run.process_alive")
    return "it runs" if alive is not None and alive.value is True else None


def _without_fault(analysis: Analysis) -> str:
    rules = len(analysis.symptoms) - len(analysis.not_evaluated)
    shown = [symptom.id for symptom in analysis.findings]
    known = [name for name in shown if name in analysis.acknowledged]
    odd = [name for name in shown if name not in known]
    if analysis.verdict == "incomplete":
        first, rest = analysis.unread[0], len(analysis.unread) - 1
        others = f", and {counted(rest, 'more place')}" if rest else ""
        missing = f"{place(first.file, first.line)}: {safe(first.what, 160)}{others}"
        return f"not all could be read ({missing}); the rest shows no fault"
    said = f"no fault found in {counted(analysis.run.points, 'value')} by {counted(rules, 'rule')}"
    if known:
        said = f"{said} but what is acknowledged: {_named(known)}"
    if (ended := _unfinished(analysis)) is not None:
        return f"{safe(ended.evidence)}; {said}"
    if not odd:
        return said
    if doubted := [name for name in odd if name in analysis.diagnosis.doubted]:
        shows = "show" if len(doubted) > 1 else "shows"
        return f"{_named(doubted)} {shows}, but {_experience(analysis)}; no alarm"
    return f"{said}; {counted(len(odd), 'harmless oddity', 'harmless oddities')}: {_named(odd)}"


def _named(ids: Sequence[str]) -> str:
    """The first of some symptoms, and how many more there are."""
    more = f" and {len(ids) - ODDITIES} more" if len(ids) > ODDITIES else ""
    return ", ".join(ids[:ODDITIES]) + more


def _experience(analysis: Analysis) -> str:
    """How often runs with such a course had a fault."""
    known = analysis.book.experience[COURSE]
    odds = known.faults / (known.runs - known.faults) * math.exp(analysis.situation.facts[LOG_RATIO])
    return f"of {known.runs} labelled runs those with such a course had a fault in {odds / (1 + odds):.0%}"


def _unfinished(analysis: Analysis) -> Symptom | None:
    """What tells that a run without a fault did not come to its end, if anything does."""
    rules = analysis.book.symptoms
    return next((one for one in analysis.findings if one.id in rules and rules[one.id].run_state), None)


def _nothing_read(analysis: Analysis) -> str:
    damages = analysis.run.damages
    if not damages:
        return "nothing could be read"
    where = place(damages[0].file, damages[0].line)
    return f"nothing could be read: {where + ': ' if where else ''}{safe(damages[0].what, 240)}"


def only_settings(analysis: Analysis) -> bool:
    """Whether nothing was read but configs."""
    return bool(analysis.run.formats) and set(analysis.run.formats) <= {"configs"}


def headline(analysis: Analysis, cause: Hypothesis | None = None) -> Symptom:
    """The symptom that a sick run is summed up by: of the most severe one that the cause explains, by default
    the leading one."""
    shown = analysis.present
    worst = [s for s in shown if analysis.severity(s) == analysis.verdict] or shown
    leading = cause or next(iter(_blamed(analysis)), None)
    explained = [s for s in worst if leading is not None and _explains(leading, s, analysis)]
    return (explained or worst)[0]


def _blamed(analysis: Analysis) -> list[Hypothesis]:
    return [one for one in likely(analysis) if not one.benign]


def _explains(hypothesis: Hypothesis, symptom: Symptom, analysis: Analysis) -> bool:
    produces = analysis.book.causes[hypothesis.cause].produces
    return symptom.id in produces or EVERY_SYMPTOM in produces


def blame(analysis: Analysis) -> str:
    """Who is most probably to blame, "" where nothing is wrong."""
    if analysis.verdict not in SICK or not (blamed := _blamed(analysis)):
        return ""
    worst = headline(analysis)
    explaining = [one for one in blamed if _explains(one, worst, analysis)]
    if not explaining:
        return "no known cause explains it"
    leading = explaining[0]
    if leading.cause == "unknown":
        return "the cause is none that the rules know"
    if leading.probability < PROBABLE:
        return _improbable(analysis, explaining)
    rival = _rival(leading, explaining)
    second = "" if rival is None else f", or {rival.title} ({rival.probability:.0%})"
    return f"{chance(leading.probability)}: {leading.title} ({leading.probability:.0%}){second}"


def _improbable(analysis: Analysis, explaining: Sequence[Hypothesis]) -> str:
    """What is said where the leading cause is improbable: its name where it is well ahead of the next, or
    where something that the rules do not know is likelier than all of them."""
    leading = explaining[0]
    other = next((h.probability for h in analysis.diagnosis.hypotheses if h.cause == "unknown"), 0.0)
    second = next((one.probability for one in explaining[1:] if one.cause != "unknown"), 0.0)
    if other > max(leading.probability, PROBABLE) or leading.probability > AHEAD * second:
        return f"no known cause fits well; the nearest: {leading.title} ({leading.probability:.0%})"
    return "several causes are about as likely"


def _rival(leading: Hypothesis, blamed: Iterable[Hypothesis]) -> Hypothesis | None:
    """The cause that is nearly as probable as a leading one which is no more than one of several."""
    others = (one for one in blamed if one is not leading and one.cause != "unknown")
    rival = next(others, None)
    near = rival is not None and rival.probability >= max(PROBABLE, NEARLY * leading.probability)
    return rival if near and leading.probability < EVEN else None


def of_ranks(analysis: Analysis) -> str:
    """Which of several ranks failed first, are behind, or left no record; "" where nothing is wrong or there
    is one rank."""
    run = analysis.run
    size = analysis.situation.facts.get("world_size")
    first = run.fact("ranks.first_failed")
    several = (
        len(run.ranks) > 1 or (isinstance(size, int) and size > 1) or (first is not None and first.value)
    )
    if analysis.verdict not in SICK or not several:
        return ""
    parts, named = [], ""
    if first is not None:
        named = str(first.value)
        where = place(first.file, first.line)
        verb = "failed first" if run.fact("ranks.silent") is None else "fell silent first"
        parts.append(f"rank {named} {verb}" + (f" ({where})" if where else ""))
    lists = {
        "ranks.silent": "silent while others miss a peer: rank",
        "ranks.behind": "behind the others: rank",
        "ranks.missing": "no record of rank",
    }
    for key, words in lists.items():
        fact = run.fact(key)
        parts += (
            [f"{words} {cut(str(fact.value), 40)}"] if fact is not None and str(fact.value) != named else []
        )
    return "; ".join(parts)


def checked(analysis: Analysis) -> list[str]:
    """The topics of the rules that were evaluated, the largest first, with how many rules of each."""
    topics = Counter(s.playbook.partition("#")[0] for s in analysis.symptoms if s.state != "not_evaluated")
    return [f"{topic.replace('-', ' ')} ({count})" for topic, count in topics.most_common() if topic]
