"""Following tracebacks through logs in which several ranks may write at once."""

from __future__ import annotations

import pytest

from hrmdoc.examination.tracebacks import Place, TracebackTracker, rank_of, without_prefix
from hrmdoc.record.records import Line

HEADER = "Traceback (most recent call last):"


def places(*texts: str) -> list[Place]:
    tracker = TracebackTracker()
    return [tracker.take(Line(text, "a.log", number)) for number, text in enumerate(texts, 1)]


def ends(*texts: str) -> list[tuple[str, tuple[str, ...]]]:
    """Lines that end a traceback, with its frames; every one of them began with its header."""
    found = [
        (text, place.frames)
        for text, place in zip(texts, places(*texts), strict=True)
        if place.frames is not None
    ]
    assert all(frames[0] == HEADER[:-1] for _, frames in found)
    return [(text, frames[1:]) for text, frames in found]


def test_lines_outside_are_neither_inside_nor_an_end() -> None:
    assert places("step 1 loss 2", "  indented", "ValueError: x") == [Place()] * 3


def test_the_line_that_ends_a_traceback_carries_its_frames() -> None:
    main, run = '  File "a.py", line 1, in main', '  File "b.py", line 2, in run'
    text = (HEADER, main, "    run()", run, "    ~~~^^^", "", "ValueError: x", "ValueError: y")
    assert ends(*text) == [("ValueError: x", ("a.py main", "b.py run"))]


def test_frames_count_also_where_their_indentation_was_lost() -> None:
    assert ends(HEADER, 'File "a.py", line 1, in main', "ValueError: x") == [
        ("ValueError: x", ("a.py main",))
    ]


def test_ranks_that_write_into_one_file_are_told_apart() -> None:
    begin = (f"[rank0]: {HEADER}", f"[rank1]: {HEADER}")
    text = (
        *begin,
        '[rank1]:   File "b.py", line 1, in g',
        '[rank0]:   File "a.py", line 1, in f',
        "[rank1]: E1",
        "[rank0]: E0",
    )
    assert ends(*text) == [("[rank1]: E1", ("b.py g",)), ("[rank0]: E0", ("a.py f",))]


def test_a_traceback_quoted_in_a_summary_ends_at_its_own_indentation() -> None:
    text = (
        f"  traceback : {HEADER}",
        '    File "a.py", line 8, in main',
        "      boom()",
        "  RuntimeError: boom",
        "=====",
    )
    assert ends(*text) == [("  RuntimeError: boom", ("a.py main",))]


def test_only_the_head_of_a_traceback_may_stand_at_the_margin() -> None:
    frame = '      File "a.py", line 1, in f'
    assert ends(HEADER, frame, "        raise x", "    ValueError: x") == [("    ValueError: x", ("a.py f",))]


def test_the_boxes_of_rich_are_read() -> None:
    box = (
        f"╭───── {HEADER[:-1]} ─────╮",
        "│ /x/train.py:12 in evaluate     │",
        "│ ❱ 12 │   loss.backward()      │",
        "╰──────╯",
    )
    text = (*box, "ValueError: x")
    assert ends(*text) == [("ValueError: x", ("/x/train.py evaluate",))]


def test_a_traceback_whose_end_never_comes_is_forgotten() -> None:
    tracker = TracebackTracker()
    tracker.take(Line(HEADER, "a.log", 1))
    assert tracker.take(Line("ValueError: x", "a.log", 5000)) == Place()


def test_a_log_may_begin_inside_a_traceback() -> None:
    frame = '  File "a.py", line 1, in f'
    assert places("[rank0]: " + frame, "[rank0]:     x()", "[rank0]: ValueError: x")[-1] == Place(
        frames=("a.py f",), quoted="x()"
    )


def test_lines_that_were_cut_out_do_not_end_a_traceback() -> None:
    text = (HEADER, '  File "a.py", line 1, in f', "< truncated lines 3-90 >", "ValueError: x")
    assert [line for line, _ in ends(*text)] == ["< truncated lines 3-90 >", "ValueError: x"]


def test_a_chain_ends_twice() -> None:
    frame = '  File "a.py", line 1, in f'
    between = "During handling of the above exception, another exception occurred:"
    text = (HEADER, frame, "KeyError: 1", "", between, "", HEADER, frame, "ValueError: x")
    assert [line for line, _ in ends(*text)] == ["KeyError: 1", "ValueError: x"]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("[rank3]:   File", "  File"),
        ("[trainer0|0]:ValueError: x", "ValueError: x"),
        ("(worker pid=12, ip=10.0.0.1) Trace", "Trace"),
        ("2026-01-02T03:04:05.123Z Trace", "Trace"),
        ("[rank0]: [rank0]: x", "x"),
        ("10.141.246.153:   File", "  File"),
        ("2026-01-02T03:04:05.123456789Z stderr F   File", "  File"),
        ("worker-7:   File", "  File"),
        ("trainer-0  | ValueError: x", "ValueError: x"),
        ("worker-7: torch.distributed.DistBackendError: x", "torch.distributed.DistBackendError: x"),
        ("[1,3]<stderr>:ValueError: x", "ValueError: x"),
        ("[2026-01-02 03:04:05,678] ValueError: x", "ValueError: x"),
        ("ERROR 01-02 03:04:05 engine.py:366] ValueError: x", "ValueError: x"),
        ("> ValueError: x", "ValueError: x"),
        ("# [rank3]:   File", "  File"),
        ("# [remark] x", "# [remark] x"),
        ("E       KeyError: 1", "KeyError: 1"),
        ("ERROR    train:train.py:61 KeyError: 1", "KeyError: 1"),
        ("wandb: KeyError: 1", "KeyError: 1"),
        ("Training failed with exception: KeyError: 1", "KeyError: 1"),
        ("sample 7 failed: AssertionError: x", "sample 7 failed: AssertionError: x"),
        ("# ValueError: x", "# ValueError: x"),
        ("wandb: Currently logged in", "wandb: Currently logged in"),
        ("  indented", "  indented"),
        ("[INFO] x", "[INFO] x"),
    ],
)
def test_only_what_a_launcher_puts_before_a_line_is_taken_off(text: str, bare: str) -> None:
    assert without_prefix(text) == bare


def test_the_rank_of_a_record_wins_over_that_of_its_text() -> None:
    assert rank_of(Line("[rank3]: x", "a.log", 1)) == 3
    assert rank_of(Line("[rank3]: x", "a.log", 1, rank=5)) == 5
    assert rank_of(Line("x", "a.log", 1)) is None


def test_a_traceback_without_an_end_is_told_by_its_first_line() -> None:
    tracker = TracebackTracker()
    for number, text in enumerate(("fine", HEADER, '  File "a.py", line 3, in f', "    g()"), 1):
        tracker.take(Line(text, "a.log", number))
    assert [line.line for line in tracker.close()] == [2]
    assert tracker.close() == []


def test_a_message_that_could_not_be_logged_ends_nothing() -> None:
    frame = '  File "a.py", line 3, in f'
    logged = (
        "--- Logging error ---",
        HEADER,
        frame,
        "TypeError: not all arguments converted",
        "Call stack:",
        frame,
        "    g()",
    )
    assert ends(*logged) == []
    assert [line for line, _ in ends(*logged, "Arguments: ()", HEADER, frame, "KeyError: 1")] == [
        "KeyError: 1"
    ]


def test_an_exception_that_python_ignored_ends_nothing() -> None:
    ignored = (
        "Exception ignored in: <function f at 0x7f>",
        HEADER,
        '  File "a.py", line 3, in f',
        "AttributeError: x",
    )
    assert ends(*ignored) == []


def test_a_headless_traceback_that_stands_apart_from_the_margin_ends_at_its_exception() -> None:
    lines = ('18:46:44  File "a.py", line 3, in f', "18:46:44    g()", "18:46:44  KeyError: 'x'")
    assert [place.frames for place in places(*lines)] == [None, None, ("a.py f",)]
