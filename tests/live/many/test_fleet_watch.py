"""`hrmdoc watch ROOT --all`: every run below a folder, each by itself."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.analysis import Prepared
from hrmdoc.beats import Sign
from hrmdoc.cli.main import main
from hrmdoc.live import growing, pace
from hrmdoc.live.many import beats as many_beats
from hrmdoc.live.many import finder, fleet_watch, roster
from hrmdoc.live.many.beats import Beats
from hrmdoc.live.many.fleet_watch import FleetWatch
from hrmdoc.live.many.news import News
from hrmdoc.live.watch import Watch
from hrmdoc.settings import Policy, Settings

NAN = float("nan")
TRAINEE = Path(__file__).parents[1] / "trainee.py"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return Prepared.of(Settings())


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setattr(finder, "LEAST_S", 0.0)
    monkeypatch.setattr(finder, "SPARE", 0)
    monkeypatch.setattr(fleet_watch, "POLL_EACH_S", 0.0)
    return tmp_path


def rows(first: int, last: int, loss: float | None = None) -> str:
    return "".join(
        json.dumps({"step": i, "loss": 2 - i / 200 if loss is None else loss, "lr": 5e-5}) + "\n"
        for i in range(first, last)
    )


def made(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir(parents=True)
        (root / name / "metrics.jsonl").write_text(rows(0, 40))
    return root


def add(run: Path, text: str) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write(text)


def news_until(fleet: FleetWatch, wanted: Callable[[News], bool], turns: int = 200) -> list[News]:
    """What is told until that comes."""
    told: list[News] = []
    for _ in range(turns):
        for one in fleet.turn():
            told.append(one)
            if wanted(one):
                return told
        time.sleep(0.02)
    raise AssertionError(f"it did not come; {[(one.kind, one.entry.name) for one in told]}")


def settled(fleet: FleetWatch) -> list[News]:
    told = list(fleet.turn())
    while fleet.busy:
        told += fleet.turn()
    return told


def opened(symptom: str, name: str) -> Callable[[News], bool]:
    def wanted(news: News) -> bool:
        changes = [] if news.update is None else news.update.changes
        return news.entry.name == name and (symptom, "opened") in [(c.symptom, c.change) for c in changes]

    return wanted


def test_an_incident_is_told_with_its_run_and_of_no_other(tmp_path: Path, prepared: Prepared) -> None:
    fleet = FleetWatch(str(made(tmp_path / "runs", "a", "b", "c")), prepared)
    assert [one.entry.name for one in settled(fleet) if one.kind == "found"] == ["a", "b", "c"]
    add(tmp_path / "runs" / "b", rows(40, 44, NAN))
    told = news_until(fleet, opened("loss-nonfinite", "b"))
    assert {one.entry.name for one in told if one.update is not None and one.update.changes} == {"b"}
    assert [fleet.entries[name].severity for name in "abc"][1] == "critical"


def test_a_run_that_appears_is_followed_also_where_its_folder_was_empty_at_first(
    tmp_path: Path, prepared: Prepared
) -> None:
    root = made(tmp_path / "runs", "a")
    fleet = FleetWatch(str(root), prepared)
    settled(fleet)
    (root / "late").mkdir()
    list(fleet.turn())
    (root / "late" / "train.log").write_text(
        "".join(f"step {i} | loss {'nan' if i > 30 else 2 - i / 200} | lr 5e-05\n" for i in range(35))
    )
    news_until(fleet, opened("loss-nonfinite", "late"))


def test_a_run_that_ends_leaves_and_one_that_is_removed_too(tmp_path: Path, prepared: Prepared) -> None:
    root = made(tmp_path / "runs", "a", "b", "c")
    fleet = FleetWatch(str(root), prepared)
    settled(fleet)
    (root / "a" / "events.jsonl").write_text('{"event": "ended", "time": 1}\n')
    news_until(fleet, lambda one: one.kind == "ended" and one.entry.name == "a")
    assert (fleet.entries["a"].state, fleet.entries["a"].watch) == ("ended", None)
    shutil.rmtree(root / "b")
    news_until(fleet, lambda one: one.kind == "gone" and one.entry.name == "b")
    assert fleet.entries["c"].watch is not None


def test_a_run_that_breaks_the_reader_costs_its_own_row_alone(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = Watch.poll

    def breaks(watch: Watch, *arguments: Any, **options: Any) -> None:
        if watch.path.endswith("bad"):
            raise RuntimeError("a fault")
        poll(watch, *arguments, **options)

    monkeypatch.setattr(Watch, "poll", breaks)
    root = made(tmp_path / "runs", "a", "bad")
    fleet = FleetWatch(str(root), prepared)
    told = settled(fleet)
    assert [one.entry.why for one in told if one.kind == "unreadable"] == ["RuntimeError: a fault"]
    add(root / "a", rows(40, 44, NAN))
    news_until(fleet, opened("loss-nonfinite", "a"))
    assert fleet.entries["bad"].state == "unreadable"


def test_what_is_one_run_does_not_change_with_what_lies_beside_it(tmp_path: Path, prepared: Prepared) -> None:
    root = made(tmp_path / "runs", "a")
    (root / "b").mkdir()
    (root / "b" / "train.log").write_text("step 1 | loss 2.0\nstep 2 | loss 1.9\nstep 3 | loss 1.8\n")
    (root / "job-7.log").write_text("step 1 | loss 2.0\nstep 2 | loss 1.9\nstep 3 | loss 1.8\n")
    fleet = FleetWatch(str(root), prepared)
    settled(fleet)
    assert sorted(fleet.entries) == ["a", "b", "job-7.log"]


def test_a_silent_run_is_put_aside_and_followed_again_when_it_is_written(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "ASIDE_S", 0.0)
    root = made(tmp_path / "runs", "a", "old")
    for name, age in (("a", 7_200), ("old", 200_000)):
        os.utime(root / name / "metrics.jsonl", (time.time() - age,) * 2)
    fleet = FleetWatch(str(root), prepared)
    settled(fleet)
    for _ in range(100):
        list(fleet.turn())
        if fleet.entries["a"].state == "idle":
            break
        time.sleep(0.05)
    assert [fleet.entries[name].state for name in ("a", "old")] == ["idle", "old"]
    assert fleet.entries["a"].watch is None
    add(root / "a", rows(40, 44, NAN))
    add(root / "old", rows(40, 44, NAN))
    news_until(fleet, opened("loss-nonfinite", "old"))
    assert fleet.entries["a"].severity == "critical"


def test_three_hundred_runs_are_watched_in_one_process(tmp_path: Path, prepared: Prepared) -> None:
    root = tmp_path / "runs"
    for index in range(300):
        (root / f"job-{index:03d}").mkdir(parents=True)
        (root / f"job-{index:03d}" / "metrics.jsonl").write_text(rows(0, 3))
    fleet = FleetWatch(str(root), prepared, {"remember": False})
    settled(fleet)
    assert Counter(one.state for one in fleet.entries.values()) == {"running": 300}
    for name in ("job-007", "job-299"):
        add(root / name, rows(3, 8, NAN))
    news_until(fleet, opened("loss-nonfinite", "job-007"))
    assert [one.name for one in fleet.entries.values() if one.severity == "critical"].count("job-007") == 1


def test_once_prints_a_table_the_worst_first_and_exits_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = made(tmp_path / "runs", "a", "b")
    add(root / "b", rows(40, 44, NAN))
    assert main(["watch", str(root), "--all", "--once", "--no-state"]) == 1
    output = capsys.readouterr().out
    lines = [line.split() for line in output.splitlines()]
    assert [line[0] for line in lines[1:3]] == ["b", "a"]
    assert "2 runs: 1 critical" in output


def test_a_folder_without_runs_is_said_to_hold_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["watch", str(tmp_path / "empty"), "--all", "--once"]) == 2
    assert capsys.readouterr().out == "0 runs\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-folder", "--all"], "no such"),
        (["file.log", "--all"], "wants a folder"),
        ([".", "--leases", "x"], "--leases goes with --all"),
        ([".", "--all", "--act"], "policy.auto is empty"),
        ([".", "--all", "--heartbeat", "x.json"], "of one run"),
        ([".", "--all", "--heartbeat", "redis://h/0#a"], "of one run"),
        ([".", "--all", "--heartbeat", "ftp://h/"], "no heartbeat can go to"),
        ([".", "--all", "--measure", "5"], "--measure goes with one run"),
        ([".", "--all", "--config", "x.yaml"], "--config is that of one run"),
        (["-", "--all"], "wants a folder"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file.log").write_text("x")
    assert main(["watch", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_long_log_is_read_in_turns_and_examined_once_all_of_it_was_read(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "BLOCK", 2048)
    monkeypatch.setattr(fleet_watch, "READ_S", -1.0)
    root = made(tmp_path / "runs", "long", "short")
    add(root / "long", rows(40, 400))
    fleet = FleetWatch(str(root), prepared, {"remember": False})
    told = list(fleet.turn())
    assert {one.entry.name for one in told if one.kind == "examined"} == {"short"}
    first = news_until(fleet, lambda one: one.kind == "examined" and one.entry.name == "long")
    assert first[-1].entry.step == 399


def test_where_a_turn_is_too_short_for_all_none_waits_forever(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path / "runs", "a", "b", "c")
    fleet = FleetWatch(str(root), prepared, {"remember": False})
    settled(fleet)
    read: list[str] = []
    poll = Watch.poll

    def noted(watch: Watch, *arguments: Any, **options: Any) -> None:
        read.append(Path(watch.path).name)
        time.sleep(0.002)
        poll(watch, *arguments, **options)

    monkeypatch.setattr(Watch, "poll", noted)
    monkeypatch.setattr(fleet_watch, "TURN_S", 0.001)
    for _ in range(6):
        list(fleet.turn())
    assert set(read) == {"a", "b", "c"}


def test_usual_rows_are_read_some_at_a_time_and_an_unusual_one_at_once(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "MOST_S", 1e6)
    monkeypatch.setattr(pace, "LEAST_S", 1e6)  # an ordinary examination takes in what is held
    root, now = made(tmp_path / "runs", "a"), [0.0]
    fleet = FleetWatch(str(root), prepared, {"remember": False}, poll_s=1.0, steady=lambda: now[0])
    settled(fleet)

    def later(first: int, last: int, loss: float | None = None, *, seconds: float = 1.5) -> int:
        add(root / "a", rows(first, last, loss))
        now[0] += seconds
        list(fleet.turn())
        watch = fleet.entries["a"].watch
        assert watch is not None
        return watch.session.run.points // 2

    for at in range(40, 60, 2):  # it learns what is usual
        later(at, at + 2)
    read = later(60, 62, seconds=30.0)
    assert read == 62
    assert [later(at, at + 2) for at in range(62, 70, 2)] == [62] * 4
    assert later(70, 71, NAN) == 71
    assert [later(at, at + 2) for at in range(71, 79, 2)] == [73, 75, 77, 79]


def test_a_file_that_was_empty_when_it_was_found_is_followed_once_it_grows(
    tmp_path: Path, prepared: Prepared
) -> None:
    root = made(tmp_path / "runs", "a", "late")
    log = root / "late" / "metrics.jsonl"
    log.write_text("")
    os.utime(root / "late", (1_000_000_000,) * 2)
    fleet = FleetWatch(str(root), prepared, {"remember": False})
    settled(fleet)
    assert set(fleet.entries) == {"a"}
    log.write_text(rows(0, 40))
    news_until(fleet, lambda one: one.kind == "found" and one.entry.name == "late", turns=20)


def test_what_is_written_behind_an_end_tells_of_no_second_end(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "ASIDE_S", 0.0)
    root = made(tmp_path / "runs", "a")
    (root / "a" / "events.jsonl").write_text('{"event": "ended", "time": 1}\n')
    fleet = FleetWatch(str(root), prepared, {"remember": False})
    news_until(fleet, lambda one: one.kind == "ended")
    add(root / "a", rows(40, 42))
    told = news_until(fleet, lambda one: one.kind == "examined")
    assert [one.kind for one in [*told, *fleet.turn()]].count("ended") == 0
    assert (fleet.entries["a"].state, fleet.entries["a"].step) == ("ended", 41)


def test_a_run_is_treated_under_the_policy_while_others_are_watched(tmp_path: Path) -> None:
    acting = Prepared.of(Settings(policy=Policy(auto=["safe", "guarded"])))
    root = made(tmp_path / "runs", "well")
    process = subprocess.Popen([sys.executable, str(TRAINEE), str(root / "ill"), "nan"])
    fleet = FleetWatch(str(root), acting, {"act": True})
    try:
        told = news_until(fleet, lambda one: one.kind == "treated" and one.entry.name == "ill", turns=2000)
        assert told[-1].update is not None
        assert [(one.remedy, one.status) for one in told[-1].update.actions] == [("roll-back", "done")]
        assert "roll-back" in (root / "ill" / "actions.jsonl").read_text()
    finally:
        (root / "ill" / "stop").touch()
        process.wait()
        fleet.finish()


def test_pipes_and_links_that_lead_nowhere_or_in_circles_hide_no_run(
    tmp_path: Path, prepared: Prepared
) -> None:
    root = made(tmp_path / "runs", "b")
    os.mkfifo(root / "pipe.log")
    os.mkfifo(root / "b" / "train.log")
    for name, to in (("dead", "nowhere"), ("a-self", "."), ("round", "round"), ("b/up", ".."), ("a-b", "b")):
        (root / name).symlink_to(to)
    fleet = FleetWatch(str(root), prepared, {"remember": False})
    settled(fleet)
    assert {name: one.state for name, one in fleet.entries.items()} == {"b": "running"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_has_a_row_also_where_there_is_nothing_else(
    tmp_path: Path, prepared: Prepared
) -> None:
    root = made(tmp_path / "runs", "secret")
    (root / "secret").chmod(0)
    try:
        fleet = FleetWatch(str(root), prepared, {"remember": False})
        assert [(one.kind, one.entry.name) for one in settled(fleet)] == [("unreadable", "secret")]
    finally:
        (root / "secret").chmod(0o700)
    news_until(fleet, lambda one: one.kind == "examined" and one.entry.name == "secret")


def test_a_log_that_cannot_be_decoded_has_its_reason_in_the_table_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    root = made(tmp_path / "runs", "a", "b")
    (root / "b" / "metrics.jsonl").rename(root / "b" / "metrics.jsonl.gz")
    (root / "b" / "metrics.jsonl.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 900)
    assert main(["watch", str(root), "--all", "--once", "--no-state"]) == 2
    assert re.search(r"b/metrics.jsonl.gz .* unreadable .* the gzip data is damaged", capsys.readouterr().out)


def test_heartbeats_of_many_are_read_by_their_runs(tmp_path: Path) -> None:
    place, said = tmp_path / "beats", []
    (place / "group" / "a").mkdir(parents=True)
    beats = Beats(str(place), said.append)
    beats.close()
    found = {name: beats.of(f"group/{name}", str(tmp_path)) for name in ("a", "b")}
    beats.round()
    assert [math.isnan(found[name].beaten()) for name in ("a", "b")] == [True, True]  # none is missed
    (place / "group" / "a" / "heartbeat.json").write_text('{"time": 1, "state": "running"}')
    beats.round()
    assert [math.isnan(found[name].beaten()) for name in ("a", "b")] == [False, True]
    assert said == []


def test_a_redis_that_is_away_is_asked_once_a_round_and_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("redis")
    asked, said = [], []

    class Away:
        def read(self) -> None:
            asked.append(1)
            raise ConnectionError("refused")

    monkeypatch.setattr(many_beats, "target", lambda *_: Away())
    beats = Beats("redis://localhost:1/0", said.append)
    beats.close()
    found = [beats.of(name, ".") for name in ("a", "b")]
    for _ in range(2):
        beats.round()
    assert (len(asked), len(said)) == (2, 1)
    assert all(math.isnan(one.beaten()) for one in found)


def test_runs_of_one_name_have_keys_of_their_own_in_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("redis")
    held: dict[str, Sign] = {}

    class Place:
        def __init__(self, _: str, name: str) -> None:
            self.name = name

        def read(self) -> Sign | None:
            return held.get(self.name)

    monkeypatch.setattr(many_beats, "target", Place)
    said: list[str] = []
    beats = Beats("redis://localhost:1/0", said.append)
    beats.close()
    found = {name: beats.of(name, ".") for name in ("x/seed-0", "y/seed-0", "seed-0")}
    found["z/alone"] = beats.of("z", ".", "alone")

    def known() -> list[str]:
        beats.round()
        return [name for name, one in found.items() if not math.isnan(one.beaten())]

    held["alone"] = Sign("{}", 0.0, 1)
    assert known() == ["z/alone"]
    assert len(said) == 1
    assert "several runs are called 'seed-0'" in said[0]
    held["seed-0"] = Sign("{}", 0.0, 2)
    assert known() == ["z/alone"], "whose sign this is nobody knows"
    held["x/seed-0"] = Sign("{}", 0.0, 3)
    assert known() == ["x/seed-0", "z/alone"]
    held["y/seed-0"] = Sign("{}", 0.0, 4)
    assert known() == ["x/seed-0", "y/seed-0", "seed-0", "z/alone"], "the one that is left gave the other"
    del held["x/seed-0"]  # it expired: its silence is no other run's sign
    seen = found["x/seed-0"].beaten()
    held["seed-0"] = Sign("{}", 0.0, 5)
    assert known() == ["x/seed-0", "y/seed-0", "seed-0", "z/alone"]
    assert found["x/seed-0"].beaten() == seen
    assert len(said) == 1
    beats.elsewhere = ("other/alone",)
    assert "z/alone" not in known(), "another watcher follows a run of that name"


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where alerts go."""
    own = tmp_path / "config" / "hrmdoc" / "hrmdoc.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'[alerts]\ncommand = "tee -a {tmp_path / "told"}"\n')
    return tmp_path / "told"


def watcher(root: Path, home: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "XDG_STATE_HOME": str(home)}
    words = [
        sys.executable,
        "-m",
        "hrmdoc",
        "watch",
        str(root),
        "--all",
        "--leases",
        str(root.parent / "shared"),
    ]
    with (home.parent / f"{home.name}.out").open("w") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(what: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)


def test_two_watchers_tell_each_finding_once_and_one_takes_over_from_the_other(
    tmp_path: Path, told: Path
) -> None:
    names = [f"job-{index}" for index in range(12)]
    root = made(tmp_path / "runs", *names)

    def alerts() -> Counter[str]:
        text = told.read_text() if told.exists() else ""
        counted = {name: text.count(f'"run": "{root / name}"') for name in names}
        return Counter({name: number for name, number in counted.items() if number})

    watchers = [watcher(root, tmp_path / name) for name in ("one", "two")]
    first, _ = map(next, watchers)
    try:
        outs = [tmp_path / "one.out", tmp_path / "two.out"]
        until(lambda: sum("following what" in out.read_text() for out in outs) == 2)
        until(lambda: any("another watcher" in out.read_text() for out in outs))
        for name in names[:6]:
            add(root / name, rows(40, 44, NAN))
        until(lambda: len(alerts()) == 6)
        first.send_signal(signal.SIGKILL)
        for name in names[6:]:
            add(root / name, rows(40, 44, NAN))
        until(lambda: len(alerts()) == 12)
        time.sleep(2)
        assert set(alerts().values()) == {1}, alerts()
    finally:
        for one in watchers:
            one.close()  # type: ignore[attr-defined]
