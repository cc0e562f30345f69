"""Values that shipped remedies compute from the facts of a run."""

from __future__ import annotations

import pytest

from hrmdoc import rulebook
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
