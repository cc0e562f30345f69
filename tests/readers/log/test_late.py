"""Records that a buffered output brings many at a time behind the bar."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


def drawn(n: int, total: int) -> str:
    return f"\r{100 * n // total:3d}%|███       | {n}/{total} [00:01<00:20,  8.77it/s]"


def log(every: int, total: int, epoch: int, evaluated: int, *, skipped: int = 1, summary: bool = True) -> str:
    """A training whose records reach the file when the bar of an evaluation is begun, and at the end; the
    bar is drawn at every so many steps, and again for each record."""
    out, kept = [drawn(0, total)], ""
    for n in range(1, total + 1):
        if n % skipped == 0:
            out.append(drawn(n, total))
        if n % every == 0:
            out.append("\r" + " " * 40 + "\r\r" + drawn(n, total))
            kept += f"{{'loss': '{n}', 'grad_norm': '1.02', 'learning_rate': '1e-4', 'epoch': '{n / epoch:.4g}'}}\n"
        if evaluated and n % evaluated == 0:
            out += [kept, "\n", drawn(0, 5), drawn(4, 5), "\r   \r", drawn(n, total)]
            kept = f"{{'eval_loss': '{n}', 'eval_runtime': '1.1', 'epoch': '{n / epoch:.4g}'}}\n"
    if summary:
        kept += f"{{'train_runtime': '19.5', 'train_loss': '0.69', 'epoch': '{total / epoch:.4g}'}}\n"
    return "".join((*out, kept))


@pytest.mark.parametrize(
    "written",
    [
        log(10, 376, 94, 94),
        log(10, 376, 94, 94, skipped=4),
        log(10, 160, 233, 40),
        log(50, 700, 233, 233, skipped=3),
        log(1, 60, 37, 37),
        log(5, 160, 233, 0, skipped=7),
        log(20, 200, 500, 20),
        log(10, 376, 94, 94, summary=False),
    ],
)
def test_records_that_came_together_stand_at_the_steps_that_their_epochs_tell(
    read: Any, written: str
) -> None:
    run = read(written)
    for metric in ("loss", "eval_loss"):
        assert [step for step, _ in points(run, metric)] == [int(value) for _, value in points(run, metric)]
    assert len(points(run, "loss")) == written.count("'loss'")
    assert points(read(written, range(0, len(written), 97)), "loss") == points(run, "loss")


def test_records_stand_where_the_bar_is_drawn_while_each_is_followed_by_a_redraw(read: Any) -> None:
    record = "{{'loss': {0}, 'grad_norm': 1.0, 'epoch': {1}}}\n"
    written = "".join(record.format(n, n / 50) + drawn(n, 90) for n in (10, 20, 30, 40, 50))
    resumed = "".join(record.format(n, n / 80) + drawn(n, 90) for n in (60, 70, 80))
    run = read(drawn(1, 90) + written + resumed)
    assert [step for step, _ in points(run, "loss")] == [10, 20, 30, 40, 50, 60, 70, 80]
