"""`HrmdocCallback` in a real `Trainer`."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch")
pytest.importorskip("accelerate", reason="the Trainer needs accelerate")

from hrmdoc.integrations.transformers import HrmdocCallback  # noqa: E402

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]


class Numbers(torch.utils.data.Dataset):  # type: ignore[misc, name-defined, unused-ignore]
    """Counting upwards from a random start."""

    def __len__(self) -> int:
        return 2000

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = (index * 7 % 8 + torch.arange(16)) % 32
        return {"input_ids": row, "labels": row}


class Slow(transformers.TrainerCallback):  # type: ignore[misc, name-defined, unused-ignore]
    """A step as long as one of a larger model, so that there is time to look."""

    def on_step_end(self, *_: Any, **__: Any) -> None:
        time.sleep(0.01)


def train(folder: Path, callback: HrmdocCallback, *others: Any, rate: float = 2e-3, **more: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=1, bos_token_id=None, eos_token_id=None
    )
    arguments = transformers.TrainingArguments(
        str(folder),
        max_steps=200,
        logging_steps=2,
        learning_rate=rate,
        per_device_train_batch_size=8,
        lr_scheduler_type="cosine",
        warmup_steps=10,
        use_cpu=True,
        disable_tqdm=True,
        **{"report_to": [], "save_strategy": "no", **more},
    )
    model = transformers.GPT2LMHeadModel(config)
    callbacks = [callback, Slow(), *others]
    trainer = transformers.Trainer(model, arguments, train_dataset=Numbers(), callbacks=callbacks)
    trainer.train()
    return trainer


def test_a_healthy_run_goes_to_its_end_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    callback = HrmdocCallback(share=1.0, stop="critical")
    trainer = train(tmp_path, callback)
    monitor = callback.monitor
    assert monitor is not None
    assert monitor.analysis is not None
    assert trainer.state.global_step == 200
    assert monitor.incidents == []
    assert monitor.analysis.situation.framework == "hf-trainer"
    assert monitor.analysis.situation.facts["optimizer.lr"] == 2e-3
    assert monitor.analysis.situation.kind == "pretraining"
    assert monitor.analysis.situation.facts["model.parameters"] > 0
    assert monitor.analysis.state == "finished"
    assert not [record for record in caplog.records if record.name == "hrmdoc"]


class Breaks(transformers.TrainerCallback):  # type: ignore[misc, name-defined, unused-ignore]
    """Weights that are no numbers any more, from step 60 on."""

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 60:
            with torch.no_grad():
                next(kwargs["model"].parameters()).fill_(math.nan)


def test_a_run_that_breaks_is_stopped_and_saved(tmp_path: Path) -> None:
    callback = HrmdocCallback(share=1.0, stop="critical", save="critical")
    trainer = train(tmp_path, callback, Breaks(), logging_nan_inf_filter=False)
    assert callback.monitor is not None
    assert 60 < trainer.state.global_step < 200
    assert callback.monitor.incidents[0].symptom == "loss-nonfinite"
    assert list(tmp_path.glob("checkpoint-*"))


def test_a_rate_far_too_high_is_named(tmp_path: Path) -> None:
    callback = HrmdocCallback(share=1.0)
    train(tmp_path, callback, rate=30.0, report_to=["tensorboard"])
    assert callback.monitor is not None
    assert callback.monitor.analysis is not None
    assert callback.monitor.analysis.diagnosis.hypotheses[0].cause == "learning-rate-too-high"
    assert list(tmp_path.glob("runs/hrmdoc/events.out.tfevents.*"))
