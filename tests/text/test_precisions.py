"""The words for number formats."""

from __future__ import annotations

import pytest

from hrmdoc.text.precisions import precision_of


@pytest.mark.parametrize(
    ("words", "precision"),
    [
        ("auto amp mixed true O1 1632 v16x ", None),
        (
            "fp16 float16 torch.float16 f16 half 16 16-mixed 16-true amp_fp16 pure_fp16 mixed_float16 Half",
            "fp16",
        ),
        (
            "bf16 bfloat16 torch.bfloat16 BF16 bf16-mixed pure_bf16 amp_bfloat16 mixed_bfloat16 "
            "bf16-mixed-precision",
            "bf16",
        ),
        ("fp8 float8_e4m3fn transformer-engine", "fp8"),
        ("fp32 float32 32 32-true 64 float no none tf32 double", "fp32"),
    ],
)
def test_each_word_is_one_format_or_none(words: str, precision: str | None) -> None:
    assert {precision_of(word) for word in words.split(" ")} == {precision}
