from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.errors import PatchError
from hrmdoc.remedies.values import to_own
from hrmdoc.rulebook import Change, ConfigKey
from tests.remedies.planning import after, planned


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (Change("data.batch_size", "multiply", 0.5), "global_batch_size: 7\n", "global_batch_size: 3\n"),
        (Change("data.batch_size", "multiply", 1.5), "global_batch_size: 7\n", "global_batch_size: 11\n"),
        (Change("optimizer.lr", "multiply", 0.2, min=5e-5), "lr: 1e-4\n", "lr: 5e-5\n"),
        (Change("optimizer.lr", "multiply", "=0.1 / optimizer.lr"), "lr: 0.003\n", "lr: 0.1\n"),
        (
            Change("optimizer.weight_decay", "clamp", min=0.01, max=0.1),
            "weight_decay: 1.0\n",
            "weight_decay: 0.1\n",
        ),
        (Change("optimizer.weight_decay", "remove"), "lr: 1\nweight_decay: 1.0\n", "lr: 1\n"),
        (
            Change("schedule.warmup_steps", "set", "=max(100, 0.05 * run.total_steps)"),
            "lr_warmup_steps: 2000\n",
            "lr_warmup_steps: 500\n",
        ),
        (Change("optimizer.lr", "set", "=current / 4"), "lr: 1e-4\n", "lr: 2.5e-5\n"),
        (
            Change("optimizer.lr", "set", "=min(0.2 * optimizer.lr, 1e-5 if run.kind == 'rl' else 1)"),
            "lr: 1e-4\n",
            "lr: 2e-5\n",
        ),
        (
            Change("precision", "set", "float32"),
            "arch:\n  forward_dtype: bfloat16\n",
            "arch:\n  forward_dtype: float32\n",
        ),
    ],
)
def test_each_operation_gives_its_value(tmp_path: Path, change: Change, text: str, expected: str) -> None:
    assert after(planned(tmp_path, text, change, facts={"run.total_steps": 10_000})) == expected


@pytest.mark.parametrize(
    ("change", "text", "what"),
    [
        (Change("optimizer.beta2", "set", 0.95), "lr: 1\n", "HRM has no key for optimizer.beta2"),
        (
            Change("optimizer.lr", "set", 5.0, max=1.0),
            "lr: 1e-4\n",
            r"optimizer.lr = 5.0 is out of bounds \(at most 1\)",
        ),
        (Change("optimizer.lr", "multiply", 0.2, min=1e-4), "lr: 1e-4\n", "is at its bound already"),
        (Change("optimizer.lr", "multiply", 0.2, min=1e-4), "lr: 1e-6\n", "is at its bound already"),
        (Change("optimizer.lr", "clamp", min=1e-6, max=1e-3), "lr: 1e-4\n", "within its bounds already"),
        (Change("optimizer.lr", "multiply", 0.2), "seed: 1\n", "current value of optimizer.lr is not known"),
        (Change("optimizer.lr", "multiply", 0.2), "lr: fast\n", "'fast' is not a number"),
        (Change("optimizer.lr", "set", "=run.total_steps / 2"), "lr: 1\n", "run.total_steps is not known"),
        (Change("optimizer.lr", "set", "=1 / 0"), "lr: 1\n", "cannot compute"),
        (Change("optimizer.lr", "set", 1e-4), "lr: 1e-4\n", "nothing to change: lr is 0.0001 already"),
        (Change("optimizer.lr", "remove"), "seed: 1\n", "nothing to change: lr is not set"),
        (Change("data.batch_size", "set", True), "global_batch_size: 7\n", "takes a value of type int"),
        (Change("optimizer.lr", "multiply", 0.2), "lr: {a: 1}\n", "holds a section"),
        (Change("act.halt_max_steps", "set", 4), "arch: small\n", "holds no section"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(
    tmp_path: Path, change: Change, text: str, what: str
) -> None:
    with pytest.raises(PatchError, match=what):
        planned(tmp_path, text, change)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_count_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(PatchError, match="takes a whole number"):
        to_own(value, ConfigKey(("warmup_steps",), "int"), None)
    assert to_own(float("inf"), ConfigKey(("max_grad_norm",)), None) == float("inf")
