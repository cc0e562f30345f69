"""Values that shipped remedies compute from the facts of a run."""

from __future__ import annotations

import pytest

from hrmdoc import rulebook
from hrmdoc.remedies import actions
from hrmdoc.roles.typical import typical_facts
from hrmdoc.rulebook import Remedy, Rulebook
from hrmdoc.rulebook.expressions import about, compile_expression


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return rulebook.load()


@pytest.mark.parametrize("total", [40, 1000, 50_000])
def test_every_computed_value_of_a_remedy_can_be_computed(book: Rulebook, total: int) -> None:
    facts = {
        "run.total_steps": total,
        "optimizer.lr": 1e-3,
        "run.kind": "sft",
        "rl.num_generations": 8,
        "device.gpu_memory_gib": 8,
        "current": 1,
    }
    facts["optimizer.embedding_lr"] = 1e-3
    for remedy in book.remedies.values():
        for text in formulas(remedy):
            value = compile_expression(text)(facts, about(facts))
            assert value > 0, remedy.id


def formulas(remedy: Remedy) -> list[str]:
    values = [change.value for change in remedy.changes] + list((remedy.action or {}).values())
    return [value for value in values if isinstance(value, str) and value.startswith("=")]


def test_warmup_is_a_twentieth_of_the_steps(book: Rulebook) -> None:
    warmup = compile_expression(book.remedies["lengthen-warmup"].changes[0].value)
    assert warmup({"run.total_steps": 10_000, "current": 0}) == 500
    assert warmup({"run.total_steps": 60, "current": 0}) == 10
    assert warmup({"run.total_steps": 10_000, "current": 2000}) == 2000


@pytest.mark.parametrize(
    "name", ["reduce-learning-rate", "lower-hrm-learning-rate", "lower-live-learning-rate"]
)
@pytest.mark.parametrize(
    "known",
    [
        {"optimizer.name": "adamw", "run.kind": "classification"},
        {"optimizer.name": "sgd", "run.kind": "classification"},
        {"optimizer.name": "adamw", "run.kind": "pretraining", "model.parameters": 7_000_000_000},
        {"run.kind": "sft", "run.framework": "trl"},
        {"run.kind": "hrm", "model.parameters": 400_000},
    ],
)
def test_a_rate_a_little_higher_gets_no_other_rate_by_far(
    book: Rulebook, name: str, known: dict[str, object]
) -> None:
    """A hundredth more changes what comes out by a few hundredths, whatever line lies between."""
    remedy, lr, before = book.remedies[name], 1e-4, None
    while lr < 100:
        facts = {**known, "optimizer.lr": lr}
        facts |= typical_facts(facts, book.typical.values())
        if remedy.action:
            new = actions.from_remedy(remedy, facts)["lr"]
        else:
            new = lr * compile_expression(str(remedy.changes[0].value))(facts, about(facts))
        assert new <= 0.2 * lr * 1.001
        assert before is None or 0.9 < new / before < 1.1, lr
        lr, before = lr * 1.01, new


def test_adam_from_scratch_comes_down_to_its_default_and_no_further(book: Rulebook) -> None:
    facts = {"optimizer.name": "adamw", "run.kind": "classification", "optimizer.lr": 0.5}
    facts |= typical_facts(facts, book.typical.values())
    factor = compile_expression(str(book.remedies["reduce-learning-rate"].changes[0].value))
    assert 0.5 * factor(facts, about(facts)) == pytest.approx(1e-3)
