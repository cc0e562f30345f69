from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.errors import PatchError
from hrmdoc.remedies.switches import spelling
from hrmdoc.rulebook import Change, ConfigKey, Framework
from tests.remedies.planning import HF, HRM, LIGHTNING, after, planned

ACCELERATE = Framework(
    "accelerate", "Accelerate", config={"precision": ConfigKey(("mixed_precision",), "str")}
)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("bf16: true\n", "fp16", "bf16: false\nfp16: true\n"),
        ("fp16: True\n", "bf16", "fp16: False\nbf16: true\n"),
        ("bf16: true\nfp16: false\n", "fp32", "bf16: false\nfp16: false\n"),
    ],
)
def test_precision_is_a_switch_for_each_type_where_the_framework_has_it_so(
    tmp_path: Path, text: str, value: str, expected: str
) -> None:
    assert after(planned(tmp_path, text, Change("precision", "set", value), framework=HF)) == expected


@pytest.mark.parametrize(
    ("framework", "text", "value", "expected"),
    [
        (HRM, "arch:\n  forward_dtype: bfloat16\n", "fp32", "arch:\n  forward_dtype: float32\n"),
        (HRM, "arch:\n  x: 1\n", "fp32", "arch:\n  x: 1\n  forward_dtype: float32\n"),
        (LIGHTNING, "trainer:\n  precision: 16-mixed\n", "bf16", "trainer:\n  precision: bf16-mixed\n"),
        (LIGHTNING, "trainer:\n  precision: bf16-true\n", "fp32", 'trainer:\n  precision: "32-true"\n'),
        (ACCELERATE, "mixed_precision: fp16\n", "bf16", "mixed_precision: bf16\n"),
        (ACCELERATE, "mixed_precision: fp16\n", "fp32", 'mixed_precision: "no"\n'),
    ],
)
def test_precision_is_spelled_as_the_framework_spells_it(
    tmp_path: Path, framework: Framework, text: str, value: str, expected: str
) -> None:
    assert after(planned(tmp_path, text, Change("precision", "set", value), framework=framework)) == expected


def test_full_precision_is_nothing_to_change_where_no_switch_is_set(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="in force already"):
        planned(tmp_path, "seed: 1\n", Change("precision", "set", "fp32"), framework=HF)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("early_stopping:\n  patience: 0\n", True, "early_stopping:\n  patience: 5\n"),
        ("early_stopping:\n  patience: 0\n", 3, "early_stopping:\n  patience: 3\n"),
        ("early_stopping:\n  patience: 4\n", False, "early_stopping:\n  patience: 0\n"),
        ("lr: 1\n", True, "lr: 1\nearly_stopping:\n  patience: 5\n"),
    ],
)
def test_early_stopping_is_a_patience_where_the_framework_counts(
    tmp_path: Path, text: str, value: object, expected: str
) -> None:
    framework = Framework(
        "f",
        "F",
        config={"eval.early_stopping": ConfigKey(("early_stopping.patience",), "bool")},
        markers=("config:lr",),
    )
    assert (
        after(planned(tmp_path, text, Change("eval.early_stopping", "set", value), framework=framework))
        == expected
    )


def test_a_patience_that_is_set_stays_as_it_is(tmp_path: Path) -> None:
    framework = Framework("f", "F", config={"eval.early_stopping": ConfigKey(("patience",), "bool")})
    with pytest.raises(PatchError, match="nothing to change: patience is 3 already"):
        planned(tmp_path, "patience: 3\n", Change("eval.early_stopping", "set", 5), framework=framework)


def test_a_patience_switches_early_stopping_on_where_the_framework_does_not_count(tmp_path: Path) -> None:
    framework = Framework("f", "F", config={"eval.early_stopping": ConfigKey(("early_stop",), "bool")})
    assert (
        after(
            planned(
                tmp_path, "early_stop: false\n", Change("eval.early_stopping", "set", 5), framework=framework
            )
        )
        == "early_stop: true\n"
    )


@pytest.mark.parametrize(
    ("name", "value", "current", "spelled"),
    [
        ("trainer.precision", "fp16", None, "16-mixed"),
        ("trainer.precision", "fp32", "bf16-mixed", "32-true"),
        ("model.precision", "bf16", "16-true", "bf16-mixed"),
        ("model.precision", "fp16", None, "fp16"),
        ("arch.forward_dtype", "fp32", "bfloat16", "float32"),
        ("torch_dtype", "bf16", "torch.float16", "torch.bfloat16"),
        ("dtype", "bf16", "fp16", "bf16"),
        ("dtype", "bf16", None, "bfloat16"),
        ("mixed_precision", "fp32", "fp16", "no"),
        ("mixed_precision", "bf16", "fp16", "bf16"),
        ("precision", "fp32", "fp16", "fp32"),
        ("precision", "int8", "fp16", "int8"),
    ],
)
def test_a_precision_is_spelled_as_the_key_spells_it_now(
    name: str, value: str, current: str | None, spelled: str
) -> None:
    assert spelling(name, value, current) == spelled
