"""Lines that are like those before them may wait; whatever says something new is read at once."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from hrmdoc.live.glance import LITTLE, Glance
from hrmdoc.live.growing import Growing
from hrmdoc.readers import Source
from hrmdoc.record.run import Run

DICE = random.Random(3)


def loss(step: int) -> float:
    return 2 + 1 / (1 + step) + 0.05 * math.sin(7 * step)


def row(step: int, **cells: object) -> str:
    return json.dumps({"step": step, "loss": loss(step), "lr": 3e-4, **cells}) + "\n"


def line(step: int, value: str = "", *, said: str = "") -> str:
    return f"step {step} | loss {value or f'{loss(step):.4f}'} | lr 3e-04{said}\n"


def taught(count: int = 40) -> Glance:
    glance = Glance()
    glance.take("".join(map(row, range(count))).encode(), plain=True)
    return glance


def test_lines_like_those_before_are_held_and_come_out_as_they_were() -> None:
    glance, rows = taught(), [row(step).encode() for step in range(40, 200)]
    assert [glance.holds(one) for one in rows] == [True] * len(rows)
    assert glance.size == len(b"".join(rows))
    assert glance.release() == b"".join(rows)
    assert (glance.size, glance.release()) == (0, b"")


@pytest.mark.parametrize(
    "new",
    [
        row(40, loss=math.nan),
        row(40, loss=9.0),
        row(40, loss=-1.0),
        row(40, loss=0.0),
        row(40, loss=loss(39)),
        row(40, lr=3e-3),
        row(39),
        row(12),
        row(40, accuracy=0.5),
        '{"event": "ended"}\n',
        "RuntimeError: CUDA error 77\n",
    ],
)
def test_a_line_that_says_something_new_is_not_held(new: str) -> None:
    assert not taught().holds(new.encode())


def test_a_line_is_looked_at_once_its_end_came() -> None:
    glance = taught()
    assert glance.holds(b'{"step": 40, "loss": Na')
    assert not glance.holds(b'N, "lr": 0.0003}\n')
    assert glance.release() == b'{"step": 40, "loss": Na'


def test_what_gave_more_than_points_is_never_held() -> None:
    glance = taught()
    glance.take(row(40).encode(), plain=False)
    assert not glance.holds(row(41).encode())


def test_it_holds_no_more_than_a_little_and_no_redrawn_bar() -> None:
    glance, rows = taught(), b"".join(row(step).encode() for step in range(40, 1000))
    assert len(rows) > LITTLE
    assert not glance.holds(rows)
    assert not taught().holds(row(40).encode().replace(b"\n", b"\r"))


def test_a_file_where_hardly_a_line_is_usual_is_hardly_looked_at() -> None:
    glance, tried = taught(), 0
    for at in range(400):
        before = glance._misses
        assert not glance.holds(f"{DICE.random()} {at * 'x'}\n".encode())
        tried += glance._misses > before
    assert tried < 100


@pytest.mark.parametrize("reader", ["text", "jsonl"])
@pytest.mark.parametrize("seed", range(6))
def test_a_run_is_the_same_however_long_its_lines_were_held(reader: str, seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    log, one = tmp_path / "log", (line if reader == "text" else row)
    texts = [one(step) for step in range(300)]
    for at in dice.sample(range(300), 4):
        texts[at] = texts[at].replace("loss", dice.choice(["val_loss", "loss"])).replace("3e-04", "nan")
    whole, patient = b"".join(map(str.encode, texts)), Run()
    log.write_bytes(whole)
    at_once = Run()
    followed = Growing(Source(str(log), reader, str(log)), at_once, lambda _: ())
    followed.read()
    followed.close()
    log.write_bytes(b"")
    followed = Growing(Source(str(log), reader, str(log)), patient, lambda _: ())
    held = 0
    while whole:
        size = dice.choice([20, 70, 150, 400])
        with log.open("ab") as file:
            file.write(whole[:size])
        whole = whole[size:]
        followed.read(patient=dice.random() < 0.95)
        held += followed.held > 0
    followed.close()
    assert held > 10
    assert patient.line_count == at_once.line_count
    assert _told(patient) == _told(at_once)


def test_what_was_held_is_not_lost_where_the_log_is_rotated(tmp_path: Path) -> None:
    log, run = tmp_path / "train.log", Run()
    log.write_text("".join(map(line, range(40))))
    followed = Growing(Source(str(log), "text", str(log)), run, lambda _: ())
    followed.read(patient=True)
    for last in range(40, 60, 2):
        with log.open("a") as file:
            file.write(line(last) + line(last + 1))
        followed.read(patient=True)
    assert followed.held
    log.rename(tmp_path / "train.log.1")
    log.write_text("".join(map(line, range(60, 70))))
    followed.read(patient=True)
    followed.close()
    assert next(iter(run.series.values())).steps.tolist() == list(range(70))


def _told(run: Run) -> dict[str, object]:
    return {
        key.metric: (one.steps.tolist(), [repr(value) for value in one.values.tolist()])
        for key, one in run.series.items()
    }
