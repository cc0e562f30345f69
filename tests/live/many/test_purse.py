"""What ordinary examinations of many runs may cost."""

from __future__ import annotations

import pytest

from hrmdoc.live.many.purse import LEAST, MOST, WHOLE, Purse


class Machine:
    """Clocks that are moved by hand."""

    def __init__(self) -> None:
        self.now = self.cpu = 0.0
        self.purse = Purse(lambda: self.now, lambda: self.cpu)

    def work(self, share: float, seconds: float = 60.0) -> float:
        """Reads for so much of a core, examines for what is allowed; the share of a core that took in all."""
        before = self.cpu
        for _ in range(int(seconds * 10)):
            self.now += 0.1
            self.cpu += share / 10
            self.purse.fill()
            while not self.purse.is_empty:
                with self.purse.paid():
                    self.cpu += 0.01
        return (self.cpu - before) / seconds


def test_ordinary_examinations_take_a_twentieth_of_a_core_where_little_is_read() -> None:
    assert Machine().work(0.01) == pytest.approx(0.01 + MOST, rel=0.05)


def test_the_more_the_reading_takes_the_less_is_left_for_them() -> None:
    machine = Machine()
    machine.work(0.15)
    assert machine.work(0.15) == pytest.approx(WHOLE, rel=0.05)


def test_they_never_stop_altogether_and_have_their_share_again_afterwards() -> None:
    machine = Machine()
    machine.work(0.5)
    assert machine.work(0.5) == pytest.approx(0.5 + LEAST, rel=0.05)
    machine.work(0.01)
    assert machine.purse.share == MOST


def test_what_is_saved_is_bounded() -> None:
    machine = Machine()
    machine.now += 3600
    machine.purse.fill()
    with machine.purse.paid():
        machine.cpu += 2 * MOST
    assert machine.purse.is_empty
