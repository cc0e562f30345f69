"""What a folder of anybody may not do: run commands, act, load rules, or have hrmdoc write elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hrmdoc import settings, trust
from hrmdoc.live.journal import Journal
from hrmdoc.live.state import state_folder
from hrmdoc.paths import replace_file

Command = Callable[..., Any]
ALERT = '[alerts]\ncommand = "touch ran"\n'


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "#" * (2 << 20)])
def test_settings_planted_in_a_folder_end_a_command_with_their_name_at_most(
    text: str, hrmdoc: Command, sick: Path, apart: Path
) -> None:
    (apart / "hrmdoc.toml").write_text(text)
    done = hrmdoc("analyze", sick)
    assert done.status == 2
    assert "hrmdoc.toml" in done.err


def test_an_alert_of_a_folder_runs_only_once_its_settings_are_trusted(
    spawn: Command, sick: Path, apart: Path
) -> None:
    (apart / "hrmdoc.toml").write_text(ALERT)
    done = spawn("watch", "--once", sick)
    assert not (apart / "ran").exists()
    assert "hrmdoc.toml: alerts does not count; look at it, then: hrmdoc trust" in done.err
    said = spawn("trust")
    assert (said.status, "touch ran" in said.out) == (0, True)
    assert spawn("watch", "--once", "--no-state", sick).err == ""
    assert (apart / "ran").exists()


def test_trust_ends_with_the_content_that_was_trusted(spawn: Command, sick: Path, apart: Path) -> None:
    (apart / "hrmdoc.toml").write_text(ALERT)
    assert spawn("trust", "hrmdoc.toml").status == 0
    (apart / "hrmdoc.toml").write_text(ALERT.replace("ran", "other"))
    assert "does not count" in spawn("watch", "--once", sick).err
    assert not (apart / "other").exists()


def test_trust_can_be_taken_back(hrmdoc: Command, apart: Path) -> None:
    (apart / "hrmdoc.toml").write_text(ALERT)
    assert hrmdoc("trust").status == 0
    assert settings.load(apart).alerts.command == "touch ran"
    assert hrmdoc("trust", "--revoke").status == 0
    assert settings.load(apart).alerts.command is None


def test_thresholds_and_roles_of_a_folder_count_without_trust(apart: Path) -> None:
    text = 'fail_on = "critical"\nrules = ["mine"]\n[roles]\nx = "train.loss"\n'
    (apart / "hrmdoc.toml").write_text(text)
    found = settings.load(apart)
    assert (found.fail_on, found.roles, found.rules, found.withheld) == (
        "critical",
        {"x": "train.loss"},
        (),
        ("rules",),
    )


def test_the_user_s_own_settings_need_no_trust_and_stand_behind_those_of_the_folder(apart: Path) -> None:
    trust.own_file().parent.mkdir(parents=True)
    trust.own_file().write_text('fail_on = "critical"\n[policy]\nauto = ["safe"]\n')
    assert settings.load(apart).policy.auto == ("safe",)
    (apart / "hrmdoc.toml").write_text('fail_on = "info"\n[policy]\nauto = ["guarded"]\n')
    found = settings.load(apart)
    assert (found.fail_on, found.policy.auto) == ("info", ("safe",))


def test_a_file_below_a_folder_that_others_may_write_to_is_never_trusted(
    hrmdoc: Command, apart: Path
) -> None:
    (apart / "hrmdoc.toml").write_text(ALERT)
    apart.chmod(0o777)
    done = hrmdoc("trust")
    assert (done.status, "others may write to" in done.err) == (2, True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_another_user_is_never_trusted(hrmdoc: Command, apart: Path) -> None:
    (apart / "hrmdoc.toml").write_text(ALERT)
    os.chown(apart / "hrmdoc.toml", 12345, 12345)
    done = hrmdoc("trust")
    assert (done.status, "belongs to another user" in done.err) == (2, True)


def test_acting_by_a_policy_that_is_not_trusted_is_refused_with_the_way_out(
    hrmdoc: Command, sick: Path, apart: Path
) -> None:
    (apart / "hrmdoc.toml").write_text('[policy]\nauto = ["safe"]\n')
    done = hrmdoc("watch", "--act", sick)
    assert (done.status, "hrmdoc trust" in done.err) == (2, True)


@pytest.mark.parametrize(
    "name", ["incidents.jsonl", "diagnosis.json", ".diagnosis.json.1.tmp", "actions.jsonl"]
)
def test_a_link_planted_in_a_run_is_not_followed_on_writing(
    hrmdoc: Command, sick: Path, apart: Path, name: str
) -> None:
    run = apart / "run"
    run.mkdir()
    (run / "run.json").write_text('{"schema": "hrmdoc.run/1", "id": "x"}')
    sick.rename(run / "train.log")
    victim = apart / "shell-start"
    victim.write_text("mine\n")
    (run / name).symlink_to(victim)
    assert hrmdoc("watch", "--once", run).status == 1
    assert victim.read_text() == "mine\n"
    assert json.loads((run / "diagnosis.json").read_text())["verdict"] == "critical"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")
def test_a_run_of_somebody_else_keeps_no_state(apart: Path) -> None:
    run = apart / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    assert state_folder(run) == run
    os.chown(run, 12345, 12345)
    assert state_folder(run) != run


def test_a_journal_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "later" / "incidents.jsonl")
    journal.append([{"first": 1}])
    (tmp_path / "later").mkdir()
    journal.append([{"second": 2}])
    assert list(journal.entries()) == [{"first": 1}, {"second": 2}]


def test_a_replaced_file_leaves_no_temporary_one_behind(tmp_path: Path) -> None:
    file = tmp_path / "state" / "a.json"
    assert replace_file(file, "one")
    assert replace_file(file, "two")
    assert [(path.name, path.read_text()) for path in file.parent.iterdir()] == [("a.json", "two")]
    assert not replace_file(file / "b", "three")
