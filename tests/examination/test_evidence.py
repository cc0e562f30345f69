from __future__ import annotations

import math

import pytest

from hrmdoc.examination.evidence import evidence, to_symptom
from hrmdoc.examination.scene import Finding
from hrmdoc.rulebook import SymptomRule, When

RULE = SymptomRule(
    "a", "A", When(check="lr > 1"), "loss", group="g", evidence="{metric} is {value:.1f} at step {step}"
)


def test_what_was_not_seen_has_no_evidence() -> None:
    assert evidence(RULE, Finding("absent", metric="loss", values={"value": 1.0}), {}) == ""
    assert evidence(RULE, Finding("not_evaluated"), {}) == ""


@pytest.mark.parametrize(
    ("template", "values", "words"),
    [
        ("{metric} is {value:.1f} at step {step}", {"value": 2.25}, "loss is 2.2 at step 7"),
        ("{value} at step {step}", {"value": 2, "unit": "epoch"}, "2 at epoch 7"),
        ("{value}, rate {optimizer.lr}", {"value": 1 / 3}, "0.3333, rate 0.0003"),
        ("{value:d}", {"value": 2.5}, "2.5"),
        ("{value:.1f} {flag}", {"value": math.nan, "flag": True}, "nan True"),
        ("{value!r} {}", {"value": 1}, "{value!r} {}"),
        ("{value} at step {step}, {unknown} times, {count} in all", {"value": 1}, "1 at step 7, 0 in all"),
        ("{unknown} at step {step}, last {value}", {"value": 1}, "A"),
        ("", {"text": "it\x1b[31m failed\u202e"}, "it failed"),
        ("", {"value": 2.0}, "loss is 2 at step 7"),
    ],
)
def test_a_template_takes_the_numbers_of_the_finding_and_the_facts_of_the_run(
    template: str, values: dict[str, object], words: str
) -> None:
    rule = SymptomRule("a", "A", When(check="lr > 1"), "loss", evidence=template)
    finding = Finding("present", metric="loss", first_step=7, values=values)
    assert evidence(rule, finding, {"optimizer.lr": 3e-4}) == words


def test_a_finding_without_a_metric_tells_its_values() -> None:
    rule = SymptomRule("a", "A", When(check="lr > 1"), "loss")
    values = {"precision": "fp16", "optimizer.lr": 0.5}
    assert evidence(rule, Finding("present", values=values), {}) == "precision = fp16, optimizer.lr = 0.5"


def test_what_a_line_told_is_the_line_where_the_template_speaks_of_a_metric() -> None:
    assert (
        evidence(RULE, Finding("present", values={"text": "the norm is nan", "value": "nan"}), {})
        == "the norm is nan"
    )


def test_a_symptom_is_the_rule_and_the_finding_together() -> None:
    finding = Finding(
        "present", "train.loss", "loss", 7, 9, 1.5, 2, {"value": 3.0}, "a.log", 4, 1, ("x",), 0.5
    )
    symptom = to_symptom(RULE, finding, {})
    assert (symptom.id, symptom.severity, symptom.group, symptom.playbook) == ("a", "warning", "g", "loss")
    assert (symptom.role, symptom.metric, symptom.first_time) == ("train.loss", "loss", 1.5)
    assert symptom.values == {"value": 3.0}
    assert (symptom.first_step, symptom.last_step, symptom.count, symptom.rank, symptom.score) == (
        7,
        9,
        2,
        1,
        0.5,
    )
    assert (symptom.file, symptom.line, symptom.missing, symptom.evidence) == (
        "a.log",
        4,
        ("x",),
        "loss is 3.0 at step 7",
    )
