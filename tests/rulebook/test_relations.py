"""Rules state what they come after and what they presuppose; nothing of it is guessed from their checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from hrmdoc import rulebook
from hrmdoc.errors import RuleError
from hrmdoc.examination.examine import Examination
from hrmdoc.record.run import Run
from hrmdoc.rulebook import Rulebook, SymptomRule, When
from hrmdoc.rulebook.expressions import compile_expression
from hrmdoc.rulebook.parsing import parse_all
from hrmdoc.rulebook.relations import groups, in_order

RULE = """id: mine
title: Mine
playbook: own-rules
{relations}when:
  any:
  - check: optimizer.lr > 1
  - all:
    - check: {check}
"""


WHEN = When(check="optimizer.lr > 1")


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return rulebook.load()


def rule(name: str, *after: str, presupposes: tuple[str, ...] = ()) -> SymptomRule:
    check = " or ".join(f"seen('{one}')" for one in after) or "optimizer.lr > 1"
    return SymptomRule(name, name, When(check=check), "loss", after=after, presupposes=presupposes)


def refusal(folder: Path, check: str, relations: str = "") -> RuleError:
    path = folder / "symptoms/mine.yaml"
    path.parent.mkdir(exist_ok=True)
    with pytest.raises(RuleError) as refused:
        rulebook.parse(path, RULE.format(relations=relations, check=check).encode())
    assert refused.value.file == str(path)
    return refused.value


def test_a_rule_is_looked_at_behind_those_that_it_names() -> None:
    chain = [rule("a", "b"), rule("b", "c"), rule("c", presupposes=("d",)), rule("d"), rule("e", "elsewhere")]
    assert [one.id for one in in_order(chain)] == ["d", "c", "b", "a", "e"]


def test_rules_that_wait_for_one_another_are_refused() -> None:
    circle = [rule("x", "y"), rule("y", "z"), rule("z", "y")]
    with pytest.raises(RuleError, match="y after z after y"):
        in_order(circle)
    known = Rulebook({one.id: one for one in circle})
    assert "symptoms wait for one another: y after z after y" in rulebook.check(known, own=known.symptoms)


def test_the_order_of_the_files_does_not_matter(book: Rulebook) -> None:
    place = {one.id: at for at, one in enumerate(in_order(reversed(book.symptoms.values())))}
    assert place["loss-level-shift"] < place["trouble-early"]
    members = groups(book.symptoms.values())
    for one in book.symptoms.values():
        for part in one.when.walk():
            for name in compile_expression(part.check).symptoms if part.check else ():
                known = max(place[member] for member in members.get(name, (name,)))
                assert known < place[one.id], f"{one.id} asks for {name} before it is known"


def test_a_group_stands_for_its_members(tmp_path: Path) -> None:
    flat = RULE.format(relations="group: still\n", check="optimizer.lr > 0").replace("mine", "flat")
    quoted = RULE.format(relations="presupposes: [still]\n", check="seen('still')")
    folder = tmp_path / "symptoms"
    found = parse_all([(folder / "mine.yaml", quoted.encode()), (folder / "flat.yaml", flat.encode())])
    assert found.symptoms["mine"].presupposes == ("flat",)
    assert [one.id for one in in_order(found.symptoms.values())] == ["flat", "mine"]
    found = replace(found, frameworks=rulebook.load().frameworks)
    shows = Examination(Run("x"), found, facts={"optimizer.lr": 0.5}).advance(closed=True)
    assert {one.id: one.state for one in shows} == {"flat": "present", "mine": "present"}


def test_a_symptom_wins_over_a_group_of_its_name() -> None:
    both = [SymptomRule("lr-jump", "", WHEN, "x", group="lr-jump"), SymptomRule("other", "", WHEN, "x")]
    assert groups(both) == {}


@pytest.mark.parametrize(
    "check",
    ["seen('loss-spike')", 'began( "loss-spike" ) < 5', "not (1 > 2 and peak('loss-spike') > 3)"],
)
def test_a_check_that_asks_for_a_symptom_which_the_rule_does_not_name_is_refused(
    tmp_path: Path, check: str
) -> None:
    refused = refusal(tmp_path, check)
    assert refused.line == 8
    assert refused.what == "it asks for 'loss-spike', which neither `after` nor `presupposes` names"


def test_a_check_that_is_no_expression_is_refused_in_its_line(tmp_path: Path) -> None:
    refused = refusal(tmp_path, "last(train.loss) >")
    assert refused.line == 8
    assert "not an expression" in refused.what


def test_a_symptom_is_named_in_quotes(tmp_path: Path) -> None:
    assert "takes the id of a symptom in quotes, not 'stall'" in refusal(tmp_path, "seen(stall)").what


def test_a_symptom_that_no_check_asks_for_need_not_be_waited_for(tmp_path: Path) -> None:
    refused = refusal(tmp_path, "optimizer.lr > 2", "after: [loss-spike]\n")
    assert (refused.line, refused.what) == (4, "no check of it asks for 'loss-spike'")


def test_a_relation_to_a_symptom_that_does_not_exist_is_named() -> None:
    alone = Rulebook({"a": rule("a", "gone", presupposes=("lost",))})
    assert rulebook.check(alone, own={"a"})[:2] == [
        "symptom a: after names 'gone', which does not exist",
        "symptom a: presupposes names 'lost', which does not exist",
    ]
