"""Usual learning rates: wide ranges by optimizer, kind and size."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc import rulebook
from hrmdoc.roles.typical import typical_facts
from hrmdoc.rulebook.schema.typical import Typical, TypicalRow, TypicalTable

LORA = (1e-4, 3e-4)
FULL_FINE_TUNE = (1e-5, 7e-5)
SGD = (1e-4, 3.4)
SGD_FROM_SCRATCH = (1e-2, 3.4)


def usual_facts(facts: dict[str, Any]) -> dict[str, Any]:
    return typical_facts(facts, rulebook.load().typical.values())


def typical_rate(facts: dict[str, Any]) -> tuple[float, float] | None:
    usual = usual_facts(facts)
    low, high = usual.get("optimizer.lr_usual_low"), usual.get("optimizer.lr_usual_high")
    return None if low is None or high is None else (low, high)


def suited_rate(facts: dict[str, Any]) -> float | None:
    return usual_facts(facts).get("optimizer.lr_suited")


def suited_to_size(parameters: float) -> float:
    """The lowest usual rate is a fifth of it."""
    low, _ = typical_rate({"run.kind": "pretraining", "model.parameters": parameters}) or (0.0, 0.0)
    return 5 * low


@pytest.mark.parametrize(
    ("facts", "usual"),
    [
        ({"run.kind": "sft"}, FULL_FINE_TUNE),
        ({"run.kind": "sft", "lora.rank": 8}, LORA),
        ({"run.kind": "classification", "optimizer.name": "SGD"}, SGD),
        ({"run.kind": "pretraining", "optimizer.name": "torch.optim.SGD"}, SGD_FROM_SCRATCH),
    ],
)
def test_the_guides_ranges_hold_for_the_runs_that_they_speak_of(
    facts: dict[str, Any], usual: tuple[float, float]
) -> None:
    assert typical_rate(facts) == usual


@pytest.mark.parametrize("name", ["Adafactor", "prodigyopt.Prodigy", "muon", "DAdaptAdam"])
def test_optimizers_that_scale_the_rate_themselves_have_no_usual_rate(name: str) -> None:
    assert typical_rate({"run.kind": "pretraining", "optimizer.name": name}) is None


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("", ""),
        ("adamw_torch_fused", "adam"),
        ("AdamATan2", "adam"),
        ("lion_8bit", "lion"),
        ("sgd", "sgd"),
        ("own-optimizer", ""),
    ],
)
def test_an_optimizer_is_told_by_its_name(name: str, family: str) -> None:
    assert usual_facts({"optimizer.name": name}).get("optimizer.family", "") == family


def test_larger_models_take_smaller_rates_and_never_none_at_all() -> None:
    assert suited_to_size(3e4) > suited_to_size(1e8) > suited_to_size(1e12) > 0


@pytest.mark.parametrize(
    ("parameters", "rate"),
    [
        (1.25e8, 6e-4),
        (3.5e8, 3e-4),
        (7.6e8, 2.5e-4),
        (1.3e9, 2e-4),
        (2.7e9, 1.6e-4),
        (6.7e9, 1.2e-4),
        (1.3e10, 1e-4),
        (1.75e11, 6e-5),
    ],
)
def test_the_rate_for_a_size_is_that_of_gpt_3s_sizes_within_a_factor_of_one_and_a_half(
    parameters: float, rate: float
) -> None:
    assert rate / 1.5 < suited_to_size(parameters) < rate * 1.5


def test_a_tiny_model_may_take_a_high_rate_and_is_not_held_to_it() -> None:
    tiny = {"run.kind": "pretraining", "model.parameters": 30_000, "optimizer.name": "adamw"}
    assert suited_rate(tiny) == 6e-3
    low, high = typical_rate(tiny) or (0.0, 0.0)
    assert low <= 3e-4 < 6e-3 < high


def test_a_rate_of_an_unknown_optimizer_is_one_that_people_take() -> None:
    """A tenth is usual with SGD, and one in thirty of those who name no optimizer takes more."""
    low, high = typical_rate({"run.kind": "classification"}) or (0.0, 0.0)
    assert low < 1e-4 < 0.1 == high < SGD[1]


def test_a_policy_that_writes_no_text_takes_the_rates_of_small_models() -> None:
    low, high = typical_rate({"run.kind": "rl", "run.framework": "stable-baselines3"}) or (0.0, 0.0)
    assert low < 3e-4 < 1e-3 < high
    assert high > 50 * (typical_rate({"run.kind": "rl", "run.framework": "trl"}) or (0.0, 0.0))[1]


def test_a_small_model_is_not_held_to_the_rates_of_fine_tuning() -> None:
    small = typical_rate({"run.kind": "rl", "model.parameters": 1_000_000})
    large = typical_rate({"run.kind": "rl", "model.parameters": 7_000_000_000})
    assert small is not None
    assert large is not None
    assert small[1] > 100 * large[1]


def test_a_language_model_is_as_small_as_its_width_and_depth_say() -> None:
    tiny = {"run.kind": "preference", "model.hidden_size": 64, "model.layers": 2, "data.vocab_size": 100}
    assert typical_rate(tiny) == typical_rate({"run.kind": "preference", "model.parameters": 105_000})
    usual = typical_rate({"run.kind": "preference"})
    assert typical_rate(tiny | {"model.hidden_size": 4096, "model.layers": 32}) == usual
    assert typical_rate(tiny | {"model.parameters": 7e9}) == usual
    assert typical_rate(tiny | {"model.layers": "auto"}) == usual


def test_words_where_numbers_belong_are_passed_by() -> None:
    assert typical_rate({"run.kind": "pretraining", "model.parameters": "many"}) == typical_rate(
        {"run.kind": "pretraining"}
    )


@pytest.mark.parametrize(
    "kind", ["sft", "rl", "preference", "hrm", "pretraining", "classification", "unknown"]
)
@pytest.mark.parametrize("size", [None, 30_000, 7_000_000_000])
def test_the_rate_to_start_from_lies_in_the_usual_range(kind: str, size: int | None) -> None:
    facts = {"run.kind": kind, "model.parameters": size}
    found = usual_facts(facts)
    assert found["optimizer.lr_usual_low"] <= found["optimizer.lr_suited"] <= found["optimizer.lr_usual_high"]
    assert found["optimizer.lr_suited"] == suited_rate(facts)


def test_a_rate_is_extreme_where_the_optimizer_moves_each_weight_by_it() -> None:
    known = {
        name: usual_facts({"optimizer.name": name}).get("optimizer.lr_extreme")
        for name in ("adamw", "lion", "sgd", "")
    }
    assert known["adamw"] == 0.1
    assert known["lion"] == pytest.approx(0.02)
    assert known["sgd"] is known[""] is None


def test_a_large_rate_names_the_optimizer_of_a_language_model_where_nothing_else_does() -> None:
    assert typical_rate({"run.kind": "sft", "optimizer.lr": 1.0}) == SGD
    assert typical_rate({"run.kind": "sft", "optimizer.lr": 1e-3}) == FULL_FINE_TUNE
    assert typical_rate({"run.kind": "sft", "optimizer.lr": 1.0, "optimizer.name": "adamw"}) == FULL_FINE_TUNE


def test_where_no_range_is_known_nothing_is_said_of_it() -> None:
    assert not [
        name for name in usual_facts({"run.kind": "sft", "optimizer.name": "adafactor"}) if ".lr_" in name
    ]


def test_a_framework_that_takes_adam_by_default_is_judged_by_it_until_it_is_told_otherwise() -> None:
    usual = typical_rate({"run.framework": "hf-trainer"})
    assert usual == typical_rate({"optimizer.name": "adamw"})
    assert usual != typical_rate({"run.framework": "keras"})
    assert typical_rate({"run.framework": "hf-trainer", "optimizer.name": "sgd"}) == SGD


def test_sgd_from_scratch_starts_from_a_tenth_and_a_fine_tune_from_less() -> None:
    assert suited_rate({"run.kind": "pretraining", "optimizer.name": "sgd"}) == 0.1
    assert suited_rate({"run.kind": "classification", "optimizer.name": "sgd"}) == 0.02


@pytest.mark.parametrize(("width", "usual"), [(32, 50.0), (512, 5.0), (100, None), ("auto", None)])
def test_a_throughput_is_expected_only_where_the_guide_measured(width: object, usual: float | None) -> None:
    known = {"run.framework": "hrm", "device.kind": "cuda", "model.hidden_size": width}
    assert usual_facts(known).get("run.expected_throughput") == usual
    assert "run.expected_throughput" not in usual_facts(known | {"device.kind": "cpu"})
    assert "run.expected_throughput" not in usual_facts(known | {"run.framework": "nanogpt"})


def test_the_duration_of_a_run_follows_from_the_speed_of_the_guide() -> None:
    known = {
        "run.framework": "hrm",
        "device.kind": "cuda",
        "model.hidden_size": 512,
        "run.total_steps": 180_000,
    }
    assert usual_facts(known)["run.expected_hours"] == pytest.approx(10.0)
    assert "run.expected_hours" not in usual_facts(known | {"device.kind": "cpu"})


@pytest.mark.parametrize(("gib", "size"), [(1.5, (16, 2)), (4.0, (32, 4)), (8.0, (64, 8)), (9.5, None)])
def test_the_guides_sizes_go_by_the_memory_of_the_gpu(gib: float, size: tuple[int, int] | None) -> None:
    usual = usual_facts({"run.kind": "hrm", "device.gpu_memory_gib": gib})
    found = usual.get("memory.guide_hidden_size"), usual.get("memory.guide_batch_size")
    assert found == (size or (None, None))


def test_shares_are_expected_of_sudoku_and_of_neither_mazes_nor_arc() -> None:
    assert usual_facts({"run.kind": "hrm", "data.seq_len": 81})["run.expected_exact_accuracy"] == 0.8
    assert "run.expected_accuracy" not in usual_facts({"run.kind": "hrm", "data.seq_len": 900})
    assert "run.expected_accuracy" not in usual_facts({"run.kind": "sft"})


def test_the_first_row_that_holds_answers_and_later_tables_build_on_it() -> None:
    first = TypicalTable("a", (TypicalRow({"x": 1.0}, when="y > 2"), TypicalRow({"x": "=y * 2"})))
    second = TypicalTable("b", (TypicalRow({"z": "=w"}), TypicalRow({"z": "=x + 1"})))
    tables = [Typical("t", (first, second))]
    assert typical_facts({"y": 3}, tables) == {"x": 1.0, "z": 2.0}
    assert typical_facts({"y": 2}, tables) == {"x": 4, "z": 5}
    assert typical_facts({}, tables) == {}
