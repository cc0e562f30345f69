"""Ids of before go on meaning something, wherever a user or an older file names a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from hrmdoc import rulebook, settings
from hrmdoc.cli.main import main
from hrmdoc.errors import UsageError
from hrmdoc.live.incidents import IncidentLog
from hrmdoc.reports.explanation import explanation
from hrmdoc.rulebook import Rulebook, named
from hrmdoc.rulebook.formerly import problems
from hrmdoc.rulebook.parsing import parse_all
from hrmdoc.settings import Acknowledgement, Policy, Settings, Threshold

SPLIT = {
    "symptoms/one.yaml": "{id: one, title: One, playbook: p, formerly: [both], when: {check: a > 1}}",
    "symptoms/two.yaml": "{id: two, title: Two, playbook: p, formerly: [both], when: {check: b > 1}}",
    "symptoms/mine.yaml": "{id: mine, title: M, playbook: p, after: [both], when: {check: seen('both')}}",
    "causes/sick.yaml": "{id: sick, title: S, prior: 0.1, playbook: p, produces: {both: 0.5},"
    " formerly: [gone], remedies: [old-pill]}",
    "remedies/pill.yaml": "{id: pill, title: P, kind: manual, risk: manual, why: w, formerly: [old-pill],"
    " verify: {gone: [both]}}",
    "signatures/s.yaml": "{subsystem: s, signatures: [{id: line, symptom: former, pattern: broken,"
    " literals: [broken], example: broken}], symptoms: [{id: message, title: M, playbook: p,"
    " formerly: [former]}]}",
}


@pytest.fixture
def book() -> Rulebook:
    return parse_all((Path(name), text.encode()) for name, text in SPLIT.items())


@pytest.fixture(scope="module")
def shipped() -> Rulebook:
    return rulebook.load()


def test_rules_that_name_others_by_an_id_of_before_mean_those_of_now(book: Rulebook) -> None:
    assert book.symptoms["mine"].after == ("one", "two")
    assert book.causes["sick"].produces == {"one": 0.5, "two": 0.5}
    assert book.causes["sick"].remedies == ("pill",)
    assert book.remedies["pill"].verify.gone == ("one", "two")
    assert book.signatures["line"].symptom == "message"


def test_settings_by_an_id_of_before_count_for_the_rules_of_now(book: Rulebook) -> None:
    given = Settings(
        disable=("both", "gone", "never-was"),
        thresholds={"both": Threshold(severity="info"), "two": Threshold(severity="critical")},
        acknowledge=(Acknowledgement("former", "known"),),
        policy=Policy(never=("both", "gone"), remedies=("old-pill",), ask=("safe", "old-pill")),
    )
    found = settings.current(given, book)
    assert found.disable == ("one", "two", "never-was")
    assert found.thresholds == {"one": Threshold(severity="info"), "two": Threshold(severity="critical")}
    assert [one.symptom for one in found.acknowledge] == ["message"]
    assert found.policy == Policy(
        never=("one", "two", "sick"), remedies=("pill",), ask=("safe", "pill"), causes=()
    )


def test_what_is_allowed_under_an_id_without_a_successor_does_not_become_all(book: Rulebook) -> None:
    given = Settings(policy=Policy(remedies=("both",)))
    assert settings.current(given, book).policy.remedies == ("both",)


def test_an_id_that_a_rule_bears_is_none_of_before(book: Rulebook) -> None:
    clash = replace(book.symptoms["one"], formerly=("two", "both"))
    clashing = replace(book, symptoms={**book.symptoms, "one": clash})
    assert list(problems(clashing)) == ["one: `formerly` names 'two', which is the id of a rule"]
    assert list(problems(clashing, own=["two"])) == []
    assert list(problems(book)) == []


def test_an_id_of_before_is_explained_by_those_that_stand_for_it(shipped: Rulebook) -> None:
    told = explanation("rank-wordless", shipped) or ""
    assert told.startswith("`rank-wordless` is no more; see `rank-silent`.")
    assert "# A rank ended without a word" in told
    assert "# A logarithm or softmax saturates" in (explanation("loss-saturated", shipped) or "")


def test_a_name_that_stands_for_no_rule_of_a_sort_says_where_to_look(shipped: Rulebook) -> None:
    assert named("rank-wordless", "symptom", shipped, shipped.symptoms) == ("rank-silent",)
    with pytest.raises(UsageError, match="no symptom 'loss-clipped'") as caught:
        named("loss-clipped", "symptom", shipped, shipped.symptoms)
    assert caught.value.hint == "what it said: hrmdoc explain numeric-saturation"
    with pytest.raises(UsageError, match="no cause 'solve'") as caught:
        named("solve", "cause", shipped, shipped.causes)
    assert "solved" in str(caught.value.hint)


def test_an_incident_that_was_kept_under_an_id_of_before_goes_on(book: Rulebook, tmp_path: Path) -> None:
    kept = {"change": "opened", "severity": "warning", "title": "", "evidence": "", "step": 3, "at": 1.0}
    file = tmp_path / "incidents.jsonl"
    file.write_text("".join(json.dumps({"symptom": name, **kept}) + "\n" for name in ("former", "gone", "x")))
    assert [one.symptom for one in IncidentLog(file, book=book).open] == ["message", "x"]


def test_a_command_takes_settings_and_options_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hrmdoc.toml").write_text('disable = ["rank-wordless", "loss-clipped"]\n')
    (tmp_path / "a.log").write_text("".join(f"step {step} loss {2 - step / 50}\n" for step in range(50)))
    assert main(["analyze", "a.log"]) == 0
    assert main(["rules", "test", "--only", "rank-wordless"]) == 0
    assert "6 cases passed, 0 failed" in capsys.readouterr().out
    assert main(["explain", "rank-wordles"]) == 2
    assert "did you mean 'rank-wordless'" in capsys.readouterr().err
