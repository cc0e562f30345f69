"""What a user states of a run is held against the rules and against the run."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.errors import UsageError
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import RoleMap, absent_metrics, check_stated
from hrmdoc.rulebook import Rulebook, SymptomRule, When
from hrmdoc.rulebook.schema.symptoms import Needs

BOOK = rulebook.load()


def test_an_unknown_role_is_refused_with_the_nearest_one_and_the_file_that_states_it() -> None:
    with pytest.raises(UsageError) as refused:
        check_stated(BOOK, {"my_loss": "train.los"}, {}, "hrmdoc.toml")
    assert refused.value.what == "no rule knows the role 'train.los' (of my_loss)"
    assert (str(refused.value.file), refused.value.hint) == ("hrmdoc.toml", "did you mean 'train.loss'?")
    with pytest.raises(UsageError) as refused:
        check_stated(BOOK, {"my_loss": "zzz"}, {})
    assert refused.value.file is None
    assert str(refused.value.hint).startswith("roles are names such as train.loss, eval.loss")


def test_an_unknown_kind_is_refused_with_all_that_are_known() -> None:
    with pytest.raises(UsageError) as refused:
        check_stated(BOOK, {}, {"run.kind": "pretrainin"}, "hrmdoc.toml")
    assert refused.value.what == "no rule knows the run kind 'pretrainin'"
    assert str(refused.value.file) == "hrmdoc.toml"
    assert str(refused.value.hint).startswith("did you mean 'pretraining'? Kinds are pretraining, sft, ")
    with pytest.raises(UsageError) as refused:
        check_stated(BOOK, {}, {"run.kind": 7})
    assert str(refused.value.hint).startswith("Kinds are pretraining, sft, preference, rl, hrm, ")


def test_what_is_known_and_what_says_that_a_metric_has_no_role_is_taken() -> None:
    check_stated(BOOK, {"a": "train.loss", "b": "rl.reward", "c": ""}, {"run.kind": "hrm"})
    with pytest.raises(UsageError, match=r"'zzz' \(of d\)"):
        check_stated(BOOK, {"a": "train.loss", "c": "", "d": "zzz"}, {})


ASKING = (
    SymptomRule("a", "A", When(detector="level", role="own.watched", against="own.beside"), "loss"),
    SymptomRule("b", "B", When(detector="level", role=("own.first", "own.second")), "loss"),
    SymptomRule("c", "C", When(check="last('own.quoted') > 1"), "loss"),
    SymptomRule(
        "d", "D", When(check="a.x > 1"), "loss", needs=Needs(roles=("own.needed",), any_role=("own.any",))
    ),
)


@pytest.mark.parametrize("role", ["watched", "beside", "first", "second", "quoted", "needed", "any"])
def test_a_role_that_a_rule_asks_for_is_known(role: str) -> None:
    book = Rulebook(symptoms={rule.id: rule for rule in ASKING})
    check_stated(book, {"metric": f"own.{role}"}, {})
    with pytest.raises(UsageError, match="no rule knows the role"):
        check_stated(Rulebook(), {"metric": f"own.{role}"}, {})


def test_a_metric_that_the_run_does_not_have_is_told_with_what_is_read_instead() -> None:
    at = np.arange(3)
    run = Run("run", RoleMap(BOOK, {"my_los": "train.loss", "my_f1": "eval.accuracy", "gone": ""}))
    for name in ("my_loss", "lr"):
        run.add(Points(name, at, at / 2.0, at * np.nan, "log"))
    assert absent_metrics(run) == [
        "this run has no metric 'my_los', stated to be train.loss; train.loss is read from my_loss instead; "
        "did you mean 'my_loss'?",
        "this run has no metric 'my_f1', stated to be eval.accuracy; nothing is read as eval.accuracy",
    ]
    assert absent_metrics(Run("run", lambda _: RoleGuess(None))) == []
