"""The conditions of rules in words."""

from __future__ import annotations

from hrmdoc.rulebook import EventWhen, Variant, When


def condition(when: When) -> str:
    """A `when` in words; a condition that joins others stands in brackets inside another one."""
    form = when.form()
    if form == "detector":
        return _detected(when)
    if when.lines is not None:
        count = when.lines.at_least
        over = "; it is over where the program says that it goes on" if when.lines.got_over else ""
        matched = (
            f"at least {count} log lines match its signatures"
            if count > 1
            else "a log line matches one of its signatures"
        )
        return matched + over
    if when.check is not None:
        return f"`{when.check}`"
    if when.event is not None:
        return _happened(when.event)
    if when.silence is not None:
        return (
            f"nothing is written for {when.silence.factor:g} times the usual interval and at least "
            f"{when.silence.floor:g} s"
        )
    inner = [f"({condition(part)})" if len(part.parts) > 1 else condition(part) for part in when.parts]
    if when.absent is not None:
        return f"it is not so that {inner[0]}"
    return (" and " if when.all is not None else " or ").join(inner)


def _detected(when: When) -> str:
    role = when.role if isinstance(when.role, str) else " or ".join(when.role or ())
    against = f" against {when.against}" if when.against else ""
    sign = "at or above" if when.direction == "above" else "at or below"
    lasts = (
        f"is {sign} {when.enter}"
        if when.patience == 1
        else f"stays {sign} {when.enter} for {when.patience} points"
    )
    since = f", judged from {when.min_points} points on" if when.min_points > 1 else ""
    return f"the {when.detector} score of {role}{against} {lasts}{since}"


def _happened(event: EventWhen) -> str:
    what = (
        f"at least {event.at_least} {event.kind} events occur"
        if event.at_least > 1
        else f"a {event.kind} event occurs"
    )
    matching = f" whose text matches `{event.pattern}`" if event.pattern else ""
    return what + matching + (f" within {event.within_steps} steps" if event.within_steps else "")


def changes(variant: Variant) -> str:
    """What a variant sets: `enter 0.7, min_points 100`."""
    thresholds = {
        name: getattr(variant, name) for name in ("enter", "leave", "patience", "min_points", "severity")
    }
    return ", ".join(
        f"{name} {value}" for name, value in {**variant.with_, **thresholds}.items() if value is not None
    )
