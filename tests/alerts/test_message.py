"""Words of a log reach people as text, and as nothing more."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hrmdoc.alerts.message import LONGEST, Message, harmless, link_to, worst_first
from tests.alerts.conftest import NAN, SPIKE, over


def message(evidence: str = "", **more: object) -> Message:
    incident = replace(NAN, evidence=evidence or NAN.evidence, cause="bad-data-batch", probability=0.63)
    return Message(
        "m", "hrmdoc-1", "firing", "/runs/a", "node-1", "https://runs/a", 1.0, 1.0, (incident, SPIKE), **more
    )  # type: ignore[arg-type]


def test_a_text_says_what_where_how_bad_why_and_where_to_look() -> None:
    assert message().text.splitlines() == [
        "CRITICAL loss-nonfinite: /runs/a on node-1",
        "The loss is NaN at step 40",
        "train.loss is 9 at step 40",
        "most probably bad-data-batch (63%): hrmdoc explain bad-data-batch",
        "also: loss-spike (warning)",
        "key hrmdoc-1",
        "https://runs/a",
    ]


def test_evidence_that_is_the_title_is_said_once() -> None:
    assert message(NAN.title).text.splitlines()[1:3] == [
        "The loss is NaN at step 40",
        "most probably bad-data-batch (63%): hrmdoc explain bad-data-batch",
    ]


@pytest.mark.parametrize(
    "call", ["@channel", "@here", "@everyone", "<!here>", "<!channel|x>", "<@U012AB3CD>", "<@&8>", "<#C1|x>"]
)
def test_a_log_calls_nobody(call: str) -> None:
    text = message(f"loss {call} nan").text
    assert call not in text
    assert "<" not in text
    assert not any(one.isalnum() for _, _, rest in [text.partition("@")] for one in rest[:1])


def test_a_log_hides_no_link_no_secret_no_terminal_code_and_no_line() -> None:
    evidence = "\x1b[31m[click](http://evil.example) token=hf_abcdefghijklmnopqrstuv\nkey\u202e x"
    text = message(evidence).text
    assert "](" not in text
    assert "hf_abc" not in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert len(text.splitlines()) == 7


def test_a_text_fits_into_the_shortest_chat_and_keeps_its_link() -> None:
    long = message("x" * 5000, note="y " * 3000)
    assert len(long.text) <= LONGEST + 100
    assert long.text.endswith("https://runs/a")
    assert len(harmless("z" * 9999)) == 400


def test_the_data_holds_the_worst_incident_and_the_others_and_is_json_for_any_file_name() -> None:
    odd = replace(NAN, file="/runs/\udcff.log")
    first = json.loads(json.dumps(replace_incidents(message(), odd).plain()))
    assert (first["symptom"], first["also"][0]["symptom"]) == ("loss-nonfinite", "loss-spike")


def replace_incidents(one: Message, *first: object) -> Message:
    return Message("m", "k", "firing", "/r", "h", "", 1.0, 1.0, (*first, SPIKE))  # type: ignore[arg-type]


def test_open_and_severe_incidents_come_first() -> None:
    ordered = worst_first([over(NAN), SPIKE, replace(SPIKE, symptom="a", severity="critical")])
    assert [one.symptom for one in ordered] == ["a", "loss-spike", "loss-nonfinite"]


@pytest.mark.parametrize(
    ("base", "link"),
    [
        (None, "/runs/a b"),
        ("https://g/d?run={run}", "https://g/d?run=%2Fruns%2Fa%20b"),
        ("https://g", "https://g"),
    ],
)
def test_a_link_is_the_path_of_the_run_or_what_the_user_made_of_it(base: str | None, link: str) -> None:
    assert link_to(base, "/runs/a b") == link
