import pytest

from hrmdoc.errors import InputError
from hrmdoc.trainer.evaluation.passk import bootstrap
from hrmdoc.trainer.validation.report import check, gate, scores, table

COUNTS = {"hrm": [(10, 5), (10, 0)], "gpt2": [(10, 1), (10, 1)]}
DOCUMENT = {"commit": "abc", "seed": 42, "hrm_pass@1": 0.031, "gpt2_pass@1": 0.024, "delta": 0.007}


def test_the_keys_are_those_of_the_document():
    found = scores(COUNTS, (1, 10), 42)
    assert found["hrm_pass@1"] == pytest.approx(0.25)
    assert found["gpt2_pass@1"] == pytest.approx(0.1)
    assert found["delta"] == found["hrm_pass@1"] - found["gpt2_pass@1"]
    assert (found["hrm_pass@10"], found["gpt2_pass@10"], found["delta@10"]) == (0.5, 1.0, -0.5)
    low, high = found["intervals"]["hrm_pass@1"]["bootstrap"]
    assert low == pytest.approx(0.0)
    assert high == pytest.approx(0.5)
    assert found == scores(COUNTS, (1, 10), 42)


def test_the_interval_narrows_with_more_problems():
    few, many = (bootstrap([0.0, 1.0] * n, 0) for n in (5, 500))
    assert many[1] - many[0] < 0.15 < few[1] - few[0]
    assert bootstrap([0.25] * 9, 0) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("ours", "theirs", "passed", "says"),
    [
        (0.2, 0.1, True, "0.1000 higher"),
        (0.1, 0.1, True, "same"),
        (0.1, 0.2, False, "0.1000 lower"),
        (0.0, 0.0, True, "says nothing"),
    ],
)
def test_the_gate_fails_below_zero_and_says_what_it_means(ours, theirs, passed, says):
    found = gate({"hrm_pass@1": ours, "gpt2_pass@1": theirs, "delta": ours - theirs})
    assert found["passed"] is passed
    assert says in found["why"]


def test_without_a_difference_the_gate_is_not_passed():
    assert not gate({})["passed"]


def test_a_report_by_hand_is_asked_as_the_document_has_it():
    assert check(DOCUMENT, "r.json")["passed"]
    assert not check({**DOCUMENT, "hrm_pass@1": 0.01, "delta": -0.014}, "r.json")["passed"]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"delta": 0.5}, "contradicts itself"),
        ({"delta": None}, "delta is None"),
        ({"delta": True}, "delta is True"),
        ({"hrm_pass@1": 1.5, "delta": 1.476}, "no share"),
        ({"gpt2_pass@1": float("nan")}, "not a number"),
    ],
)
def test_a_report_that_cannot_be_is_refused(changed, says):
    with pytest.raises(InputError, match=says):
        check({**DOCUMENT, **changed}, "r.json")
    with pytest.raises(InputError, match="not a JSON object"):
        check([1], "r.json")


def test_the_table_says_what_was_run_on_how_much_compute():
    model = {
        "parameters": 1234567, "parameters_in_layers": 1000, "test_lm_loss": 1.5, "ended": {"failed": 3},
        "training": {"flops": 2e12, "steps": 40},
    }  # fmt: skip
    report = {
        **scores(COUNTS, (1, 10), 42),
        "data": {"name": "mbpp.jsonl"},
        "seed": 42,
        "problems": {"scored": 2, "asked": 500, "samples": 10},
        "models": {
            "hrm": {**model, "label": "HRM 27M"},
            "gpt2": {**model, "label": "GPT-2 given", "training": {"flops": None, "steps": None}},
        },
    }
    text = table(report)
    assert "2 of 500 problems" in text
    assert "| training | 2e+12 FLOP in 40 steps | not here |" in text
    assert "| pass@1 | 0.2500 (0.0000 to 0.5000) | 0.1000 (0.0047 to 0.7213) | 0.1500" in text
    assert {line.count("|") for line in text.splitlines() if line.startswith("|")} == {5}
