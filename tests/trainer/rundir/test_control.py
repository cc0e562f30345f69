from __future__ import annotations

import json
from pathlib import Path

import pytest

from hrmdoc.errors import ActionError
from hrmdoc.trainer.rundir.control import Action, Refused, parse, take

BASE = 1e-4


def test_actions_are_taken_oldest_name_first_and_removed(tmp_path: Path) -> None:
    (tmp_path / "2.json").write_text('{"action": "stop", "id": "x"}')
    (tmp_path / "1.json").write_text('{"action": "set_lr", "lr": 5e-5, "reason": "spikes"}')
    assert take(tmp_path, BASE) == [Action("1", "set_lr", 5e-5, "spikes"), Action("x", "stop")]
    assert list(tmp_path.iterdir()) == []


def test_unfinished_and_foreign_files_are_left_alone(tmp_path: Path) -> None:
    for name in (".1.json", "1.json.tmp", "notes.txt"):
        (tmp_path / name).write_text('{"action": "stop"}')
    assert take(tmp_path, BASE) == []
    assert len(list(tmp_path.iterdir())) == 3


def test_a_folder_that_is_not_there_holds_no_actions(tmp_path: Path) -> None:
    assert take(tmp_path / "nowhere", BASE) == []


@pytest.mark.parametrize("factor", [1e-4, 1.0, 10.0])
def test_a_rate_within_bounds_is_accepted(factor: float) -> None:
    assert parse(json.dumps({"action": "set_lr", "lr": BASE * factor}), "a", BASE).lr == BASE * factor


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "a JSON object"),
        ("null", "a JSON object"),
        ('{"action": "explode"}', "unknown action 'explode'"),
        ("{}", "unknown action None"),
        ('{"action": ["stop"]}', "unknown action"),
        ('{"action": "stop", "force": true}', "unknown key 'force'"),
        ('{"action": "stop", "id": 3}', "are texts"),
        ('{"action": "stop", "lr": 1e-4}', "no other action takes it"),
        ('{"action": "set_lr"}', "set_lr needs lr"),
        ('{"action": "set_lr", "lr": "1e-4"}', "out of bounds"),
        ('{"action": "set_lr", "lr": true}', "out of bounds"),
        ('{"action": "set_lr", "lr": NaN}', "out of bounds"),
        ('{"action": "set_lr", "lr": -1e-4}', "out of bounds"),
        ('{"action": "set_lr", "lr": 1.1e-3}', "out of bounds"),
        ('{"action": "set_lr", "lr": 0}', "out of bounds"),
    ],
)
def test_a_malformed_action_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ActionError, match=why):
        parse(text, "a", BASE)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\0" * 10, b"{" * 70_000])
def test_hostile_files_are_answered_and_removed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    (answer,) = take(tmp_path, BASE)
    assert isinstance(answer, Refused)
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_no_action_and_its_target_stays(tmp_path: Path) -> None:
    target = tmp_path / "secret.txt"
    target.write_text('{"action": "stop"}')
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / "a.json").symlink_to(target)
    (answer,) = take(tmp_path / "control", BASE)
    assert isinstance(answer, Refused)
    assert target.exists()
