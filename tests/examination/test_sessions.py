"""How far apart lines may stand that belong together: messages, tracebacks, and the end of a log."""

from __future__ import annotations

import pytest

from hrmdoc.examination.cases.examples import check_examples, log_line, matched
from hrmdoc.examination.signatures import SignatureMatcher
from hrmdoc.examination.tracebacks import HEADER, TracebackTracker
from hrmdoc.record.records import Line
from hrmdoc.rulebook import Rulebook, Signature, SymptomRule, When

HEAD = f"{HEADER}:"
FRAME = '  File "a.py", line 1, in main'


def signature(name: str, pattern: str, literal: str, example: str = "", **more: object) -> Signature:
    return Signature(name, name, pattern, (literal,), example or literal, **more)  # type: ignore[arg-type]


KNOWN = (
    signature("memory", "out of memory", "out of memory"),
    signature("quiet", "went quiet", "went quiet", fatal=False),
    signature("any", r"^[A-Z]\w+Error", "Error", traceback="^Traceback", fallback=True),
    signature("cut", r"^Traceback", HEADER, fallback=True),
    signature("bare", r"^[A-Z]\w+Error: \S", "Error: ", fallback=True),
)
BOOK = Rulebook(signatures={one.id: one for one in KNOWN})
MATCHER = SignatureMatcher(BOOK)


def told(*lines: tuple[int, str], count: int) -> list[str]:
    """What a session says of a log of so many lines, in its course and at its end."""
    session = MATCHER.session()
    at_once = [one for number, text in lines for one in session.match(Line(text, "a.log", number))]
    late = [one for _, one in session.close(count)]
    return [one.signature.id for one in (*at_once, *late)]


@pytest.mark.parametrize(("count", "counts"), [(60, True), (61, False)])
def test_an_exception_without_a_traceback_counts_where_hardly_a_line_follows(
    count: int, counts: bool
) -> None:
    assert told((10, "ValueError: no"), count=count) == (["bare"] if counts else [])


def test_of_many_exceptions_without_a_traceback_the_last_fifty_are_kept() -> None:
    many = [(number, "ValueError: no") for number in range(1, 61)]
    assert len(told(*many, count=60)) == 50


@pytest.mark.parametrize(("line", "counts"), [(60, False), (61, True)])
def test_a_traceback_that_was_cut_off_behind_the_end_of_a_program_follows_it(line: int, counts: bool) -> None:
    assert told((10, "out of memory"), (line, HEAD), count=99) == ["memory", *(["cut"] if counts else [])]
    assert told((10, "it went quiet"), (line, HEAD), count=99) == ["quiet", "cut"]
    assert told((line, HEAD), count=99) == ["cut"]


def test_an_exception_that_says_nothing_is_told_at_the_end_and_one_that_does_at_once() -> None:
    assert told((1, HEAD), (2, FRAME), (3, "ValueError:"), count=999) == ["any"]
    session = MATCHER.session()
    found = [
        session.match(Line(text, "a.log", at)) for at, text in enumerate((HEAD, FRAME, "ValueError:"), 1)
    ]
    assert found == [[], [], []]
    at_once = MATCHER.session()
    for number, text in enumerate((HEAD, FRAME), 1):
        at_once.match(Line(text, "a.log", number))
    assert [one.signature.id for one in at_once.match(Line("ValueError: no", "a.log", 3))] == ["any"]


def test_a_message_that_comes_once_more_as_a_whole_adds_what_its_first_line_did_not_say() -> None:
    session = MATCHER.session()
    assert session.match(Line("ValueError: see", "a.log", 5)) == []
    whole = Line("ValueError: see\nout of memory", "a.log", 5)
    assert [one.signature.id for one in session.match(whole)] == ["memory"]
    assert session.match(whole) == [], "and adds it once"
    assert session.close(5) == [], "the first line is explained"


@pytest.mark.parametrize(("end", "inside"), [(401, True), (402, False)])
def test_a_traceback_is_waited_for_through_four_hundred_lines(end: int, inside: bool) -> None:
    tracker = TracebackTracker()
    tracker.take(Line(HEAD, "a.log", 1))
    tracker.take(Line(FRAME, "a.log", 2))
    place = tracker.take(Line("ValueError: no", "a.log", end))
    assert (place.frames == (HEADER, "a.py main")) is inside
    assert tracker.close() == []


def test_two_hundred_frames_are_kept_and_the_innermost_quotes_its_source() -> None:
    tracker = TracebackTracker()
    tracker.take(Line(HEAD, "a.log", 1))
    for number in range(2, 260):
        tracker.take(Line(f'  File "a.py", line 1, in f{number}', "a.log", number))
    tracker.take(Line("    raise_it()", "a.log", 260))
    tracker.take(Line("    ^^^^^^^^", "a.log", 261))
    place = tracker.take(Line("ValueError: no", "a.log", 262))
    assert place.frames is not None
    assert (len(place.frames), place.frames[-1]) == (200, "a.py f200")
    assert place.quoted == "raise_it()"


def test_only_the_first_four_thousand_characters_of_a_line_are_looked_at() -> None:
    tracker = TracebackTracker()
    assert tracker.take(Line(" " * (4096 - len(HEADER)) + HEADER, "a.log", 1)).inside
    assert not TracebackTracker().take(Line(" " * (4097 - len(HEADER)) + HEADER, "a.log", 1)).inside


def test_a_line_of_an_example_is_that_of_the_rank_before_it() -> None:
    assert log_line("[rank3]: out of memory", 4, 7) == Line("out of memory", "case.log", 4, rank=3, step=7)
    assert log_line("out of memory", 4) == Line("out of memory", "case.log", 4)
    assert [one.id for one in matched(f"{HEAD}\n{FRAME}\nKeyError: 1\nValueError: 2", MATCHER)] == [
        "any",
        "bare",
    ]


def test_examples_that_do_not_show_their_signature_and_counterexamples_that_do_are_named() -> None:
    wrong = signature("wrong", "went wrong", "went wrong", "all is well", counterexamples=("it went wrong",))
    sound = signature("sound", "went wrong", "went wrong", "it went wrong", counterexamples=("all is well",))
    rules = {
        "wrong": SymptomRule("wrong", "W", When(), "loss", counterexamples=("it went wrong",)),
        "sound": SymptomRule("sound", "S", When(), "loss", counterexamples=("all is well",)),
    }
    book = Rulebook(signatures={"wrong": wrong, "sound": sound}, symptoms=rules)
    told = list(check_examples(book, SignatureMatcher(book), ["wrong", "sound"], ["wrong", "sound"]))
    assert told == [
        ("wrong", "not found in its own example 'all is well'"),
        ("wrong", "found in its counterexample 'it went wrong'"),
        ("sound", None),
        ("sound", None),
        ("wrong", "wrong opens it on its counterexample 'it went wrong'"),
        ("sound", None),
    ]
