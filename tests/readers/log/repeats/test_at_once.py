"""Lines that could be read at once are, and mean what they mean one by one."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest

from hrmdoc.readers.log.dispatch import Dispatcher, Outcome
from hrmdoc.readers.log.repeats import lanes
from hrmdoc.readers.log.state.cursor import Cursor, Line
from tests.readers.log.lines.test_stream import everything
from tests.readers.log.metrics import points

_ROWS = 3000


def _records(rows: int = _ROWS) -> list[str]:
    """As transformers prints them without a bar, with an evaluation of its epoch now and then."""
    lines = []
    for row in range(1, rows):
        lines.append(
            f"{{'loss': {2 - row / 999:.4f}, 'grad_norm': {1 + row % 7}.25, 'epoch': {row / 100:.2f}}}\n"
        )
        if row % 50 == 0:
            lines.append(
                f"{{'eval_loss': {2 - row / 900:.4f}, 'eval_runtime': 21.5, 'epoch': {row / 100:.2f}}}\n"
            )
    return lines


def _bars() -> list[str]:
    """As Lightning draws them: what was validated last stands beside every redraw."""
    lines, validated = [], ""
    for epoch in range(4):
        for batch in range(151):
            loss = f"v_num=3, train_loss={1 / (1 + epoch + batch / 151):.3f}{validated}"
            part = f"{100 * batch // 150:3d}%|{'█' * (batch // 15):<10}| {batch}/150"
            lines.append(f"Epoch {epoch}: {part} [00:{batch % 60:02d}<00:09, 9.81it/s, {loss}]\r")
        validated = f", val_loss={1 / (2 + epoch):.3f}, val_acc={0.5 + 0.1 * (epoch > 1):.3f}"
        last = f"v_num=3, train_loss=0.5{validated}]"
        lines.append(f"Epoch {epoch}: 100%|{'█' * 10}| 150/150 [00:15<00:00, 9.81it/s, {last}\n")
    return lines


def _keras() -> list[str]:
    """Bars of epochs, which are drawn by signs that no outline holds."""
    lines = []
    for epoch in range(1, 7):
        lines.append(f"Epoch {epoch}/6\n")
        for batch in range(1, 150):
            drawn = "=" * (batch // 5) + ">" + "." * (29 - batch // 5)
            lines.append(
                f"{batch:3d}/150 [{drawn}] - ETA: {150 - batch}s - loss: {1 / (epoch + batch / 150):.4f}\r"
            )
        last = f"loss: {1 / (epoch + 1):.4f} - val_loss: {1 / (epoch + 2):.4f}"
        lines.append(f"150/150 [{'=' * 30}] - 3s 31ms/step - {last}\n")
    return lines


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines were read at once, each time some were."""
    found: list[int] = []
    plain = lanes.read_many

    def watched(cursor: Cursor, every: list[lanes.Rows]) -> bool:
        done = plain(cursor, every)
        found.extend([sum(map(len, every))] * done)
        return done

    monkeypatch.setattr(lanes, "read_many", watched)
    return found


@pytest.mark.parametrize(
    "lines",
    [_records(), _bars(), _keras()],
    ids=["evaluations without a step", "validated before", "bars of epochs"],
)
def test_lines_that_are_read_at_once_mean_what_they_mean_one_by_one(
    lines: list[str], read: Any, at_once: list[int]
) -> None:
    log = "".join(lines).encode()
    whole = everything(read(log))
    assert sum(at_once) > len(lines) / 3
    assert everything(read(log, accumulate(len(line.encode()) for line in lines))) == whole


def test_what_was_validated_is_given_once_however_often_it_is_drawn(read: Any, at_once: list[int]) -> None:
    run = read("".join(_bars()))
    assert at_once
    assert [value for _, value in points(run, "val_loss")] == [0.5, 0.333, 0.25, 0.2]
    assert len(points(run, "train_loss")) > 500


def test_an_evaluation_stands_at_the_step_before_it_though_a_line_of_another_kind_moves_it(read: Any) -> None:
    lines = _records(300)
    for row in range(40, len(lines), 40):
        lines.insert(row, f"step {row}: train loss {3 - row / 300:.4f}\n")
    log = "".join(lines).encode()
    whole = read(log)
    assert [step for step, _ in points(whole, "eval_loss")] == sorted(
        {s for s, _ in points(whole, "eval_loss")}
    )
    assert everything(read(log, accumulate(map(len, lines)))) == everything(whole)


def test_lines_of_no_format_are_looked_at_few_times(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    plain = Dispatcher.read

    def watched(self: Dispatcher, line: Line, cursor: Cursor) -> Outcome:
        looked.append(line.text)
        return plain(self, line, cursor)

    monkeypatch.setattr(Dispatcher, "read", watched)
    lines = [
        "step 1: loss: 0.5123\n",
        *(f"cost time of training pnet-- {row / 1e4:.4f}\n" for row in range(_ROWS)),
    ]
    read("".join(lines))
    assert 0 < len(looked) < _ROWS / 8
