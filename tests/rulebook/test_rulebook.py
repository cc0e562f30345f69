"""Checked rules are kept, and never outlive the files that they were made from."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from hrmdoc import rulebook
from hrmdoc.errors import RuleError
from hrmdoc.rulebook import LinesWhen, Rulebook, SymptomRule, When, loading
from hrmdoc.rulebook.brevity import alternatives, wordy

REMEDY = """id: own
title: {title}
kind: manual
risk: manual
steps: [Ask someone.]
why: It is a reason.
verify: {{gone: [loss-spike]}}
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small folder of rules that takes the place of the built-in one, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(loading, "data_dir", lambda name: tmp_path / name)
    for folder in rulebook.FOLDERS:
        (tmp_path / "rules" / folder).mkdir(parents=True)
    (tmp_path / "rules/remedies/own.yaml").write_text(REMEDY.format(title="One"))
    return tmp_path / "rules"


def cached(rules: Path) -> list[Path]:
    return sorted((rules.parent / "cache/hrmdoc").glob("rules-*"))


def titles(book: Rulebook) -> list[str]:
    return [remedy.title for remedy in book.remedies.values()]


def test_rules_that_were_checked_are_not_parsed_again(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rulebook.load()
    monkeypatch.setattr(loading, "parse_all", None)
    assert rulebook.load() == first
    assert titles(first) == ["One"]


def test_a_change_that_keeps_size_and_time_is_seen(rules: Path) -> None:
    rulebook.load()
    file = rules / "remedies/own.yaml"
    before = file.stat()
    file.write_text(REMEDY.format(title="Two"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert titles(rulebook.load()) == ["Two"]


def test_a_file_that_came_and_one_that_went_are_seen(rules: Path) -> None:
    rulebook.load()
    (rules / "remedies/other.yaml").write_text(REMEDY.format(title="Other").replace("own", "other"))
    assert titles(rulebook.load()) == ["Other", "One"]
    (rules / "remedies/own.yaml").unlink()
    assert titles(rulebook.load()) == ["Other"]


@pytest.mark.parametrize("kept", [b"", b"{}", b"\xff" * 100], ids=["empty", "of another kind", "broken"])
def test_a_broken_cache_is_made_anew(rules: Path, kept: bytes) -> None:
    rulebook.load()
    (file,) = cached(rules)
    file.write_bytes(kept)
    assert titles(rulebook.load()) == ["One"]
    assert file.read_bytes() != kept


def test_rules_of_other_files_under_the_same_sum_are_not_taken(rules: Path) -> None:
    rulebook.load()
    (file,) = cached(rules)
    file.write_bytes(msgspec.msgpack.encode({"state": b"another", "book": Rulebook()}))
    assert titles(rulebook.load()) == ["One"]


def test_a_cache_that_cannot_be_written_is_no_error(rules: Path) -> None:
    (rules.parent / "cache").write_text("a file where the folder should be")
    assert titles(rulebook.load()) == ["One"]


def test_a_wheel_brings_its_rules_checked(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loading.ship(rules)
    monkeypatch.setattr(loading, "parse_all", None)
    assert titles(rulebook.load()) == ["One"]
    assert cached(rules) == []


def test_rules_of_users_count_beside_those_of_a_wheel(rules: Path) -> None:
    loading.ship(rules)
    (rules.parent / "own/remedies").mkdir(parents=True)
    (rules.parent / "own/remedies/own.yaml").write_text(REMEDY.format(title="Mine"))
    assert titles(rulebook.load([rules.parent / "own"])) == ["Mine"]


@pytest.mark.parametrize("broken", ["", "cut", "another version"])
def test_rules_of_a_wheel_that_cannot_be_taken_are_parsed(rules: Path, broken: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if broken == "another version":
            patch.setattr(loading, "__version__", "0")
        loading.ship(rules)
    file = rules / loading.SHIPPED
    file.write_bytes({"": b"", "cut": file.read_bytes()[:-5]}.get(broken, file.read_bytes()))
    assert titles(rulebook.load()) == ["One"]


def test_few_states_are_kept(rules: Path) -> None:
    for number in range(loading.STATES_KEPT + 3):
        (rules / "remedies/own.yaml").write_text(REMEDY.format(title=f"Title {number}"))
        rulebook.load()
    assert len(cached(rules)) == loading.STATES_KEPT


def test_a_folder_that_is_not_there_is_told(rules: Path) -> None:
    with pytest.raises(RuleError, match="does not exist"):
        rulebook.load([rules / "nowhere"])


def test_a_broken_link_among_the_rules_is_told(rules: Path) -> None:
    (rules / "remedies/gone.yaml").symlink_to(rules / "nothing.yaml")
    with pytest.raises(RuleError, match=r"cannot read the rule.*No such file"):
        rulebook.load()


def test_a_remedy_that_no_cause_offers_and_names_that_point_nowhere_are_told(rules: Path) -> None:
    problems = rulebook.check(rulebook.load())
    assert problems == ["remedy own: no symptom 'loss-spike'", "remedy own: no cause offers it"]


@pytest.mark.parametrize(
    ("playbook", "said"),
    [
        ("nowhere", "mine: no playbook 'nowhere'"),
        ("learning-rate#gone", "mine: the playbook learning-rate has no section 'gone'"),
    ],
)
def test_a_page_that_is_not_there_is_named(playbook: str, said: str) -> None:
    book = Rulebook({"mine": SymptomRule("mine", "Mine", When(check="lr > 1"), playbook)})
    assert rulebook.check(book, own={"mine"}) == [said]


def test_a_change_of_a_key_that_no_framework_has_is_named(rules: Path) -> None:
    own = rules / "remedies/own.yaml"
    own.write_text(own.read_text() + "changes: [{key: optimizer.lrr, op: set, value: 1}]\n")
    assert "remedy own: no framework has a key for 'optimizer.lrr'" in rulebook.check(rulebook.load())


def test_a_symptom_without_a_cause_is_told_unless_it_is_the_users_own() -> None:
    book = Rulebook({"mine": SymptomRule("mine", "Mine", When(check="lr > 1"), "unknown")})
    assert rulebook.check(book) == ["symptom mine: no cause produces it"]
    assert rulebook.check(book, own={"mine"}) == []


def test_a_built_in_check_that_is_several_claims_is_refused_and_one_of_the_users_own_is_not() -> None:
    check = " or ".join(f"lr > {number}" for number in range(6))
    book = Rulebook({"mine": SymptomRule("mine", "Mine", When(any=(When(check=check),)), "unknown")})
    assert "a check of 56 characters and 6 clauses is more than one claim" in rulebook.check(book)[0]
    assert rulebook.check(book, own={"mine"}) == []


def test_a_symptom_that_ends_by_a_signature_that_is_not_there_is_told() -> None:
    book = Rulebook({"mine": SymptomRule("mine", "Mine", When(lines=LinesWhen(got_over="said")), "unknown")})
    assert rulebook.check(book, own={"mine"}) == [
        "symptom mine: no signature names it",
        "symptom mine: no signature 'said'",
    ]


SYMPTOM = """id: own-symptom
title: The loss is high
when: {{check: "1 > 0"}}
playbook: loss
leak: {leak}
"""


@pytest.mark.parametrize("leak", ["0.02", "{p: 0.02, low: 0.0, high: 0.05}", "{p: 0.02, basis: prior}"])
def test_a_leak_is_a_number_and_one_with_its_interval_is_still_read(rules: Path, leak: str) -> None:
    (rules / "symptoms/own-symptom.yaml").write_text(SYMPTOM.format(leak=leak))
    assert rulebook.load().symptoms["own-symptom"].leak == 0.02


def test_a_leak_without_its_number_is_refused_with_its_line(rules: Path) -> None:
    (rules / "symptoms/own-symptom.yaml").write_text(SYMPTOM.format(leak="{low: 0.0, high: 0.05}"))
    with pytest.raises(RuleError, match="float") as raised:
        rulebook.load()
    assert raised.value.line == 5


def test_a_condition_that_can_come_true_in_many_ways_is_more_than_one_claim() -> None:
    one = When(check="optimizer.lr > 1")
    twice = When(any=(one, one))
    four = When(all=(twice, twice, When(absent=When(any=(one,) * 5))))
    assert alternatives(four) == 4
    many = SymptomRule("many", "", When(any=(four, one)), "loss")
    few = SymptomRule("few", "", four, "loss")
    assert [flaw for _, flaw in wordy(few)] == []
    assert [flaw for _, flaw in wordy(many)] == [
        "a condition that can come true in 5 ways is more than one claim (at most 4)"
    ]


@pytest.mark.parametrize(
    ("held", "flaws"), [({}, 1), ({"leave": 2.0}, 1), ({"leave": 1.5}, 0), ({"leave_patience": 2}, 0)]
)
def test_a_built_in_threshold_that_one_point_could_open_and_close_is_refused(
    held: dict[str, float], flaws: int
) -> None:
    when = When(all=(When(detector="level", role="train.loss", enter=2.0, **held),))  # type: ignore[arg-type]
    book = Rulebook({"mine": SymptomRule("mine", "Mine", when, "unknown")})
    told = "symptom mine: level leaves where it enters; give it `leave` or `leave_patience`"
    assert rulebook.check(book).count(told) == flaws
    assert rulebook.check(book, own={"mine"}) == []
