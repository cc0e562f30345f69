"""`hrmdoc alerts`, and alerts of `watch` and `run`, as a user meets them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.alerts.conftest import Hook
from tests.alerts.conftest import hook as hook_server

Command = Callable[..., Any]
hook = hook_server


@pytest.fixture
def own(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the user's own settings."""

    def write(text: str) -> Path:
        file = tmp_path / "config" / "hrmdoc" / "hrmdoc.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write


def routed(hook: Hook, more: str = "") -> str:
    return f'[[alerts.route]]\ntarget = "webhook"\nname = "hook"\nurl = "{hook.address}/s3cretpath"\n{more}\n'


def test_a_test_says_of_each_target_whether_it_was_taken(
    hrmdoc: Command, own: Callable[[str], Path], hook: Hook
) -> None:
    own(routed(hook) + '[[alerts.route]]\ntarget = "command"\ncommand = "false"\n')
    done = hrmdoc("alerts", "test")
    assert done.status == 1
    assert done.out.splitlines() == [
        "hook (webhook): delivered",
        "command (command): not delivered: false exited with 1",
    ]
    assert hook.bodies[0]["symptom"] == "hrmdoc-test"
    own(routed(hook))
    assert hrmdoc("alerts", "test").status == 0


def test_what_waits_is_listed_without_secrets_and_sent_by_retry(
    hrmdoc: Command, own: Callable[[str], Path], hook: Hook, sick: Path
) -> None:
    own(routed(hook, 'quiet = ["22:00-07:00"]'))
    hook.status = 503
    watched = hrmdoc("watch", "--once", sick)
    assert "hook: 1 not delivered yet" in watched.err
    listed = hrmdoc("alerts", "list")
    assert listed.status == 0
    assert "quiet 22:00-07:00 below critical" in listed.out
    assert "failing: HTTP 503 (" in listed.out
    assert "waits: " in listed.out
    assert "CRITICAL loss-nonfinite" in listed.out
    assert "s3cretpath" not in listed.out + listed.err + watched.err
    assert hrmdoc("alerts", "retry").status == 1
    hook.status = 204
    done = hrmdoc("alerts", "retry")
    assert (done.status, done.out) == (0, "hook: 1 delivered, 0 waiting\n")
    assert "waits" not in hrmdoc("alerts", "list").out
    assert [body["symptom"] for body in hook.bodies] == ["loss-nonfinite"]


def test_run_tells_the_targets_too(
    spawn: Command, own: Callable[[str], Path], hook: Hook, sick: Path
) -> None:
    own(routed(hook))
    script = f"import pathlib; print(pathlib.Path({str(sick)!r}).read_text())"
    done = spawn("run", "--log", "o.log", "--", sys.executable, "-c", script)
    assert done.status == 0
    (body,) = hook.bodies
    assert (body["symptom"], Path(body["run"]).name) == ("loss-nonfinite", "o.log")


def test_a_watch_whose_terminal_has_gone_tells_the_targets_all_the_same(
    own: Callable[[str], Path], hook: Hook, sick: Path
) -> None:
    own(routed(hook))
    words = [sys.executable, "-m", "hrmdoc", "watch", "--once", str(sick)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait(60)
    assert [body["symptom"] for body in hook.bodies] == ["loss-nonfinite"]


def test_where_no_route_counts_the_way_is_said(hrmdoc: Command, apart: Path, hook: Hook) -> None:
    assert "no alert goes anywhere" in hrmdoc("alerts", "list").err
    (apart / "hrmdoc.toml").write_text(routed(hook))
    done = hrmdoc("alerts", "test")
    assert (done.status, hook.asked) == (2, 0)
    assert "hrmdoc trust" in done.err
    trusted = hrmdoc("trust")
    assert "127.0.0.1" in trusted.out
    assert "s3cretpath" not in trusted.out
    assert hrmdoc("alerts", "test").status == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[alerts.route]]\ntarget = "pagerdut"', "pagerdut"),
        ('[[alerts.route]]\ntarget = "pagerduty"\ntoken = "x"', "did you mean 'token_env'"),
        ('[[alerts.route]]\ntarget = "webhook"\nurl = "http://a"\nquiet = ["25:00-1"]', "quiet"),
        ('[[alerts.route]]\ntarget = "webhook"\nname = "../x"\nurl = "http://a"', "name"),
        ('[[alerts.route]]\ntarget = "webhook"', "`url_env` or `url_file` is missing"),
    ],
)
def test_a_wrong_route_is_named_with_what_is_wrong(
    hrmdoc: Command, own: Callable[[str], Path], sick: Path, text: str, said: str
) -> None:
    file = own(text)
    for words in (("alerts", "list"), ("watch", "--once", sick)):
        done = hrmdoc(*words)
        assert done.status == 2
        assert said in done.err
        assert str(file) in done.err


def test_pagerduty_alone_is_told_that_somebody_looks(
    hrmdoc: Command, own: Callable[[str], Path], hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(routed(hook))
    assert hrmdoc("alerts", "acknowledge", "hrmdoc-1").status == 2
    own(f'[[alerts.route]]\ntarget = "pagerduty"\ntoken_env = "PAGER"\nurl = "{hook.address}"\n')
    monkeypatch.setenv("PAGER", "k" * 32)
    assert hrmdoc("alerts", "acknowledge", "hrmdoc-1").status == 0
    assert [(body["event_action"], body["dedup_key"]) for body in hook.bodies] == [
        ("acknowledge", "hrmdoc-1")
    ]
