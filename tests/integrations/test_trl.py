"""`HrmdocCallback` in real trainers of TRL, with a tiny model that is made here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

trl = pytest.importorskip("trl", reason="trl is not installed")
transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")
datasets = pytest.importorskip("datasets")
tokenizers = pytest.importorskip("tokenizers")

from hrmdoc.integrations.transformers import HrmdocCallback  # noqa: E402

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
WORDS = [str(number) for number in range(16)]


class At(transformers.TrainerCallback):  # type: ignore[misc, name-defined, unused-ignore]
    """Steps as long as those of a larger model; from step 30 on what `breaks` made of the weights."""

    def __init__(self, breaks: Callable[[Any], Any] | None = None) -> None:
        self._breaks = breaks

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        time.sleep(0.01)
        if self._breaks is not None and state.global_step == 30:
            with torch.no_grad():
                self._breaks(next(kwargs["model"].parameters()))


def words() -> Any:
    """A tokenizer that knows sixteen numbers."""
    known = {word: place for place, word in enumerate(["<pad>", "<eos>", *WORDS])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="<eos>"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", bos_token="<eos>", unk_token="<eos>"
    )


def model() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=18,
        n_positions=32,
        n_embd=16,
        n_layer=1,
        n_head=1,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
    )
    return transformers.GPT2LMHeadModel(config)


def settings(kind: Any, folder: Path, **more: Any) -> Any:
    return kind(
        output_dir=str(folder),
        logging_steps=2,
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
        report_to=[],
        save_strategy="no",
        logging_nan_inf_filter=False,
        **more,
    )


def tuned(folder: Path, callback: HrmdocCallback, other: At) -> Any:
    rows = [" ".join(WORDS[(start + step) % 16] for step in range(12)) for start in range(16)] * 40
    trainer = trl.SFTTrainer(
        model(),
        settings(trl.SFTConfig, folder, max_steps=120, learning_rate=5e-3, max_length=16),
        train_dataset=datasets.Dataset.from_dict({"text": rows}),
        processing_class=words(),
        callbacks=[callback, other],
    )
    trainer.train()
    return trainer


def test_healthy_fine_tuning_goes_to_its_end_in_silence(tmp_path: Path) -> None:
    callback = HrmdocCallback(share=1.0, stop="critical")
    trainer = tuned(tmp_path, callback, At())
    assert callback.monitor is not None
    assert callback.monitor.analysis is not None
    assert trainer.state.global_step == 120
    assert callback.monitor.incidents == []
    assert callback.monitor.analysis.state == "finished"


def test_fine_tuning_that_breaks_is_stopped(tmp_path: Path) -> None:
    callback = HrmdocCallback(share=1.0, stop="critical")
    trainer = tuned(tmp_path, callback, At(lambda weights: weights.fill_(math.nan)))
    assert callback.monitor is not None
    assert 30 < trainer.state.global_step < 120
    assert callback.monitor.incidents[0].symptom == "loss-nonfinite"


def test_rewards_that_never_differ_are_seen_in_grpo(tmp_path: Path) -> None:
    callback = HrmdocCallback(share=1.0)
    trainer = trl.GRPOTrainer(
        model(),
        reward_funcs=lambda completions, **_: [1.0] * len(completions),
        args=settings(
            trl.GRPOConfig,
            tmp_path,
            max_steps=40,
            learning_rate=1e-3,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=4,
        ),
        train_dataset=datasets.Dataset.from_dict({"prompt": [" ".join(WORDS[:4])] * 160}),
        processing_class=words(),
        callbacks=[callback, At()],
    )
    trainer.train()
    assert callback.monitor is not None
    assert callback.monitor.analysis is not None
    analysis = callback.monitor.analysis
    assert analysis.situation.kind == "rl"
    shown = {symptom.id for symptom in analysis.findings}
    assert any("advantage" in one or "reward" in one or "zero-std" in one for one in shown), shown
