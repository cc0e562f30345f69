"""What a message of the log leads to: the cause among the first two, and what is offered for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
STEPS = "".join(f"step {number} loss {2.5 - number / 100:.2f}\n" for number in range(10, 60, 10))


@pytest.fixture
def diagnose(hrmdoc: Command, apart: Path) -> Callable[[str], dict[str, Any]]:
    """The diagnosis of a log with this text."""

    def of(text: str) -> dict[str, Any]:
        (apart / "a.log").write_text(text)
        found: dict[str, Any] = json.loads(hrmdoc("analyze", "--json", "a.log").out)
        return found

    return of


def symptoms(found: dict[str, Any]) -> list[str]:
    return [one["id"] for one in found["symptoms"]]


def causes(found: dict[str, Any]) -> list[str]:
    return [one["cause"] for one in found["hypotheses"]]


def raised(quoted: str, last: str) -> str:
    head = 'Traceback (most recent call last):\n  File "train.py", line 90, in <module>\n    main()\n'
    return STEPS + head + f'  File "train.py", line 77, in main\n    {quoted}\n{last}\n'


@pytest.mark.parametrize(
    ("quoted", "last"),
    [
        ("if not torch.isfinite(loss): raise RuntimeError", "RuntimeError"),
        ("assert torch.isfinite(loss).all()", "AssertionError"),
        ("assert not math.isnan(grad_norm), step", "AssertionError: 52"),
    ],
)
def test_a_check_of_the_programs_own_that_stops_it_is_seen_by_its_source(
    diagnose: Callable[[str], dict[str, Any]], quoted: str, last: str
) -> None:
    assert symptoms(diagnose(raised(quoted, last))) == ["nonfinite-stop"]


@pytest.mark.parametrize(
    ("quoted", "last"),
    [
        ("raise RuntimeError", "RuntimeError"),
        ("if torch.isfinite(loss):", "TypeError: isfinite(): argument 'input' must be Tensor, not float"),
        ("assert batch.is_pinned()", "AssertionError"),
    ],
)
def test_another_exception_is_no_check_for_finite_numbers(
    diagnose: Callable[[str], dict[str, Any]], quoted: str, last: str
) -> None:
    assert "nonfinite-stop" not in symptoms(diagnose(raised(quoted, last)))


@pytest.mark.parametrize(
    "why",
    [
        "CUDA device 5 but torch.cuda.device_count() is 2.",
        "a CUDA device but torch.cuda.is_available() is False.",
    ],
)
def test_a_checkpoint_of_another_device_is_mapped(
    diagnose: Callable[[str], dict[str, Any]], why: str
) -> None:
    found = diagnose(
        f"RuntimeError: Attempting to deserialize object on {why} Please use torch.load with map_location\n"
    )
    assert "checkpoint-on-other-device" in causes(found)[:2]
    assert "map-checkpoint-device" in json.dumps(found)


def test_the_attention_of_torch_is_offered_where_flash_attn_is_missing(
    diagnose: Callable[[str], dict[str, Any]],
) -> None:
    found = diagnose(raised("import flash_attn", "ModuleNotFoundError: No module named 'flash_attn'"))
    assert "use-sdpa" in [remedy["id"] for remedy in found["hypotheses"][0]["remedies"]]


def test_the_evidence_begins_behind_the_progress_bar(diagnose: Callable[[str], dict[str, Any]]) -> None:
    bar = "Epoch 3:  41%|####      | 82/200 [00:41<00:59,  1.98it/s, loss=0.512]"
    error = "[rank1]:[E626 06:24:44 x.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
    work = "WorkNCCL(SeqNum=8, OpType=ALLREDUCE) ran for 600020 milliseconds before timing out."
    found = diagnose(f"{STEPS}{bar}{error}{work}\n")
    (timeout,) = [one for one in found["symptoms"] if one["id"] == "nccl-timeout"]
    assert timeout["evidence"].startswith("[rank1]:[E626")


def test_a_scale_of_fp8_that_became_zero_is_among_the_first_two(hrmdoc: Command, apart: Path) -> None:
    row = "{{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': {}}}\n"
    (apart / "run").mkdir()
    (apart / "run" / "train.log").write_text(row.format(0.01) + row.format(0.02))
    (apart / "run" / "config.yaml").write_text(
        "base_model: x\nfp8: true\nmicro_batch_size: 2\nlearning_rate: 1e-5\ndatasets: []\n"
    )
    found = json.loads(hrmdoc("analyze", "--json", "run").out)
    assert "fp8-zero-scale" in causes(found)[:2]
    assert "guard-fp8-scale" in json.dumps(found["hypotheses"][:2])
