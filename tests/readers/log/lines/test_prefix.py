"""Prefixes of launchers, loggers and containers."""

from __future__ import annotations

import math

import pytest

from hrmdoc.readers.log.lines.prefix import Peeler

STAMP = 1767323045.0  # 2026-01-02 03:04:05 UTC
OF_DAY = 11045.0  # 03:04:05 of a day that is not named


@pytest.fixture
def peeler() -> Peeler:
    return Peeler(STAMP)


LONG = "a_package_that_is_named_by_all_that_its_paper_is_about.training.loops.the_trainer_itself"


@pytest.mark.parametrize(
    ("text", "rest", "time", "rank"),
    [
        ("[default1]:[rank1]: Traceback", "Traceback", None, 1),
        ("[trainer0|0]:Last error:", "Last error:", None, 0),
        ("[default0]:03:04:05 SUCCESS Step 9 | Loss: 0.1", "Step 9 | Loss: 0.1", OF_DAY, 0),
        ("[default0]:2026-01-02 03:04:05,000 INFO step 9", "step 9", STAMP, 0),
        ("2026-01-02 03:04:05,000 train       : INFO     step 5 loss 3", "step 5 loss 3", STAMP, None),
        ("2026-01-02 03:04:05,000 loss        : 3.1", "loss        : 3.1", STAMP, None),
        ("01/02/26 03:04:05 epoch 1 loss 3", "epoch 1 loss 3", STAMP, None),
        ("[01/02/26 03:04:05] INFO     epoch 1 loss 3", "epoch 1 loss 3", STAMP, None),
        ("INFO - 01/02/26 03:04:05 - 0:18:02 - loss 3", "0:18:02 - loss 3", STAMP, None),
        ("2026-01-02 03:04 - INFO - [train] loss 3", "loss 3", STAMP - 5, None),
        ("[2026-01-02 03:04] epoch 1 loss 3", "epoch 1 loss 3", STAMP - 5, None),
        ("3: step 5 loss 3", "step 5 loss 3", None, 3),
        ("[1,7]<stdout>:step 5", "step 5", None, 7),
        ("(Worker pid=1, ip=10.0.0.1) step 5", "step 5", None, None),
        (
            "[rank1]:[E102 03:04:05.000000000 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog",
            "Watchdog",
            STAMP,
            1,
        ),
        ("W0102 03:04:05.000000 18040 torch/distributed/run.py:874] hi", "hi", STAMP, None),
        ("[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog", "Watchdog", None, 0),
        (
            "01/02 03:04:05 - mmengine - INFO - Epoch(train) [1][ 5/20]",
            "Epoch(train) [1][ 5/20]",
            STAMP,
            None,
        ),
        ("01/02 03:04:05 PM train 050", "train 050", STAMP + 43_200, None),
        ("*run-1*  2026-01-02 03:04:05 Steps 10", "Steps 10", STAMP, None),
        ("* Acc@1 75.0", "* Acc@1 75.0", None, None),
        ("2026-01-02 03:04:05,000 - INFO - ##### Epoch 1 #####", "##### Epoch 1 #####", STAMP, None),
        ("INFO:__main__:  key: 1", "  key: 1", None, None),
        ("[2026-01-02 03:04:05,000][logger][INFO] - msg", "msg", STAMP, None),
        ("2026-01-02 03:04:05,000 - log\\train.log - INFO - lr : 1e-3", "lr : 1e-3", STAMP, None),
        (f"2026-01-02 03:04:05,000 - {LONG} - INFO - msg", "msg", STAMP, None),
        (f"2026-01-02 03:04:05,000 - INFO - {LONG} - msg", "msg", STAMP, None),
        ("01/02/2026 03:04:05 - INFO - __main__ - msg", "msg", STAMP, None),
        ("[INFO|trainer.py:2406] 2026-01-02 03:04:05,000 >> msg", "msg", STAMP, None),
        ("2026-01-02 03:04:05.000 | INFO     | mod:fn:12 - msg", "msg", STAMP, None),
        ("[2026-01-02 03:04:05,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10", "step=10", STAMP, 0),
        ("[NeMo I 2026-01-02 03:04:05 module:12 rank:3] hello", "hello", STAMP, 3),
        ("2026-01-02T03:04:05.000000000Z stdout F step 6", "step 6", STAMP, None),
        ("Jan  2 03:04:05 gpu-1 train[4711]: step 6", "step 6", STAMP, None),
        ("Jan 02 03:04:05 gpu-1 systemd: step 6", "step 6", STAMP, None),
        ("Fri 02 Jan 2026 03:04:05 INFO  epoch 6", "epoch 6", STAMP, None),
        ("Fri, 02 Jan 2026 03:04:05,000 INFO  epoch 6", "epoch 6", STAMP, None),
        ("Fri Jan  2 03:04:05 2026: step 6", "step 6", STAMP, None),
        ("Fri Jan 02 03:04:05 UTC 2026 step 6", "step 6", STAMP, None),
        ("Fri 02 Jab 2026 03:04:05 step 6", "Fri 02 Jab 2026 03:04:05 step 6", None, None),
        ("Now 02 03:04:05 gpu-1 systemd: step 6", "Now 02 03:04:05 gpu-1 systemd: step 6", None, None),
        ("2026-01-02T05:04:05+02:00 step 6", "step 6", STAMP, None),
        ("10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 7", "iteration: 7", 1760718716.0, None),
        ("worker-1: [2026-01-02 03:04:05,000] [INFO] [x.py:1:f] hi", "hi", STAMP, None),
        ("2026-01-02 03:04:05.000\trank2\tolmo.train:18\tINFO\t[step=1]", "[step=1]", STAMP, 2),
        ("[01/02 03:04:05 d2.utils.events]:  eta: 1", "eta: 1", STAMP, None),
        ("26/01/02 03:04:05 INFO Listener: loss 1", "Listener: loss 1", STAMP, None),
        ("> 2026-01-02 03:04:05,000 - INFO - msg", "msg", STAMP, None),
        (
            "2026-01-02 03:04:05,000 - a_name_of_a_project_that_says_all_that_it_does.training.loop - INFO - step 5",
            "step 5",
            STAMP,
            None,
        ),
        ("Fri 02 Jan 2026 03:04:05    INFO  epoch 3", "epoch 3", STAMP, None),
        ("Friday, 2 January 2026 03:04:05 INFO - epoch 3", "epoch 3", STAMP, None),
        ("Fri Jan  2 03:04:05 2026: epoch 3", "epoch 3", STAMP, None),
        ("[01/02/2026 03:04:05] step 6", "step 6", STAMP, None),
        ("20/11/2026 03:04:05 step 6", "step 6", STAMP + 322 * 86_400, None),
        ("2026-01-02 03:04 step 6", "step 6", STAMP - 5, None),
        ("[2026-01-02 03:04] step 6", "step 6", STAMP - 5, None),
        ("2026-01-02 12:04:05 AM step 6", "step 6", STAMP - 10_800, None),
        ("01/02/2026 12:04:05 PM step 6", "step 6", STAMP + 32_400, None),
        ("03:04:05 AM step 6", "step 6", OF_DAY, None),
        ("[03:04:05] step 6", "step 6", OF_DAY, None),
        ("Jan  2 03:04:05 step 6: loss 3", "step 6: loss 3", STAMP, None),
        ("Jan 02 03:04:05 INFO step 6", "step 6", STAMP, None),
        ("Jan 02 03:04:05 train loss: 2.5", "train loss: 2.5", STAMP, None),
        ("1767323045 step 6", "step 6", STAMP, None),
        ("[1767323045.5] step 6", "step 6", STAMP + 0.5, None),
        ("1767323045 0.5 0.25", "1767323045 0.5 0.25", None, None),
        ("2026-01-02 04:04:05 +0100 step 6", "step 6", STAMP, None),
        ("2026-01-02 04:04:05,250 CET step 6", "step 6", STAMP + 0.25, None),
        ("2026-01-02 03:04:05 CST step 6", "CST step 6", STAMP, None),
        ("2026-01-02 03:04:05 -1234.5", "1234.5", STAMP, None),
        ("Thu Jan 01 22:04:05 EST 2026 step 6", "step 6", STAMP, None),
        ("01/02/26 03:04:05 - 10:18:02 - loss 3", "loss 3", STAMP, None),
    ],
)
def test_a_prefix_is_peeled_and_its_rank_and_time_kept(
    text: str, rest: str, time: float | None, rank: int | None, peeler: Peeler
) -> None:
    message = peeler.peel(text)
    assert (message.rest, message.rank) == (rest, rank)
    assert math.isnan(message.time) if time is None else message.time == time


@pytest.mark.parametrize(
    "text",
    [
        "10: loss 3.4",
        "11/21 loss 0.5",
        "10/20 00:01:02 loss 0.5",
        "[epoch=1][batch=10/100]:",
        "  train/CE loss=3",
        "{'loss': 1.0}",
        "250 val 3.2",
        "[1]: time",
        "26/01/02 loss 1",
        ">>> loss 1",
        "Info",
        "Sun 12 loss 0.5",
        "Friday 3 loss 1",
        "",
    ],
)
def test_what_is_no_prefix_stays(text: str, peeler: Peeler) -> None:
    assert peeler.peel(text).rest == text


def test_a_date_that_does_not_exist_is_no_time(peeler: Peeler) -> None:
    assert math.isnan(peeler.peel("2026-13-45 03:04:05 hi").time)
