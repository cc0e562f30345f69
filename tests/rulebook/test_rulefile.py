from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hrmdoc.errors import RuleError
from hrmdoc.rulebook.rulefile import convert, misfit
from hrmdoc.rulebook.schema.frameworks import Framework
from hrmdoc.rulebook.schema.symptoms import SymptomRule
from hrmdoc.settings import Settings

RULE = """id: a
title: A
playbook: loss
when:
  any:
  - check: lr > 1
  - detector: level
    role: lr
    enter: 1.0
"""


def _refused(text: str | bytes, kind: type[SymptomRule | Framework] = SymptomRule) -> RuleError:
    with pytest.raises(RuleError) as caught:
        convert(Path("rules/a.yaml"), text.encode() if isinstance(text, str) else text, kind)
    return caught.value


def test_what_fits_is_converted() -> None:
    assert [one.form() for one in convert(Path("a.yaml"), RULE.encode(), SymptomRule).when.walk()] == [
        "any",
        "check",
        "detector",
    ]


@pytest.mark.parametrize(
    ("was", "instead", "line", "what", "hint"),
    [
        ("title:", "titel:", 2, "unknown key 'titel'", "did you mean 'title'?"),
        ("    enter:", "    entr:", 9, "unknown key 'entr'", "did you mean 'enter'?"),
        (
            "playbook: loss",
            "playbook: loss\ncolour: 1.0",
            4,
            "unknown key 'colour'",
            "known keys: id, title, when",
        ),
        ("enter: 1.0", "patience: soon", 9, "Expected `int`, got `str`", ""),
        ("title: A\n", "", None, "Object missing required field `title`", ""),
        ("role: lr", "role: [", 10, "not valid YAML", ""),
        ("enter: 1.0", "enter: 2026-13-01", None, "not valid YAML: month must be in 1..12", ""),
    ],
)
def test_what_does_not_fit_is_told_with_its_line_and_the_keys_that_are_valid_there(
    was: str, instead: str, line: int | None, what: str, hint: str
) -> None:
    error = _refused(RULE.replace(was, instead))
    assert (error.file, error.line) == ("rules/a.yaml", line)
    assert error.what.startswith(what)
    assert (error.hint or "").startswith(hint)


def test_a_key_below_a_free_one_is_looked_for_in_its_own_structure() -> None:
    error = _refused("id: a\ntitle: A\nconfig:\n  optimizer.lr: {keys: [lr], scael: 2}\n", Framework)
    assert (error.what, error.hint) == ("unknown key 'scael'", "did you mean 'scale'?")
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"thresholds": {"loss-spike": {"entr": 1}}}, Settings)
    assert misfit(caught.value, Settings) == (
        "unknown key 'entr'",
        ("thresholds", "[...]", "entr"),
        "did you mean 'enter'?",
    )


@pytest.mark.parametrize("blob", [b"", b"- a\n", b"\xff\xfe", b"\0", b"[" * 5000, b"a: &a [*a]\n"])
def test_a_file_that_is_no_mapping_of_text_is_refused(blob: bytes) -> None:
    assert _refused(blob).file == "rules/a.yaml"
