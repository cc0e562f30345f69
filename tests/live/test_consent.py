"""What waits for a person, what is withheld, and what a hostile log cannot bring about."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hrmdoc.analysis import Analysis, AnalysisSession
from hrmdoc.cli.main import cli, main
from hrmdoc.errors import ConfigError
from hrmdoc.live import consent
from hrmdoc.live.actionlog import verify
from hrmdoc.live.offers import live_actions
from hrmdoc.live.treatment import Treatment
from hrmdoc.record.records import Fact
from hrmdoc.remedies.actions import Answer
from hrmdoc.settings import Policy, Settings, adjusted

ASKING = Policy(auto=("safe",), ask=("guarded",), cooldown_s=0.0)
FREE = Policy(auto=("safe", "guarded"), cooldown_s=0.0)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"schema": "hrmdoc.run/1", "state": "running"}')
    return folder


def curve(last: int) -> str:
    return "".join(f"step {i} | loss {2 - i / 200} | grad_norm 1.0 | lr 5e-05\n" for i in range(last))


def diagnosed(run: Path, text: str, *facts: Fact) -> Analysis:
    (run / "train.log").write_text(text)
    session = AnalysisSession(str(run), settings=Settings())
    session.read([str(run)])
    session.run.extend(facts)
    return session.diagnose(closed=False)


def sick(run: Path) -> Analysis:
    return diagnosed(
        run, curve(50) + "".join(f"step {i} | loss nan | grad_norm nan\n" for i in range(50, 54))
    )


class Trainer:
    def __init__(self, status: str = "done") -> None:
        self.asked: list[str] = []
        self.status = status

    def __call__(self, folder: Path, action: str, **_: Any) -> Answer:
        self.asked.append(action)
        return Answer("1", action, self.status, 54)


def test_what_asks_waits_for_a_yes_and_is_asked_once(run: Path) -> None:
    trainer = Trainer()
    treatment = Treatment(ASKING, run, run / "actions.jsonl", trainer)
    (asked,) = treatment.treat(sick(run), 1.0)
    assert (asked.status, asked.remedy) == ("asked", "roll-back")
    assert asked.id in asked.why
    assert treatment.treat(sick(run), 2.0) == []
    assert trainer.asked == []
    listed = CliRunner().invoke(cli, ["approve", str(run)]).output
    assert listed.startswith(f"{asked.id}  roll-back: rollback, for ")
    assert main(["approve", str(run), asked.id]) == 0
    (done,) = treatment.treat(sick(run), 3.0)
    assert (done.status, trainer.asked) == ("done", ["rollback"])
    told = CliRunner().invoke(cli, ["log", str(run)]).output
    assert [line.split()[2] for line in told.splitlines()] == ["asked", "approved", "done"]
    assert verify(run / "actions.jsonl").flaw == ""


def test_a_no_withholds_it_for_good(run: Path) -> None:
    trainer = Trainer()
    treatment = Treatment(ASKING, run, run / "actions.jsonl", trainer)
    (asked,) = treatment.treat(sick(run), 1.0)
    assert main(["approve", "--no", str(run), asked.id]) == 0
    (withheld,) = treatment.treat(sick(run), 2.0)
    assert (withheld.status, withheld.why) == ("withheld", "a person said no")
    assert treatment.treat(sick(run), 3.0) == []
    assert trainer.asked == []


def test_an_answer_is_a_file_of_this_user_that_says_yes_or_no(tmp_path: Path) -> None:
    (tmp_path / "replies").mkdir()
    ids = [f"0000000{number}" for number in range(7)]
    for name, text in zip(ids, ("yes\n", " No", "perhaps", ""), strict=False):
        (tmp_path / "replies" / name).write_text(text)
    os.symlink(tmp_path / "replies" / ids[0], tmp_path / "replies" / ids[4])
    os.mkfifo(tmp_path / "replies" / ids[5])
    answers = [consent.reply(tmp_path, name) for name in ids]
    assert answers == ["yes", "no", None, None, None, None, None]
    if os.getuid() == 0:
        os.chown(tmp_path / "replies" / ids[0], 12345, 12345)
        assert consent.reply(tmp_path, ids[0]) is None


def test_an_id_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "replies").mkdir()
    (tmp_path / "elsewhere").write_text("yes\n")
    assert consent.reply(tmp_path, "../elsewhere") is None
    assert not consent.answer(tmp_path, "../planted", "yes")
    assert not (tmp_path / "planted").exists()


def test_an_answer_does_not_follow_a_planted_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "replies").symlink_to(tmp_path / "elsewhere")
    assert not consent.answer(tmp_path, "0123abcd", "yes")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_who_prepared_a_folder_cannot_know_the_id_of_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {}
    for number, user in enumerate(("mine", "theirs")):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / user))
        monkeypatch.setattr(consent, "_OF_PROCESS", bytes([number]) * 32)
        ids[user] = consent.request_id("set-rate", "set_lr lr=1e-05")
        monkeypatch.setattr(consent, "_OF_PROCESS", b"of another" * 3 + b"..")
        assert consent.request_id("set-rate", "set_lr lr=1e-05") == ids[user]
    assert ids["mine"] != ids["theirs"]
    assert (tmp_path / "mine" / "hrmdoc" / "consent.key").stat().st_mode & 0o077 == 0


def test_a_planted_record_asks_for_nothing_and_reaches_no_terminal(run: Path) -> None:
    line = {"status": "asked", "title": "t", "reason": "r", "what": "w", "at": 1.0}
    forged = [
        {**line, "remedy": "a", "id": "../../planted"},
        {**line, "remedy": "a", "id": ["x"]},
        {**line, "remedy": ["a"], "id": "01234567"},
        {**line, "remedy": "\x1b]0;owned\x07 \x1b[2J", "id": "89abcdef"},
    ]
    (run / "actions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in forged))
    shown = CliRunner().invoke(cli, ["approve", str(run)], color=True)
    assert shown.exception is None
    assert shown.stdout.startswith("89abcdef ")
    assert len(shown.stdout.splitlines()) == 1
    assert shown.stdout.rstrip("\n").isprintable()


def test_a_yes_to_one_change_is_none_to_another() -> None:
    assert consent.request_id("set-rate", "set_lr lr=1e-05") != consent.request_id("set-rate", "set_lr lr=1")


def test_an_id_that_was_never_asked_is_an_error(run: Path) -> None:
    assert main(["approve", str(run), "12345678"]) == 2
    assert main(["approve", str(run / "nowhere")]) == 2


def test_checkpoints_are_paused_while_the_disk_is_low_and_go_on_when_there_is_room(run: Path) -> None:
    trainer = Trainer()
    treatment = Treatment(FREE, run, run / "actions.jsonl", trainer)

    def free(gib: float, now: float) -> list[str]:
        analysis = diagnosed(run, curve(50), Fact("env.disk_free_gib", gib, "run", ""))
        return [action.status for action in treatment.treat(analysis, now)]

    assert free(50.0, 1.0) == []
    assert free(4.0, 2.0) == ["done"]
    assert free(3.0, 3.0) == []
    assert free(50.0, 4.0) == ["helped", "released"]
    assert trainer.asked == ["pause_checkpoints", "resume_checkpoints"]
    assert free(4.0, 5.0) == ["done"], "and once more"
    trainer.status = "failed"
    assert free(50.0, 6.0) == ["failed"]
    assert free(50.0, 7.0) == [], "not at every update"
    trainer.status = "done"
    assert free(50.0, 100.0) == ["helped", "released"]


def test_what_has_not_helped_in_its_time_is_ineffective(run: Path) -> None:
    treatment = Treatment(Policy(auto=("guarded",), verify_s=60.0), run, None, Trainer())
    assert [one.status for one in treatment.treat(sick(run), 1.0)] == ["done"]
    assert treatment.treat(sick(run), 60.0) == []
    assert [one.status for one in treatment.treat(sick(run), 62.0)] == ["ineffective"]
    assert treatment.treat(sick(run), 63.0) == []


HOSTILE = """\
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a capacity of 23.65 GiB
OSError: [Errno 28] No space left on device: '/checkpoints/step_9'
RuntimeError: Loss is nan, stopping training
{"action": "stop", "id": "x", "reason": "hrmdoc"}
hrmdoc: approve roll-back yes
resume from ../../../../etc/passwd; rm -rf / ; $(reboot) `reboot`
config_source: /etc/shadow
"""


def test_lines_of_a_log_bring_about_no_action(run: Path) -> None:
    trainer = Trainer()
    analysis = diagnosed(run, curve(50) + HOSTILE + curve(60).split("\n", 50)[-1])
    assert {one.id for one in analysis.present} >= {"oom-cuda", "disk-full"}, "they are seen all the same"
    assert list(live_actions(analysis)) == []
    assert Treatment(FREE, run, run / "actions.jsonl", trainer).treat(analysis, 1.0) == []
    assert trainer.asked == []
    assert not (run / "control").exists()


def test_a_record_that_was_tampered_with_is_named(run: Path) -> None:
    Treatment(FREE, run, run / "actions.jsonl", Trainer()).treat(sick(run), 1.0)
    assert main(["log", "--verify", str(run)]) == 0
    record = run / "actions.jsonl"
    record.write_text(record.read_text().replace("roll-back", "roll-over"))
    done = CliRunner().invoke(cli, ["log", "--verify", str(run)], standalone_mode=False)
    assert done.return_value == 1
    assert f"{record}:1: " in done.output


def test_a_record_is_shown_without_what_would_move_a_terminal(run: Path) -> None:
    entry = {"what": "\x1b[2Jgone", "status": "done\x1b[0m", "at": "soon"}
    (run / "actions.jsonl").write_text(json.dumps(entry) + "\n[1]\nnonsense\n")
    told = CliRunner().invoke(cli, ["log", str(run)]).output
    assert "gone" in told
    assert "\x1b" not in told


def test_a_run_to_which_nothing_was_done_says_so(run: Path) -> None:
    assert main(["log", str(run)]) == 0
    assert main(["log", "--verify", str(run)]) == 2
    assert main(["log", str(run / "nowhere")]) == 2


@pytest.mark.parametrize("key", ["remedies", "causes", "never", "ask"])
def test_a_policy_that_names_nothing_that_exists_is_refused(key: str) -> None:
    settings = Settings(policy=Policy(**{key: ("rol-back",)}))
    with pytest.raises(ConfigError, match=f"policy.{key}: there is no 'rol-back'"):
        adjusted(AnalysisSession("x", settings=Settings()).book, settings)


def test_what_was_done_or_cannot_be_done_any_more_is_not_said_to_be_approved(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    treatment = Treatment(ASKING, run, run / "actions.jsonl", Trainer())
    (asked,) = treatment.treat(sick(run), 1.0)
    (run / "run.json").write_text('{"schema": "hrmdoc.run/1", "state": "finished"}')
    assert main(["approve", str(run), asked.id]) == 1
    assert "the run is finished: nothing is done" in capsys.readouterr().err
    (run / "run.json").write_text('{"schema": "hrmdoc.run/1", "state": "running"}')
    (done,) = treatment.treat(sick(run), 2.0)
    assert done.status == "done"
    assert main(["approve", str(run), asked.id]) == 2
