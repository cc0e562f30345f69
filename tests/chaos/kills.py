"""Trainer, supervisor and watch are killed again and again."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from hrmdoc.live.actionlog import verify
from tests.chaos.tools import TRAINEE, Receiver, history, hrmdoc, living, receiver, state, told, until

CLIMBER = """
import os, time
n = int(os.environ["HRMDOC_ATTEMPT"])
open("pids", "a").write(f"{os.getpid()}\\n")
for i in range(100000):
    print(f"step {1000 * n + i} | loss {1 + 1 / (n + i + 1):.4f}", flush=True)
    if os.path.exists("stop"): break
    time.sleep(0.02)
"""


def kills_of_both(folder: Path, options: argparse.Namespace) -> str:
    """Trainer and supervisor are killed at random moments; each trainer comes back once, under whichever
    supervisor."""
    dice = random.Random(options.seed)
    (folder / "climb.py").write_text(CLIMBER)
    words = (
        "run",
        "--log",
        "o.log",
        "--restart",
        "1000",
        "--backoff",
        "0.01",
        "--",
        sys.executable,
        "climb.py",
    )
    supervisor, killed = hrmdoc(folder, *words), Counter[str]()
    while killed.total() < options.kills:
        number = killed["trainer"] + 1
        until(lambda: (folder / "pids").exists() and len((folder / "pids").read_text().split()) >= number)  # noqa: B023
        time.sleep(dice.random() * 0.6)
        if dice.random() < 0.5:
            pids = (folder / "pids").read_text().split()
            os.kill(int(pids[-1]), signal.SIGKILL)
            killed["trainer"] += 1
        else:
            supervisor.kill()
            supervisor.wait()
            killed["supervisor"] += 1
            supervisor = hrmdoc(folder, *words)
    until(lambda: len((folder / "pids").read_text().split()) == killed["trainer"] + 1)
    (folder / "stop").touch()
    assert supervisor.wait(timeout=60) == 0
    attempts = state(folder)["attempts"]
    assert [one["number"] for one in attempts] == list(range(1, killed["trainer"] + 2)), "a start was lost"
    assert [one["status"] for one in attempts] == [-9] * killed["trainer"] + [0]
    assert verify(folder / "o.log.hrmdoc" / "actions.jsonl").flaw == ""
    assert not living(folder), "something was left behind"
    return f"{killed['trainer']} of the trainer, {killed['supervisor']} of the supervisor"


def kills_of_the_watch(folder: Path, options: argparse.Namespace) -> str:
    """A watch is killed again and again while incidents open and resolve and the target of alerts is down."""
    dice, run = random.Random(options.seed), folder / "run"
    kills = max(4, options.kills // 4)
    with receiver() as port:
        own = folder / "config" / "hrmdoc" / "hrmdoc.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'[alerts]\nwebhook = "http://127.0.0.1:{port}/"\n')
        trainer = subprocess.Popen([sys.executable, str(TRAINEE), str(run), "nan"], cwd=folder)
        until(lambda: (run / "run.json").exists())
        watch = hrmdoc(folder, "watch", "run")
        for number in range(kills):
            time.sleep(1.0 + 2 * dice.random())
            if number == kills // 2:
                until(lambda: history(run)["loss-nonfinite", "opened"])
            watch.kill()
            watch.wait()
            if number == kills // 2:  # the loss is whole again from here on
                (run / "control" / "1.json").write_text('{"id": "1", "action": "rollback"}')
            watch = hrmdoc(folder, "watch", "run")
        until(lambda: history(run)["loss-nonfinite", "resolved"], 120)
        until(lambda: "resolved" in told("loss-nonfinite"), 180)
        (run / "stop").touch()
        trainer.wait(timeout=60)
        watch.wait(timeout=60)
    twice = {key: count for key, count in history(run).items() if count > 1}
    assert not twice, f"recorded twice: {twice}"
    sent = told("loss-nonfinite")
    assert sent == ["opened", "resolved"], f"told: {sent}"
    return f"{kills} kills, {Receiver.down} answers of 503"
