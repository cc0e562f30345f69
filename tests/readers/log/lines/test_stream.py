"""Bytes in any cut and of any kind: the records are the same, and nothing breaks."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hrmdoc.readers import text
from hrmdoc.readers.log.lines.stream import PIECE_LIMIT, Splitter
from hrmdoc.record.run import Run

MIXED = (
    "***** Running training *****\n  Num Epochs = 2\n"
    "\r  0%|  | 0/20 [00:00<?, ?it/s]\r 25%|█ | 5/20 [00:00<00:01, 8.7it/s]\r   \r"
    "{'loss': '4.3', 'grad_norm': 'nan', 'epoch': '0.3'}\r\n\r 50%|██ | 10/20 [00:00<00:01, 8.7it/s]\x1b[A\n"
    "Epoch 1/2\n\r1/6 ━━━ 0s 1ms/step - loss: 1.0\b\b\b\r6/6 ━━━ 0s 1ms/step - loss: 0.9 - val_loss: 1.1\nEpoch 2/2\n"
    '[rank1]: Traceback (most recent call last):\n[rank1]:   File "a.py", line 1, in f\n[rank1]: ValueError: bad ünïcode\n'
    "| rollout/ | |\n|    ep_rew_mean | 1.5 |\n|    total_timesteps | 2048 |\n----------------\n"
    "[step=30/100,epoch=0]\n    train/CE loss=3.5\n"
    "loss is 0.5 and kl is 0.1\nloss is 0.6 and kl is 0.1\nloss is 0.7 and kl is 0.1\n"
    "Epoch 3 - Batch loss: 3.0\nEpoch 3 - Batch loss: 2.0\nstep 40 | loss 2.5 | lr 1e-3\nlast line without an end"
).encode()


def everything(run: Run) -> object:
    """All that a run holds, in a form that can be compared."""
    series = {
        key: (
            s.axis,
            s.precision,
            s.steps.tolist(),
            list(map(repr, s.values.tolist())),
            [s.place(i) for i in range(len(s))],
        )
        for key, s in run.series.items()
    }
    others = [list(map(repr, found)) for found in (run.lines, run.events, run.damages, run.facts.values())]
    return series, others


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cuts=st.lists(st.integers(0, len(MIXED)), max_size=12))
def test_however_the_bytes_are_cut_the_records_are_the_same(cuts: list[int], read: Any) -> None:
    assert everything(read(MIXED, cuts)) == everything(read(MIXED))


def test_byte_by_byte_gives_the_same_records(read: Any) -> None:
    assert everything(read(MIXED, range(len(MIXED)))) == everything(read(MIXED))


MAPPINGS = (
    "{'loss': 1.5, 'epoch': 0.1}",
    "{'loss': 2, 'step': 3}",
    '{"loss": 0.5, "step": 4.0, "total_steps": 90}',
    "{'eval_loss': 0.4, 'epoch': 1.0}",
    "{'loss': 0.25}",
    "{'loss': nan, 'epoch': 1.0}",
    "{'loss': '0.5', 'epoch': '1'}",
    "{'loss': {'value': 1.0}, 'epoch': 1.0}",
    "{'loss': 1.0}, {'loss': 2.0}",
    "{'loss': 1.0}, 2.0, {'loss': 3.0}",
    "{'loss': 1.0, 'note\\\\': 2.0}",
    "{'loss': true, 'epoch': 1.0}",
    "{'loss': 18446744073709551616, 'epoch': 1.0}",
    "{'total_flos': 5.0, 'loss': 1.0, 'epoch': 1.0}",
    "{'lo{ss': 1.0, 'epoch': 1.0}",
    "{'loss': 1.0, 'epoch': 2.0",
    "{'loss': [{}",
    "{'loss': 1.0, 'epoch': 0.5}\r",
    "{'train_runtime': 3.5, 'train_loss': 1.0}",
    "{'loss': 1.0, 'error': 2.0, 'epoch': 1.0}",
    "{}",
    "step 5 loss 0.4",
    "Traceback (most recent call last):",
    "ValueError: no",
    "\r 50%|██ | 10/20 [00:00<00:01, 8.7it/s]\r",
    "arguments:",
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(parts=st.lists(st.tuples(st.sampled_from(MAPPINGS), st.integers(1, 9)), max_size=8))
def test_mappings_after_each_other_tell_what_each_tells_alone(
    parts: list[tuple[str, int]], read: Any
) -> None:
    lines = [f"{line}\n".encode() for line, times in parts for _ in range(times)]
    ends = accumulate(len(line) for line in lines)
    assert everything(read(b"".join(lines))) == everything(read(b"".join(lines), ends))


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(codec: str, read: Any) -> None:
    log = "step 1 loss 0.5\r\nstep 2 loss 0.4\r\n"
    data = ("\ufeff" + log).encode(codec) if codec == "utf-16-be" else log.encode(codec)
    run = read(data, cuts=[1, 2, 3, 9])
    [series] = run.series.values()
    assert (series.steps.tolist(), series.place(1)[1]) == ([1, 2], 2)


def test_what_powershell_adds_in_another_encoding_is_read_as_well(read: Any) -> None:
    added = 'step 2 loss 0.4\r\nTraceback (most recent call last):\r\n  File "a.py", line 1, in <module>\r\nOSError: gone\r\n'
    data = b"step 1 loss 0.5\r\n" + added.encode("utf-16")
    whole, cut = read(data), read(data, cuts=range(0, len(data), 7))
    assert everything(whole) == everything(cut)
    [series] = whole.series.values()
    assert series.values.tolist() == [0.5, 0.4]
    assert any(line.text.startswith("OSError") for line in whole.lines)


def test_an_overlong_line_is_cut_and_told_once_and_what_follows_is_read(read: Any) -> None:
    log = (
        b"step 1 loss 0.5\n"
        + b"x" * (3 * PIECE_LIMIT)
        + b"\n"
        + b"y" * (2 * PIECE_LIMIT)
        + b"\nstep 2 loss 0.4\n"
    )
    whole, cut = read(log), read(log, cuts=range(0, len(log), 10_007))
    assert everything(whole) == everything(cut)
    [damage] = whole.damages
    assert damage.line == 2
    assert whole.points == 2


def test_ten_megabytes_on_one_line_leave_one_damage(read: Any) -> None:
    run = read(b"loss: 1 step 2 " * 700_000)
    assert len(run.damages) == 1


HOSTILE = {
    "empty": b"",
    "only line ends": b"\n\r\n\r\r\n",
    "NUL": b"\x00" * 1000 + b"\nstep 1 loss\x00 0.5\n",
    "binary": bytes(range(256)) * 40,
    "wrong encoding": "größe step 1 loss 0.5\n".encode("latin-1"),
    "unfinished escapes": b"\x1b[\x1b[31\x1b]0;step 1 loss\n\x1b" * 50,
    "html": b"<html><body>step=1 loss=<b>0.5</b></body></html>\n",
    "numbers": b"1 " * 30_000 + b"\nloss " + b"9" * 60_000 + b"\n",
    "thousands": b"loss step " + b",".join([b"111"] * 16_000) + b"\n",
    "brackets": b"[" * 60_000 + b"\n" + b"[1]" * 20_000 + b"\n" + b"(" * 60_000 + b"\n",
    "braces": b"{'loss': " * 7_000 + b"\n" + b"{" * 60_000 + b"'\n" + b"'" * 60_000 + b"\n",
    "spaces": b"loss" + b" " * 60_000 + b"step\n" + b"|   " * 15_000 + b"\nepoch" + b" " * 60_000 + b"loss\n",
    "percent": b"1%|" * 20_000 + b"\n" + b"100%|" + b"x" * 60_000 + b"\n",
    "dots": b"lr " + b"." * 60_000 + b"\n" + b"a." * 30_000 + b"Error\n" + b"Config(" * 9_000 + b"\n",
    "equals": b"=" * 60_000 + b"\n" + b"loss=" * 12_000 + b"step\n" + b"-" * 60_000 + b"\n",
    "options": b"python train.py " + b"--loss 1 " * 6_000 + b"\n" + b"--" * 30_000 + b" step\n",
    "nan": b"loss nan" * 8_000 + b"\n" + b"nan " * 15_000 + b"step\n",
    "dates": b"2026-01-02 03:04:05 " * 3_000 + b"\n" + b"INFO - " * 9_000 + b"step\n",
    "huge values": b"step 99999999999999999999 loss 1e999\nstep 5 loss -1e-999\n",
    "prefix words": b"a:" * 30_000
    + b" INFO step 1 loss 2\n"
    + b"2026-01-02 03:04:05 "
    + b"a.b " * 15_000
    + b"\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_read_to_their_end(name: str, read: Any) -> None:
    run = read(HOSTILE[name] + b"\nstep 7 loss 0.25\n")
    assert 7 in [
        int(step) for key, series in run.series.items() if key.metric == "loss" for step in series.steps
    ]


def test_ranks_without_end_do_not_break_the_reader(read: Any) -> None:
    run = read("".join(f"[rank{rank}]: step 1 loss 0.5\n" for rank in range(300)))
    assert len(run.ranks) == 300


@pytest.mark.parametrize(
    ("name", "head", "low", "high"),
    [
        ("train.log", b"step 1\n", 0.3, 0.6),
        ("slurm-123.out", b"hello\n", 0.3, 0.6),
        ("notes", b"hello\n", 0.05, 0.3),
        ("model.bin", bytes(range(256)), 0.0, 0.0),
        ("train.log", bytes(range(256)) * 4, 0.001, 0.1),
        ("empty.bin", b"", 0.0, 0.0),
        ("wide.log", "step".encode("utf-16"), 0.3, 0.6),
    ],
)
def test_text_is_wanted_least_sure_of_all_and_binary_not(
    name: str, head: bytes, low: float, high: float
) -> None:
    assert low <= text.sniff(Path(name), head) <= high


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_utf16_that_a_shell_appended_to_a_log_in_utf8_is_read(cut: int) -> None:
    data = b"step 1 loss 2.5\n" + "Traceback\r\nstep 2\r\n".encode("utf-16-le")
    splitter = Splitter()
    blocks = [block for at in range(0, len(data), cut) for block in splitter.feed(data[at : at + cut])]
    blocks += splitter.close()
    pieces = [
        block.data[start:end] for block in blocks for _, start, end, _ in block.of(np.arange(len(block.ends)))
    ]
    assert [piece for piece in pieces if piece.strip()] == [b"step 1 loss 2.5", b"Traceback", b"step 2"]
