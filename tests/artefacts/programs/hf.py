"""A tiny language model trained by the Hugging Face Trainer: `hf.py
healthy|diverging|first_half|second_half`."""

from __future__ import annotations

import sys

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

VOCABULARY = 32


class Counting(Dataset):
    """Sequences that count upwards: the next token is the last one plus one."""

    def __init__(self, samples: int) -> None:
        self._starts = torch.randint(
            0, VOCABULARY, (samples,), generator=torch.Generator().manual_seed(samples)
        )

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = (self._starts[index] + torch.arange(16)) % VOCABULARY
        return {"input_ids": tokens, "labels": tokens}


class StopAt20(TrainerCallback):
    """Ends the training in the middle, as a time limit would."""

    def on_step_end(self, args, state, control, **others):
        control.should_training_stop = state.global_step >= 20


def main(mode: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=16, n_embd=16, n_layer=1, n_head=2))
    arguments = TrainingArguments(
        output_dir="out",
        max_steps=40,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=1e30 if mode == "diverging" else 1e-2,
        warmup_steps=4,
        logging_steps=5,
        eval_strategy="steps",
        eval_steps=10,
        save_steps=20,
        report_to=["tensorboard"],
        use_cpu=True,
        dataloader_num_workers=0,
    )
    callbacks = [StopAt20()] if mode == "first_half" else []
    trainer = Trainer(
        model, arguments, train_dataset=Counting(96), eval_dataset=Counting(16), callbacks=callbacks
    )
    trainer.train(resume_from_checkpoint=mode == "second_half")
    trainer.save_state()


main(sys.argv[1])
