"""The matcher of log signatures, on a small rulebook of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.examination.signatures import Session, SignatureMatcher
from hrmdoc.record.records import Line
from hrmdoc.rulebook import Rulebook, Signature


def signature(
    name: str, pattern: str, *literals: str, traceback: str = "", desync: bool = False, fallback: bool = False
) -> Signature:
    return Signature(
        name, name, pattern, literals, literals[0], traceback=traceback, desync=desync, fallback=fallback
    )


REFUSED = r"out of memory\. Tried (?P<requested>[\d.]+ MiB)(?:.*?(?P<free>\d+) free|.*?free (?P<free_2>\d+))?"
BOOK = Rulebook(
    signatures={
        s.id: s
        for s in (
            signature("oom", REFUSED, "out of memory. Tried"),
            signature("memory", r"memory\b", "memory. "),
            signature("number", r"code (?P<code>-?\d+) took (?P<seconds>\d+\.\d+) on (?P<node>\S+)", "code "),
            signature("oom-eval", r"out of memory", "out of memory", traceback=r"(?m) evaluate$"),
            signature("desync", r"waits for (?P<sequence>\d+)(?: (?P<op>[A-Z]+))?", "waits for", desync=True),
            signature(
                "any", r"^(?P<exception>[A-Z]\w+Error)", "Error", traceback="^Traceback", fallback=True
            ),
            signature("cut", r"^Traceback", "Traceback (most recent call last)", fallback=True),
            signature("bare", r"^(?P<exception>[A-Z]\w+Error): \S", "Error: ", fallback=True),
        )
    }
)
HEADER = "Traceback (most recent call last):"


@pytest.fixture
def matcher() -> SignatureMatcher:
    return SignatureMatcher(BOOK)


def ids(matcher: SignatureMatcher | Session, *texts: str, file: str = "a.log") -> list[str]:
    return [m.signature.id for n, text in enumerate(texts, 1) for m in matcher.match(Line(text, file, n))]


def test_a_literal_without_its_pattern_is_no_match(matcher: SignatureMatcher) -> None:
    assert ids(matcher, "code unknown") == []


def test_a_pattern_without_a_literal_is_not_looked_for(matcher: SignatureMatcher) -> None:
    assert ids(matcher, "memory is fine") == []


def test_overlapping_literals_all_lead_to_their_signatures(matcher: SignatureMatcher) -> None:
    assert ids(matcher, "ValueError: out of memory. Tried 5 MiB") == ["oom", "memory"]


@pytest.mark.parametrize(
    "quoted",
    [
        'raise RuntimeError("out of memory. Tried 5 MiB")',
        '    raise RuntimeError("out of memory. Tried 5 MiB")',
        '+    raise RuntimeError("out of memory. Tried 5 MiB")',
        'train/loop.py:12:    logger.warning("out of memory. Tried 5 MiB")',
        "# out of memory. Tried 5 MiB",
        "except MemoryError:  # out of memory. Tried",
        '[rank1]:     raise RuntimeError("out of memory. Tried 5 MiB")',
    ],
)
def test_quoted_source_is_no_event(matcher: SignatureMatcher, quoted: str) -> None:
    assert ids(matcher, quoted) == []


def test_numbers_are_captured_as_numbers_and_words_as_words(matcher: SignatureMatcher) -> None:
    (match,) = matcher.match(Line("exit code -9 took 1.50 on gpu7", "a.log", 1))
    assert match.groups == {"code": -9, "seconds": 1.5, "node": "gpu7"}


def test_an_alternative_place_of_a_group_goes_by_the_name_of_the_group(matcher: SignatureMatcher) -> None:
    first = matcher.match(Line("out of memory. Tried 5 MiB, 3 free", "a.log", 1))[0].groups
    second = matcher.match(Line("out of memory. Tried 5 MiB, free 3", "a.log", 1))[0].groups
    assert first == second == {"requested": "5 MiB", "free": 3}


def test_escape_codes_do_not_hide_a_literal(matcher: SignatureMatcher) -> None:
    assert ids(matcher, "out \x1b[1mof\x1b[0m memory. Tried 5 MiB") == ["oom", "memory"]


def test_only_the_beginning_of_an_endless_line_is_read(matcher: SignatureMatcher) -> None:
    assert ids(matcher, "x" * 100_000 + "out of memory. Tried 5 MiB") == []


def test_lone_surrogates_and_nul_are_taken(matcher: SignatureMatcher) -> None:
    assert ids(matcher, "\udcff\x00 out of memory. Tried 5 MiB") == ["oom", "memory"]


def test_wanted_tells_a_position_in_every_line_that_holds_a_literal(matcher: SignatureMatcher) -> None:
    lines = [
        b"out of memory. Tried",
        b"fine",
        b"exit code 3",
        HEADER.encode(),
        b'  File "a.py", line 3, in f',
        b"fine",
    ]
    block = b"\n".join(lines)
    rows = {block.count(b"\n", 0, position) for position in matcher.wanted(block)}
    assert rows == {0, 2, 3, 4}


@given(
    st.lists(
        st.sampled_from([b"out of memory. Tried", b"code ", b"memory. ", b"x", b"of memory", b"out of "]),
        max_size=12,
    )
)
def test_wanted_misses_no_line_however_literals_overlap(words: list[bytes]) -> None:
    block = b"\n".join(words)
    matcher = SignatureMatcher(BOOK)
    rows = {block.count(b"\n", 0, position) for position in matcher.wanted(block)}
    literals = [literal.encode() for s in BOOK.signatures.values() if s.id != "any" for literal in s.literals]
    assert rows == {row for row, word in enumerate(words) if any(literal in word for literal in literals)}


def test_a_frame_and_the_source_it_quotes_are_no_events(matcher: SignatureMatcher) -> None:
    session = matcher.session()
    assert ids(
        session,
        HEADER,
        '  File "a.py", line 3, in f',
        '    fail("out of memory. Tried 5 MiB")',
        "KeyError: 1",
    ) == ["any"]


def test_the_frames_of_a_traceback_tell_where_it_happened(matcher: SignatureMatcher) -> None:
    training = (HEADER, '  File "a.py", line 3, in train', "RuntimeError: out of memory. Tried 5 MiB")
    evaluation = (
        HEADER,
        '  File "a.py", line 3, in evaluate',
        '  File "b.py", line 4, in forward',
        training[2],
    )
    assert ids(matcher.session(), *training) == ["oom", "memory"]
    assert ids(matcher.session(), *evaluation) == ["oom", "memory", "oom-eval"]


def test_an_exception_outside_a_traceback_is_left_to_the_signatures_that_know_it(
    matcher: SignatureMatcher,
) -> None:
    assert ids(matcher.session(), "KeyError: 1") == []


def test_the_end_of_a_traceback_whose_head_is_missing_is_not_any_exception(matcher: SignatureMatcher) -> None:
    frames = ('  File "a.py", line 3, in evaluate', "    fail()")
    assert ids(matcher.session(), *frames, "KeyError: 1") == []
    assert ids(matcher.session(), *frames, "RuntimeError: out of memory. Tried 5 MiB") == [
        "oom",
        "memory",
        "oom-eval",
    ]


def test_an_exception_that_a_signature_knows_is_not_any_other(matcher: SignatureMatcher) -> None:
    assert "any" not in ids(
        matcher.session(), HEADER, '  File "a.py", line 3, in f', "SomeError: out of memory. Tried 5 MiB"
    )


def test_ranks_that_wait_for_the_same_collective_agree(matcher: SignatureMatcher) -> None:
    assert (
        ids(
            matcher.session(),
            "[rank0]: waits for 7 SUM",
            "[rank1]: waits for 7 SUM",
            "[rank1]: waits for 9 SUM",
        )
        == []
    )


def test_ranks_far_apart_or_at_different_operations_disagree(matcher: SignatureMatcher) -> None:
    assert ids(matcher.session(), "[rank0]: waits for 7", "[rank1]: waits for 70") == ["desync"]
    assert ids(matcher.session(), "[rank0]: waits for 7 SUM", "[rank1]: waits for 7 GATHER") == ["desync"]


def test_sessions_do_not_share_what_they_saw(matcher: SignatureMatcher) -> None:
    assert (
        ids(matcher.session(), "[rank0]: waits for 7") + ids(matcher.session(), "[rank1]: waits for 70") == []
    )


def test_a_rulebook_without_signatures_matches_nothing() -> None:
    matcher = SignatureMatcher(Rulebook())
    assert matcher.wanted(b"out of memory. Tried") == []
    assert ids(matcher.session(), HEADER, "KeyError: 1") == []


def closed(session: Session, *texts: str, lines: int = 0) -> list[str]:
    """What a session tells of these lines at once, and after `/` what it tells at the end."""
    return [
        *ids(session, *texts),
        "/",
        *(match.signature.id for _, match in session.close(lines or len(texts))),
    ]


def test_an_exception_without_a_traceback_is_told_of_only_at_the_end(matcher: SignatureMatcher) -> None:
    assert closed(matcher.session(), "ValueError: no such split") == ["/", "bare"]
    assert closed(matcher.session(), "[rank3]: ValueError: no such split") == ["/", "bare"]


def test_an_exception_far_from_the_end_did_not_end_the_program(matcher: SignatureMatcher) -> None:
    assert closed(matcher.session(), "ValueError: no such split", lines=400) == ["/"]


def test_a_line_that_another_signature_takes_is_no_bare_exception(matcher: SignatureMatcher) -> None:
    assert closed(matcher.session(), "ValueError: out of memory. Tried 5 MiB") == ["oom", "memory", "/"]


def test_a_traceback_that_is_cut_off_is_told_of_at_the_end(matcher: SignatureMatcher) -> None:
    frames = (HEADER, '  File "a.py", line 3, in f', "    g()")
    assert closed(matcher.session(), *frames) == ["/", "cut"]
    assert closed(matcher.session(), *frames, "ValueError: x") == ["any", "/"]


def test_a_traceback_that_is_cut_off_right_behind_what_ended_the_program_tells_nothing_more(
    matcher: SignatureMatcher,
) -> None:
    texts = ("out of memory. Tried 5 MiB", HEADER, '  File "a.py", line 3, in f')
    session = matcher.session()
    assert ids(session, *texts) == ["oom", "memory"]
    assert session.close(len(texts)) == []
    session = matcher.session()
    for number, text in zip((1, 90, 91), texts, strict=True):
        session.match(Line(text, "a.log", number))
    assert [match.signature.id for _, match in session.close(91)] == ["cut"]


def test_what_was_told_at_the_end_is_not_told_again(matcher: SignatureMatcher) -> None:
    session = matcher.session()
    assert closed(session, HEADER) == ["/", "cut"]
    assert session.close(1) == []


FIRST = Line("MyError: out of memory.", "a.log", 2)


@pytest.mark.parametrize(
    "other", [Line("MyError: memory. Tried", "a.log", 2), Line(FIRST.text + " Tried 5 MiB", "a.log", 3)]
)
def test_another_line_is_not_the_whole_of_a_folded_message(other: Line, matcher: SignatureMatcher) -> None:
    session = Session(matcher)
    ids(session, HEADER, '  File "a.py", line 1, in evaluate')
    assert [m.signature.id for m in session.match(FIRST)] == ["oom-eval"]
    assert session.match(other) == matcher.match(other)


def test_the_whole_of_a_folded_message_tells_what_its_first_line_did_not(matcher: SignatureMatcher) -> None:
    session = Session(matcher)
    ids(session, HEADER, '  File "a.py", line 1, in evaluate')
    session.match(FIRST)
    whole = Line(FIRST.text + " Tried 5 MiB", "a.log", 2)
    assert [m.signature.id for m in session.match(whole)] == ["oom", "memory"]
    assert session.match(whole) == []


def test_an_exception_that_is_known_once_it_is_whole_is_not_any_other(matcher: SignatureMatcher) -> None:
    session = Session(matcher)
    assert session.match(Line("MyError: code 7 took 1.5", "a.log", 1)) == []
    assert [m.signature.id for m in session.match(Line("MyError: code 7 took 1.5 on node", "a.log", 1))] == [
        "number"
    ]
    assert session.close(2) == []


def test_an_exception_whose_message_stands_below_is_what_that_message_says(matcher: SignatureMatcher) -> None:
    session = Session(matcher)
    ids(session, HEADER, '  File "a.py", line 1, in f')
    first = Line("MyError:", "a.log", 2)
    assert session.match(first) == []
    assert [m.signature.id for m in session.match(Line("MyError: code 7 took 1.5 on node", "a.log", 2))] == [
        "number"
    ]
    assert session.close(9) == []


def test_an_exception_without_any_message_is_told_of_at_the_end(matcher: SignatureMatcher) -> None:
    assert closed(matcher.session(), HEADER, '  File "a.py", line 1, in f', "ValueError:", lines=400) == [
        "/",
        "any",
    ]


def test_a_traceback_that_begins_in_the_line_of_a_known_message_hides_nothing_of_it(
    matcher: SignatureMatcher,
) -> None:
    assert closed(matcher.session(), f"MyError: out of memory. Tried 5 MiB {HEADER}:")[-2:] == [
        "oom",
        "memory",
    ]
