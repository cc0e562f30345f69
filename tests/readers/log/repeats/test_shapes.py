"""Lines of a known shape are read from their numbers alone, and give what each line by itself gives."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hrmdoc.readers.log.formats.base import Again
from hrmdoc.readers.log.grammar.numbers import spans_of, split_numbers
from hrmdoc.readers.log.grammar.template import Plans
from hrmdoc.readers.log.lines.clocks import Clocks
from hrmdoc.readers.log.lines.stream import Splitter
from hrmdoc.readers.log.repeats.layout import Layout
from hrmdoc.readers.log.repeats.outlines import Outlines
from hrmdoc.readers.log.repeats.shapes import Recipe, Shape, Shapes
from tests.readers.log.lines.test_stream import everything
from tests.readers.log.metrics import points
from tests.readers.log.test_formats import LINES

NUMBERS = st.sampled_from(
    ["1", "0.25", "-3", "+7", "1e-4", "12,345", "nan", "inf", ".5", "1.", "007", "-0.0", "3.1e+05", "9" * 30]
)
GAPS = st.sampled_from(
    [" ", ": ", ", lr ", "/", " | norm: ", "ms, mfu ", "-", "e", ".", ",", " -", "=", "%", "v", " nan is "]
)
PREFIXES = st.sampled_from(
    [
        "",
        "[rank{0}]: ",
        "2026-01-02 03:{1:02d}:{0:02d},{2} INFO [rank{0}] trainer: ",
        "I0102 03:04:{0:02d}.{2} 139 loop.py:48] ",
        "[{2}/{1}] ",
        "Nov  2 03:{1:02d}:{0:02d} node7 train[{2}]: ",
        "\x1b[3{0}m[01/02 03:04:{1:02d}]\x1b[0m ",
        "03:{1:02d}:{0:02d} | ",
    ]
)
MESSAGES = st.sampled_from(
    [
        "step {0} | loss {1}.{2} | grad norm {2}.5 | lr 3e-0{0}",
        "Epoch {0}: loss={1}.25, acc={2}%",
        "epoch {1} [{0}/64] loss: {2}.5",
        "Epoch: [{0}][{1}/2{2}] Loss {2}.5 ({1}.5)",
        "{{'loss': {1}.5, 'learning_rate': {0}e-05, 'epoch': 0.{2}}}",
        "{{'eval_loss': {1}.5, 'epoch': {2}.0}}",
        "{{'loss': '{1}.5', 'step': {2}, 'note': 'at {0}'}}",
        " {0}%|##  | {1}/999 [00:0{0}<11:22, {2}.5it/s, loss={2}.125]",
        "Epoch {0}: {1}0%|#| {2}/50 [00:01<00:01, 1.1it/s, v_num=3, train_loss=0.{1}]",
        "Saving model checkpoint to runs/checkpoint-{2}",
        "shard {0} loaded in {1}.{2}s",
        "[{0}]\ttrain-rmse:0.{1}\teval-rmse:0.{2}",
        "val loss: {1}.5 top{0} acc: 0.{2}",
        "acc{0} {1} and top {0} acc: 0.{2} at step {1}",
        "restart_count={0} restarting worker group",
        "Validation results:",
        "loss: {1}.{2}",
        "  epoch   train_loss   valid_loss",
        "  {0}   {1}.25   {2}.5",
        "world size: {0}",
        "using fp{1} for {0}",
        "exit code {1}: step {2} loss 0.{0}",
        "epoch{0}, iter{1}, loss: 0.{2}",
        "epoch{1}, top{0} acc: 0.{2}, loss{0} 1.{2}",
        "I | {1:02d}-10 | step={2}, loss=-1.{1}, energy=-1.{2}+0.{1}j",
        "ValueError: bad value {0}",
        "{0} val 3.{1}",
        "box IoU (ground/3D): 0.{1} / 0.{2}",
        "cost time {1}.{2}",
        "Epoch {0} took {2}.{1} s",
        "Batch:{1}/{2} | epoch:{0}/50 | cost of it:{1}.{2}",
        "  loss_kl: nan",
        "step {0} | loss nan | lr 1e-{0}",
        "Epoch {0}/9 - Actor loss : -0.{1}, Critic loss : 0.{2}",
        "loss: 0.{2}{0}7069130344390869",
        "Test: [{0}/50]  loss: {1}.0767 (1.{2})  acc1: 76.{2} (75.{1})",
        "Epoch {0}:  4%|#| 2/50 [00:01<00:01, 1.1it/s, v_num=0, train_loss=nan.0]",
        "===== step {2} =====",
        "step {2}, iteration {1}.jpg: loss {0}.{2}",
    ]
)
MIDNIGHT = 1_767_312_000.0  # 2026-01-02
DIGITS = st.tuples(st.integers(0, 9), st.integers(0, 59), st.integers(0, 2000))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(
    parts=[("", "restart_count={0} restarting worker group"), ("", "Validation results:")],
    fills=[(0, 0, 0)] * 16,
    end="\r",
)
@given(
    parts=st.lists(st.tuples(PREFIXES, MESSAGES), min_size=1, max_size=5),
    fills=st.lists(DIGITS, min_size=16, max_size=60),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_many_lines_at_once_give_what_each_gives_alone(
    parts: list[tuple[str, str]], fills: list[tuple[int, int, int]], end: str, read: Any
) -> None:
    lines = []
    for at, fill in enumerate(fills):
        prefix, message = parts[at % len(parts)]
        lines.append((prefix.format(*fill) + message.format(*fill) + end).encode())
    ends = accumulate(map(len, lines))
    assert everything(read(b"".join(lines))) == everything(read(b"".join(lines), ends))


@pytest.mark.parametrize("name", LINES)
def test_every_format_reads_its_like_as_it_read_the_first(name: str, read: Any) -> None:
    log, _ = LINES[name]
    more = [
        re.sub(r"\d+", lambda found, turn=turn: str(int(found[0]) + turn).zfill(len(found[0])), log)
        for turn in range(1, 30)
    ]
    lines = "".join([log, *more]).encode().splitlines(keepends=True)
    assert everything(read(b"".join(lines))) == everything(read(b"".join(lines), accumulate(map(len, lines))))


def test_what_a_signature_asks_for_is_kept_whatever_the_shape_of_its_line_gave_before(read: Any) -> None:
    from hrmdoc.text.literals import Literals

    log = "".join(f"code {code}: step 1 of the job is done\n" for code in (*range(100, 140), 79, 80, 79))
    run = read(log, wanted=Literals([b"code 79"]))
    assert [line.line for line in run.lines] == [41, 43]


def test_words_that_hold_digits_are_seen_in_lines_of_a_known_shape(read: Any) -> None:
    log = "".join(f"{step} conf{step % 3} 0.5 f{step % 2} = 0.25\n" for step in range(60))
    lines = log.encode().splitlines(keepends=True)
    assert everything(read(log)) == everything(read(log, accumulate(map(len, lines))))


def test_a_line_of_a_known_shape_has_the_time_and_the_rank_of_its_own(read: Any) -> None:
    log = "".join(
        f"2026-01-02 03:{at // 60:02d}:{at % 60:02d},{at:03d} INFO [rank{at % 12}] step {at} loss {at}.5\n"
        for at in range(200)
    )
    run = read(log)
    assert len(run.ranks) == 12
    for key, series in run.series.items():
        assert (series.steps % 12 == key.rank).all()
        assert (series.values == series.steps + 0.5).all()
        assert series.times.tolist() == pytest.approx(MIDNIGHT + 3 * 3600 + series.steps * 1.001, abs=1e-3)


@example([(" -", "-3", "1")])
@given(st.lists(st.tuples(GAPS, NUMBERS, NUMBERS), min_size=1, max_size=6))
def test_numbers_whose_places_are_known_stand_there_with_any_digits(
    parts: list[tuple[str, str, str]],
) -> None:
    line = "step" + "".join(gap + number for gap, number, _ in parts) + parts[0][0]
    numbers = split_numbers(line)[1::2]
    spans = spans_of(line, numbers)
    if spans is None:
        return
    assert [line[start:end] for start, end in spans] == numbers
    wider = "".join(
        re.sub(r"\d+", "98765", part) if at % 2 else part for at, part in enumerate(split_numbers(line))
    )
    assert split_numbers(wider)[::2] == split_numbers(line)[::2]


@given(st.lists(st.tuples(GAPS, NUMBERS), min_size=1, max_size=6))
def test_numbers_whose_places_are_known_stand_there_with_any_digits_between_them(
    parts: list[tuple[str, str]],
) -> None:
    def bare(gaps: list[str]) -> list[str]:
        return [re.sub(r"\d+", "0", gap) for gap in gaps]

    line = "step5" + "".join(gap + number for gap, number in parts) + " of 12k"
    known = split_numbers(line)
    if spans_of(line, known[1::2]) is None:
        return
    other = re.sub(r"\d+", lambda run: "7" * len(run[0]) if len(run[0]) < 3 else "98765", line)
    assert bare(split_numbers(other)[::2]) == bare(known[::2])


def test_a_sign_that_is_of_no_number_keeps_its_neighbours_in_their_places() -> None:
    text = "energy=-1.4065+0.0002j, loss 3"
    assert spans_of(text, split_numbers(text)[1::2]) == [(7, 14), (15, 21), (29, 30)]


@pytest.mark.parametrize(
    ("gaps", "free"),
    [
        (("epoch25, iter10, loss: ", ""), True),
        (("-10 step=", ", loss=", "-0.0002j"), True),
        (("acc1 ", " lr ", ""), False),
        (("epoch25, top5 acc: ", ""), False),
        (("val2 loss3: ", ""), False),
    ],
)
def test_digits_of_words_have_a_meaning_where_they_stand_in_names(gaps: tuple[str, ...], free: bool) -> None:
    assert Plans().of(gaps).free is free


def test_how_far_a_bar_is_drawn_makes_no_other_shape() -> None:
    drawn = ["", "#", "#####", "█", "███▌", "███ ", "5loss", "loss", "损失"]
    log = "".join(f"  4%|{bar:<10}| 1/9 [00:01<00:02, 1.5it/s, loss=0.5]\n" for bar in drawn)
    (block,) = Splitter().feed(log.encode())
    number = Outlines(Shapes(), block, Clocks(lambda _: 0.0)).number.tolist()
    assert number == [0, 0, 0, 0, 0, 0, 1, 2, 3]


def test_a_shape_whose_fixed_digits_never_come_again_is_not_learned_for_ever() -> None:
    again, layout = Again(lambda *_: None, []), Layout((), (), (0,), None, None, None, None)
    shape, learned = Shape(0), 0
    while shape.learns and learned < 1000:
        shape.learn(layout, (str(learned),), Recipe(again, ()))
        learned += 1
    assert learned < 100
    shape.used = 500
    assert shape.learns


def test_a_number_that_its_surroundings_could_go_on_has_no_known_place() -> None:
    text = "step 1,234.5, loss 3"
    assert spans_of(text, split_numbers(text)[1::2]) is None


@pytest.fixture
def by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even few lines are read by column, with however many others between them."""
    from hrmdoc.readers.log import session
    from hrmdoc.readers.log.repeats import lanes

    monkeypatch.setattr(session, "_FEW", 2)
    monkeypatch.setattr(session, "_SHORTEST", 2)
    monkeypatch.setattr(session, "_PART", 0)
    monkeypatch.setattr(session, "_LONGEST", 40)
    monkeypatch.setattr(lanes, "_FEW", 1)


LOOPS = st.sampled_from(
    [
        ["step {0}/500 | loss {1}.{2} | lr 1e-{1}"],
        [
            "\r {1}%|##  | {0}/999 [00:0{1}<11:22, {2}.5it/s, loss={2}.125]",
            "{{'loss': {1}.5, 'epoch': 0.{2}}}",
        ],
        [
            "\r {1}%|##  | {0}/999 [00:0{1}<11:22, {2}.5it/s]",
            "{{'loss': {1}.5, 'grad_norm': {2}.0, 'epoch': {1}.{2}}}",
        ],
        [
            "{{'loss': {1}.5, 'learning_rate': 1e-05, 'epoch': 0.{2}}}",
            "{{'eval_loss': {1}.5, 'epoch': {2}.0}}",
        ],
        ["{{'loss': {1}.5, 'step': {0}, 'epoch': 0.{2}}}"],
        ["Epoch {1}: {2}%|#| {2}/50 [00:01<00:01, 1.1it/s, v_num=3, train_loss=0.{1}]"],
        ["[rank{1}]: step {0} loss {2}.5", "[rank{1}]: Saving model checkpoint to runs/checkpoint-{0}"],
        [
            "2026-01-02 03:04:{2},{1}1 INFO [rank{1}] t: iter {0} | loss {1}.5",
            "loss: {1}.{2} ppl: {2}.5",
            "epoch {1}",
        ],
        ["[{0}/500] Epoch {1} loss {2}.5", "val epoch {1}: val_loss={2}.{1}", "Validation results:"],
        [
            "Epoch {1}/10",
            "{1}/20 [==>....] - ETA: {2}s - loss: {2}.5 - acc: 0.{1}",
            " 2{1}/50 [==>....] - ETA: 1:{2} - loss: {1}.5",
        ],
        [
            "{1}/20 [==>....] - ETA: {2}s - loss: {2}.5 - acc: 0.{1}",
            "20/20 [=====] - {1}s 2ms/step - loss: {2}.5",
        ],
        ["<epoch:{1}, lr:1.{2}e-0{1}> loss: {2}.5e-0{1}", "<epoch: {1}, lr:1.{2}e-0{1}> loss: {2}.5e-0{1}"],
        ["train batch {1}/9 loss {2}.5", "grad norm is 1.{2}", "step {0} val_loss nan"],
        ["loss: 0.{2}", "Epoch {1} Loss: 1.{2}"],
        [
            "| Epoch {1}/3 - Actor loss : -0.{2}",
            "Episode {0}/9999 finished, reward : 2.{1}",
            "val loss 1.{2}",
        ],
        [
            "cost time {1}.{2}",
            "box IoU (x/y): 0.{1} / 0.{2}",
            "Epoch: {1}, Step: {0}, accuracy: 0.{2}",
        ],
        [
            "  loss_kl: nan",
            "  loss_a: 1.{2}",
            "Epoch 0: {1}%|#| {2}/50 [00:01<00:01, 1.1it/s, train_loss=nan.0]",
        ],
        ["Test: [{1}/50] loss: {1}.07 (1.{2})", "Epoch: [{1}][{2}/99] loss: {1}.5 (1.{2})"],
        ["epoch {1} loss 0.{2}7069130344390869", "epoch {1}, val acc: 0.{2}"],
        ["===== step {0} =====", "  lr 1.{2}", "  loss {1}.{2}", "global_steps {0} loss: 0.{2}"],
        [
            "Epoch {1}: {2}%|#| {2}/70 [00:01<00:01, 1.1it/s, v_num=3, train_loss=0.{1}]",
            "Epoch {1}: {2}%|#| {2}/70 [00:01<00:01, 1.1it/s, v_num=3, train_loss=0.{1}, val_loss=1.{1}]",
        ],
        [
            "Epoch 2: {2}%|#| {2}/70 [00:01<00:01, 1.1it/s, train_loss=0.{1}, val_loss=1.{1}, val_acc=0.5]",
            "Epoch 2: 100%|#| 70/70 [00:01<00:00, 1.1it/s, train_loss=0.{1}, val_loss=1.{1}, val_acc=0.{1}]",
        ],
        [
            "{{'loss': {1}.5, 'grad_norm': 1.{2}, 'epoch': 0.{2}}}",
            "{{'eval_loss': {1}.5, 'eval_runtime': 1.{2}}}",
            "step {0}: train loss 1.{2}",
        ],
        [
            "{1}/20 [=>......] - ETA: {2}s - loss: {2}.5 - acc: 0.{1}",
            "1{1}/20 [====>...] - ETA: {2}s - loss: {2}.5 - acc: 0.{1}",
        ],
    ]
)


def test_records_of_several_kinds_that_wait_for_one_redraw_keep_their_order(
    by_column: None, read: Any
) -> None:
    one = " 1%|##  | {0}/999 [00:01<11:22, 2.5it/s]\n{{'loss': 1.5, 'epoch': 0.{0}}}\n"
    two = "{{'eval_loss': {0}.5, 'epoch': 0.1}}\n{{'eval_loss': 1.5, 'epoch': 0.{0}}}\n{{'eval_loss': 1{0}.5, 'epoch': 0.1}}\n"
    log = "".join(part.format(step) for step in range(10, 60) for part in (one, two))
    lines = log.encode().splitlines(keepends=True)
    assert everything(read(log)) == everything(read(log, accumulate(map(len, lines))))


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    loops=st.lists(LOOPS, min_size=1, max_size=3),
    others=st.lists(MESSAGES, min_size=0, max_size=2),
    noise=st.lists(st.integers(0, 9), min_size=20, max_size=120),
    rise=st.integers(1, 3),
)
def test_lines_that_are_read_by_column_give_what_each_gives_alone(
    loops: list[list[str]], others: list[str], noise: list[int], rise: int, by_column: None, read: Any
) -> None:
    messages = [*(message for loop in loops for message in loop), *others]
    lines = []
    for at, digit in enumerate(noise):
        step = 100 + at * rise if digit != 7 else digit
        if others and digit == 9:
            lines.append((others[0].format(digit, step, at) + "\n").encode())
        lines.append((messages[at % len(messages)].format(step, digit, 10 + at % 50) + "\n").encode())
    expected = everything(read(b"".join(lines), accumulate(map(len, lines))))
    assert everything(read(b"".join(lines))) == expected


@pytest.mark.parametrize("name", LINES)
def test_every_format_reads_its_like_by_column_as_it_read_the_first(
    name: str, by_column: None, read: Any
) -> None:
    test_every_format_reads_its_like_as_it_read_the_first(name, read)


def test_points_of_lines_of_one_shape_are_all_there(read: Any) -> None:
    run = read("".join(f"step {step} | loss {step}.5 | lr 1e-3\n" for step in range(5000)))
    assert points(run, "loss") == [(step, step + 0.5) for step in range(5000)]


def test_lines_of_no_interest_are_looked_at_once_though_a_signature_asks_for_digits_like_its_own(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hrmdoc.readers.log.lines.prefix import Peeler
    from hrmdoc.text.literals import Literals

    peeled: list[str] = []
    peel = Peeler.peel
    monkeypatch.setattr(Peeler, "peel", lambda self, text: peeled.append(text) or peel(self, text))
    log = "".join(f"megatron.training: data shard {shard} loaded\n" for shard in range(100, 900))
    run = read(log, wanted=Literals([b" 137 "]))
    assert len(peeled) < 40
    assert [line.line for line in run.lines] == [38]


def test_checkpoints_whose_numbers_are_filled_up_with_zeros_are_each_at_their_own_step(read: Any) -> None:
    log = "".join(
        f"Saving model checkpoint to runs/checkpoint-{step:07d}\n" for step in range(100, 4100, 100)
    )
    assert [event.step for event in read(log).events] == list(range(100, 4100, 100))


def test_a_traceback_that_another_rank_ends_does_not_give_that_rank_the_bars_below_it(read: Any) -> None:
    log = (
        '[rank5]: step 1 | loss 2.5\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\n'
        "[rank5]:[E1121 03:02:11.123456 ProcessGroupNCCL.cpp:632] Watchdog caught a timeout\n"
    ) + "".join(
        f"{{'loss': 1.5, 'step': {step}}}\n[rank5]: step {step} | loss 2.5\n" for step in range(2, 60)
    )
    run = read(log)
    assert {key.rank: len(series) for key, series in run.series.items()} == {5: 59, None: 58}
