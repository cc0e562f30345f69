from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.errors import ActionError
from hrmdoc.record.records import Event
from hrmdoc.record.run import Run
from hrmdoc.remedies.actions import Answer, from_remedy, live_facts, send
from hrmdoc.rulebook import Remedy, Verify


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run.json").write_text('{"state": "running"}')
    (tmp_path / "config.yaml").write_text("lr: 1e-4\n")
    (tmp_path / "events.jsonl").write_text('{"event": "started"}\n')
    (tmp_path / "control").mkdir()
    return tmp_path


def trainer(run: Path, answer: Callable[[dict[str, Any]], str]) -> Callable[[float], None]:
    """Stands in for the loop of a trainer: at each wait it takes what lies in the inbox and answers."""

    def step(_: float) -> None:
        for path in (run / "control").glob("*.json"):
            request = json.loads(path.read_text())
            path.unlink()
            with (run / "events.jsonl").open("a") as stream:
                stream.write(answer(request))

    return step


def test_an_action_is_placed_and_its_answer_read(run: Path) -> None:
    seen: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> str:
        seen.append(request)
        ident = str(request["id"])
        other = json.dumps({"event": "action", "id": "another", "status": "failed"})
        done = json.dumps({"event": "action", "step": 7, "id": ident, "status": "done"})
        return f"{other}\nnot json {ident}\n{done}\n"

    got = send(run, "set_lr", lr=3e-5, reason="diverging", sleep=trainer(run, answer))
    assert got == Answer(seen[0]["id"], "set_lr", "done", 7)
    assert seen[0] == {"id": got.id, "action": "set_lr", "lr": 3e-5, "reason": "diverging"}


def test_a_refusal_of_the_trainer_is_handed_on(run: Path) -> None:
    answer = trainer(
        run,
        lambda request: (
            json.dumps(
                {"event": "action", "id": request["id"], "status": "refused", "why": "no good checkpoint"}
            )
            + "\n"
        ),
    )
    assert send(run, "rollback", sleep=answer).why == "no good checkpoint"


def test_an_answer_still_being_written_is_waited_for(run: Path) -> None:
    parts = iter([None, "rest"])

    def sleep(_: float) -> None:
        path = next((run / "control").glob("*.json"))
        line = json.dumps({"event": "action", "id": path.stem, "status": "done"})
        whole = next(parts) is not None
        with (run / "events.jsonl").open("a") as stream:
            stream.write(line[20:] + "\n" if whole else line[:20])

    assert send(run, "checkpoint", sleep=sleep).status == "done"


def test_without_an_answer_the_action_is_taken_back(run: Path) -> None:
    ticks = iter(range(100))
    with pytest.raises(ActionError, match="no answer within 3 s; the action was taken back"):
        send(run, "stop", timeout=3, clock=lambda: float(next(ticks)), sleep=lambda _: None)
    assert list((run / "control").iterdir()) == []


def test_an_action_that_was_taken_but_not_answered_is_told_apart(run: Path) -> None:
    ticks = iter(range(100))
    with pytest.raises(ActionError, match="took the action but did not answer"):
        send(run, "stop", timeout=3, clock=lambda: float(next(ticks)), sleep=trainer(run, lambda _: ""))


@pytest.mark.parametrize(
    ("action", "lr", "what"),
    [
        ("set_lr", None, "needs a learning rate"),
        ("stop", 1e-4, "no other action takes one"),
        ("set_lr", 1.0, r"out of bounds: 1e-08 to 0.001"),
        ("set_lr", float("nan"), "is no rate"),
        ("roll_back", None, "did you mean 'rollback'"),
    ],
)
def test_what_the_trainer_would_refuse_is_not_even_placed(
    run: Path, action: str, lr: float | None, what: str
) -> None:
    with pytest.raises(ActionError, match=what):
        send(run, action, lr=lr)
    assert list((run / "control").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"state": "finished"}', "is finished, not running"),
        ("[]", "in an unknown state"),
        ("{", "cannot read the state"),
    ],
)
def test_a_run_that_is_not_live_takes_no_action(run: Path, text: str, what: str) -> None:
    (run / "run.json").write_text(text)
    with pytest.raises(ActionError, match=what):
        send(run, "checkpoint")


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ActionError, match=r"there is no run\.json"):
        send(tmp_path, "checkpoint")


def action(**content: Any) -> Remedy:
    return Remedy("slow-down", "Slow down", "action", "guarded", "w", Verify(), action=content)


def test_the_action_of_a_remedy_computes_its_values_from_facts() -> None:
    assert from_remedy(action(action="set_lr", lr="=optimizer.lr / 4"), {"optimizer.lr": 1e-4}) == {
        "action": "set_lr",
        "lr": 2.5e-5,
    }
    with pytest.raises(ActionError, match=r"needs optimizer\.lr"):
        from_remedy(action(action="set_lr", lr="=optimizer.lr / 4"), {})
    with pytest.raises(ActionError, match="cannot evaluate"):
        from_remedy(action(action="set_lr", lr="=1 / 0"), {})


def test_a_patch_is_no_action() -> None:
    with pytest.raises(ActionError, match="is no action"):
        from_remedy(Remedy("p", "P", "patch", "safe", "w", Verify()), {})


def test_a_live_rate_is_lowered_from_where_an_action_put_it() -> None:
    run = Run("")
    told = '{"event": "action", "action": "set_lr", "status": "%s", "lr": %s, "before": 0.3}'
    run.add(Event("action", detail=told % ("done", "0.06")))
    run.add(Event("action", detail=told % ("refused", "5.0")))
    assert live_facts(run, {"optimizer.lr": 0.3}) == {"optimizer.lr": 0.06}
    assert live_facts(Run(""), {"optimizer.lr": 0.3}) == {"optimizer.lr": 0.3}
