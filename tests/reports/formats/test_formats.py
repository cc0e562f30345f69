"""Every format says the same of a run, and no text of a run gets out of the place that it is put in."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from hrmdoc.cli.shared import forms
from hrmdoc.reports.formats import FORMATS, Finding, Result, of_document, render
from hrmdoc.reports.formats.result import UNREAD, line_of, local

HOSTILE = "x](http://e.vil) | <b>&amp;\"' ::error::y %0A \x00\x1b[31m\n::error file=a::z"
SPIKE = Finding(
    "loss-spike", "Loss jumps", "warning", "from 1 to 9", "runs/a/train.log", 7, 40, metric="loss"
)
RUN = Result(
    "runs/a",
    "warning",
    "Loss jumps",
    (SPIKE, Finding("seed-missing", "No seed is set", "info", file="runs/a/config.yaml")),
    (("The learning rate is too high", 0.8),),
    "Lower the learning rate (lr: 1.0 → 0.1)",
    ("no-validation", "kl-high"),
    {"verdict": "warning"},
)
WELL = Result("runs/b", "healthy", "no fault found", document={"verdict": "healthy"})
UNCLEAR = Result("c", "no_data", "?", (Finding(UNREAD, "Not read", "warning", "torn", "c/d.json", 3),))
SARIF = {  # what GitHub's upload asks for beside the schema
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"required": ["driver"]},
                    "results": {
                        "items": {
                            "required": ["ruleId", "message", "locations", "partialFingerprints"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"properties": {"text": {"type": "string", "minLength": 1}}},
                                "locations": {"minItems": 1},
                            },
                        }
                    },
                },
            }
        },
    },
}


def hostile() -> Result:
    finding = replace(SPIKE, evidence=HOSTILE, metric=HOSTILE, file=f"runs/{HOSTILE}.log")
    return replace(RUN, path=HOSTILE, findings=(finding,), remedy=HOSTILE)


def sarif(*results: Result) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(render("sarif", results))
    Draft202012Validator(SARIF).validate(log)
    return log["runs"][0]  # type: ignore[no-any-return]


def test_the_command_line_offers_every_format() -> None:
    assert set(forms.FORMATS) == {"text", "json", *FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_own_file_and_can_say_that_nothing_was_found(name: str) -> None:
    text = render(name, [WELL])
    assert text == "" or text.endswith("\n")
    assert render(name, []) is not None


def test_sarif_places_a_finding_and_declares_its_rule() -> None:
    run = sarif(RUN, WELL)
    found = run["results"][0]
    assert found["level"] == "warning"
    assert found["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "runs/a/train.log"},
        "region": {"startLine": 7},
    }
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"] == "loss-spike"
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_says_that_a_run_could_not_be_judged_instead_of_calling_it_clean() -> None:
    told = sarif(UNCLEAR)["invocations"][0]
    assert told["executionSuccessful"] is False
    assert "torn" in told["toolExecutionNotifications"][0]["message"]["text"]


def test_an_acknowledged_finding_is_suppressed_or_left_out_and_fails_nothing() -> None:
    known = replace(RUN, findings=(replace(SPIKE, known="meant so"),))
    assert sarif(known)["results"][0]["suppressions"][0]["justification"] == "meant so"
    assert render("github", [known]) == ""
    assert json.loads(render("gitlab", [known])) == []
    assert ET.fromstring(render("junit", [known])).get("failures") == "0"
    assert "acknowledged: meant so" in render("junit", [known])


def test_a_fingerprint_outlives_a_line_that_moves() -> None:
    moved = replace(SPIKE, line=99, evidence="from 1 to 10")
    assert SPIKE.fingerprint("runs/a") == moved.fingerprint("runs/a") != SPIKE.fingerprint("runs/b")


def test_junit_fails_from_the_severity_on_that_was_asked_for() -> None:
    counts = {
        level: ET.fromstring(render("junit", [RUN, WELL], level)).get("failures")
        for level in ("info", "warning", "critical", "never")
    }
    assert counts == {"info": "2", "warning": "1", "critical": "0", "never": "0"}


def test_junit_counts_what_it_holds() -> None:
    root = ET.fromstring(render("junit", [RUN, WELL, UNCLEAR]))
    assert root.get("tests") == str(len(root.findall(".//testcase")))
    assert root.get("errors") == str(len(root.findall(".//error"))) == "1"
    assert root.get("skipped") == str(len(root.findall(".//skipped"))) == "1"


def test_a_workflow_gets_one_command_a_line_whatever_a_log_says() -> None:
    lines = render("github", [hostile(), UNCLEAR]).splitlines()
    assert len(lines) == 2
    command, _, message = lines[0][2:].partition("::")
    assert command.startswith("warning file=")
    assert "\n" not in message
    assert command.count(",") == 2  # file, line, title: none of the text adds a property


def test_gitlab_gets_what_it_requires_of_each_finding() -> None:
    for one in json.loads(render("gitlab", [RUN, UNCLEAR, hostile()])):
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= one.keys()
        assert one["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert one["location"]["lines"]["begin"] >= 1


def test_hostile_text_stays_text() -> None:
    message = sarif(hostile())["results"][0]["message"]["text"]
    assert "](" not in message
    assert ET.fromstring(render("junit", [hostile()])).find(".//failure") is not None
    markdown = render("markdown", [hostile(), WELL])
    assert "<b>" not in markdown
    assert "x\\](http" in markdown  # a bracket that closes no link
    assert "\x1b" not in markdown


def test_markdown_leads_with_the_worst_and_names_cause_and_remedy() -> None:
    text = render("markdown", [WELL, RUN])
    assert text.index("runs/a") < text.index("runs/b")
    assert "The learning rate is too high (80%)" in text
    assert "Lower the learning rate" in text


def test_json_lines_hold_a_document_each() -> None:
    assert [json.loads(line)["verdict"] for line in render("jsonl", [RUN, WELL]).splitlines()] == [
        "warning",
        "healthy",
    ]


def test_a_path_below_the_working_folder_is_told_relative_to_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert local(os.path.join(os.getcwd(), "runs", "a.log")) == "runs/a.log"
    assert local("./a.log") == "a.log"
    assert local("s3://bucket/a.log") == "s3://bucket/a.log"


def test_an_offset_of_a_binary_file_is_no_line() -> None:
    assert line_of("runs/events.out.tfevents.1.host.2", 4096) is None
    assert line_of("mlflow.db", 9) is None
    assert line_of("train.log", 9) == 9


def test_good_signs_are_no_findings() -> None:
    symptom = {
        "id": "learns-well", "title": "It learns", "severity": "info", "evidence": "", "first_step": None,
        "resolved": False, "acknowledged": None, "metric": "", "source": {"file": "", "line": None},
    }  # fmt: skip
    document = {
        "run": {"path": "a.log", "points": 9, "lines": 0}, "verdict": "healthy", "symptoms": [symptom],
        "hypotheses": [], "not_evaluated": [], "input_errors": [],
    }  # fmt: skip
    assert [one.id for one in of_document(document).findings] == ["learns-well"]
    assert of_document(document, {"learns-well"}).findings == ()


def test_a_finding_whose_evidence_is_its_title_is_said_once() -> None:
    same = Finding("seed-missing", "No seed is set", "warning", "No seed is set", "config.yaml")
    result = replace(RUN, headline="", findings=(same,), remedy="")
    assert sarif(result)["results"][0]["message"]["text"] == same.title
    assert ET.fromstring(render("junit", [result])).find(".//failure").get("message") == same.title  # type: ignore[union-attr]
    assert json.loads(render("gitlab", [result]))[0]["description"] == same.title
    assert render("github", [result]).count(f"::{same.title}\n") == 1
    assert render("markdown", [result]).count(same.title) == 1


@pytest.mark.parametrize(("points", "said"), [(0, "The input"), (5, "Part of the input")])
def test_an_input_of_which_nothing_was_read_is_no_part_of_one(points: int, said: str) -> None:
    document = {
        "run": {"path": "a.log", "points": points, "lines": 0}, "verdict": "no_data", "symptoms": [],
        "hypotheses": [], "not_evaluated": [],
        "input_errors": [{"file": "a.log", "line": None, "what": "is empty"}],
    }  # fmt: skip
    assert of_document(document).findings[0].title == f"{said} could not be read"
