"""Products of the kernels, and whether `native=auto` goes by how fast they are."""

from __future__ import annotations

import sys
from ctypes import CDLL
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.errors import ConfigError
from hrmdoc.trainer import native
from hrmdoc.trainer.commands.train import read_config
from hrmdoc.trainer.native import library
from hrmdoc.trainer.setup.plan import make_plan

STRIP = 16
module = sys.modules["hrmdoc.trainer.native.pace"]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 210),
    inputs=st.sampled_from([1, 16, 100, 127, 128, 200, 256, 300, 520]),
    strips=st.integers(1, 13),
)
def test_a_product_is_that_of_pytorch(rows: int, inputs: int, strips: int) -> None:
    torch.manual_seed(rows)
    x, w = torch.randn(rows, inputs), torch.randn(inputs, strips * STRIP)
    panels = w.view(inputs, strips, STRIP).permute(1, 0, 2).contiguous()
    y = torch.full((rows + 1, strips * STRIP), 7.0)
    library().multiply(rows, strips * STRIP, inputs, x.data_ptr(), panels.data_ptr(), y.data_ptr())
    torch.testing.assert_close(y[:rows], x @ w, atol=1e-4, rtol=1e-4)
    assert (y[rows] == 7.0).all()


@pytest.mark.parametrize(
    ("pace", "words", "taken", "says"),
    [
        (1.0, ["threads=1"], True, "as fast as PyTorch's library"),
        (0.5, ["threads=1"], False, "do 50% of it here"),
        (1.0, ["threads=1", "native=false"], False, "native=false"),
        (1.0, ["threads=2"], False, "one thread"),
        (1.0, ["threads=1", "deterministic=true"], False, "beyond a hidden size"),
        (ConfigError("no compiler"), ["threads=1"], False, "no compiler"),
    ],
)
def test_a_large_model_takes_the_kernels_where_they_keep_up(
    monkeypatch: pytest.MonkeyPatch, pace: float | ConfigError, words: list[str], taken: bool, says: str
) -> None:
    def measured(hidden_size: int, expansion: float) -> float:
        assert (hidden_size, expansion) == (128, 4)
        if isinstance(pace, ConfigError):
            raise pace
        return pace

    monkeypatch.setattr(native, "pace", measured)
    common: list[Any] = ["device=cpu", "dtype=float32", "arch.hidden_size=128", "arch.expansion=4"]
    plan = make_plan(read_config(None, [*common, *words]), {})
    assert plan.native is taken
    assert says in plan.native_reason


def test_ranks_do_not_choose_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "pace", lambda *_: 1.0)
    words: list[Any] = ["device=cpu", "dtype=float32", "arch.hidden_size=128", "threads=1"]
    assert make_plan(read_config(None, words), {}).native
    assert not make_plan(read_config(None, words), {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0"}).native


def test_the_pace_is_measured_once_and_changes_no_state_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = CDLL(library()._name)
    kernels.multiply.argtypes = library().multiply.argtypes
    kernels._name = str(tmp_path / "kernels-abc.so")
    monkeypatch.setattr(module, "library", lambda: kernels)
    threads, drawn = torch.get_num_threads(), torch.get_rng_state()
    first = module.pace(128, 2)
    assert first > 0
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), drawn)
    (kept,) = tmp_path.glob("*.pace")
    kept.write_text("0.5")
    assert module.pace(128, 2) == 0.5
    kept.write_text("no number")
    assert module.pace(128, 2) != 0.5
