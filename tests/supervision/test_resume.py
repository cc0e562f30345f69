"""Which checkpoint a command goes on from, and how it is told so."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from hrmdoc import rulebook
from hrmdoc.errors import UsageError
from hrmdoc.supervision.attempts import Attempt
from hrmdoc.supervision.plan import Plan
from hrmdoc.supervision.resume import NOT_AT_ALL, folder_of, known, stated

BOOK = rulebook.load()


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def saved(path: str, text: str = "weights") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def test_hugging_face_goes_on_from_the_highest_checkpoint_that_has_its_state() -> None:
    for step in (500, 1000, 1500):
        saved(f"out/checkpoint-{step}/model.safetensors")
        if step < 1500:
            saved(f"out/checkpoint-{step}/trainer_state.json", json.dumps({"global_step": step}))
    saved("out/runs/events", "x")
    words = ["torchrun", "--nproc-per-node", "8", "run_clm.py", "--output_dir", "out", "--lr", "1"]
    way = known(words, None, BOOK)
    newest = way.newest()
    assert newest is not None
    assert newest.step == 1000
    assert way.command(words, newest) == [*words, "--resume_from_checkpoint", "out/checkpoint-1000"]
    again = way.command(way.command(words, newest), newest)
    assert again == [*words, "--resume_from_checkpoint", "out/checkpoint-1000"], (
        "what stood there is replaced"
    )


def test_lightning_takes_the_newest_archive_that_has_its_end() -> None:
    saved("logs/version_0/checkpoints/epoch=0-step=100.ckpt")
    with zipfile.ZipFile("whole", "w") as archive:
        archive.writestr("data.pkl", "x" * 1000)
    torn = Path("logs/version_0/checkpoints/epoch=1-step=200.ckpt")
    torn.write_bytes(Path("whole").read_bytes()[:500])
    words = ["python", "main.py", "fit", "--trainer.default_root_dir=logs"]
    newest = known(words, None, BOOK).newest()
    assert newest is not None
    assert newest.step == 100
    torn.write_bytes(Path("whole").read_bytes())
    newest = known(words, None, BOOK).newest()
    assert newest is not None
    assert (newest.path.name, newest.step) == (torn.name, 200)


def test_the_own_trainer_finds_its_checkpoint_itself() -> None:
    words = ["hrmdoc", "train", "preset=demo", "run_dir=runs/x", "resume=runs/old"]
    way = known(words, None, BOOK)
    assert way.command(words, way.newest()) == [*words[:-1], "resume=auto"]
    assert folder_of(words, BOOK) == Path("runs/x")


def test_a_command_of_no_known_framework_stays_as_it_is() -> None:
    way = known(["python", "train.py"], None, BOOK)
    assert way is NOT_AT_ALL
    assert way.command(["python", "train.py"], None) == ["python", "train.py"]


@pytest.mark.parametrize("where", ["c", "c/*.pt"])
def test_the_users_own_words_and_place(where: str) -> None:
    saved("c/model_9.pt")
    saved("c/model_10.pt")
    saved("c/.model_11.pt")
    saved("c/model_12.pt", "")
    os.symlink("nowhere", "c/model_13.pt")
    way = stated("args --resume '{checkpoint}' --x=1", where)
    assert way.command(["python", "t.py"], way.newest()) == [
        *("python", "t.py", "args", "--resume", "c/model_10.pt", "--x=1"),
    ]
    assert way.command(["python", "t.py"], None) == ["python", "t.py"]


def test_a_name_of_a_checkpoint_is_one_word_whatever_it_holds() -> None:
    saved("c/step_1; touch pwned $(touch pwned) '.pt")
    way = stated("--resume {checkpoint}", "c")
    assert way.command(["t"], way.newest())[1:] == ["--resume", "c/step_1; touch pwned $(touch pwned) '.pt"]


@pytest.mark.parametrize(("template", "where"), [("--resume {checkpoint}", None), ("'", "c"), (" ", "c")])
def test_a_template_that_says_nothing_is_refused(template: str, where: str | None) -> None:
    with pytest.raises(UsageError):
        stated(template, where)


def ended(
    number: int, step: int | None, *, failure: str = "x", interrupted: bool = False, at: float = 0.0
) -> Attempt:
    return Attempt(number, "o.log", "here", 0.0, at, 1, step, failure, interrupted)


def test_the_pause_doubles_while_the_run_comes_no_further_and_starts_over_once_it_does() -> None:
    plan = Plan(restarts=9, backoff=10.0)
    assert plan.pause([ended(1, 5)]) == 10.0
    assert plan.pause([ended(1, 5), ended(2, 5)]) == 20.0
    assert plan.pause([ended(1, 5), ended(2, 5), ended(3, None)]) == 40.0
    assert plan.pause([ended(1, 5), ended(2, 5), ended(3, 6)]) == 10.0
    assert plan.pause([ended(number, 5) for number in range(40)]) == 600.0


def test_failures_count_within_the_window_and_interruptions_only_where_the_run_comes_no_further() -> None:
    plan = Plan(restarts=1, window=3600.0)
    assert plan.spent([ended(1, 5)], 1.0) == ""
    assert "2 failures within 1 h, and 1 restarts" in plan.spent([ended(1, 5), ended(2, 6)], 1.0)
    assert plan.spent([ended(1, 5), ended(2, 6, at=4000.0)], 4000.0) == ""
    assert plan.spent([ended(n, n, interrupted=True) for n in range(9)], 1.0) == ""
    assert plan.spent([ended(n, 5, interrupted=True) for n in range(9)], 1.0) != ""
