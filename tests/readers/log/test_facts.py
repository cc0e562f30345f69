"""Facts that logs print."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.readers.log.statements import literal


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("  Num examples = 1,000", "data.samples", 1000),
        ("  Total train batch size (w. parallel, distributed & accumulation) = 16", "data.batch_size", 16),
        ("  Gradient Accumulation steps = 2", "data.grad_accum", 2),
        (
            "trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.06",
            "model.trainable_parameters",
            4194304,
        ),
        (
            "trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.06",
            "model.parameters",
            6742609920,
        ),
        (
            "Weights of BertForQuestionAnswering not initialized from pretrained model: ['qa_outputs.weight']",
            "run.finetunes",
            "BertForQuestionAnswering",
        ),
        (
            "Some weights of RobertaTagger were not initialized from the model checkpoint at roberta-base and are",
            "run.finetunes",
            "RobertaTagger",
        ),
        ("Some layers were not used when initializing TFBertModel: ['mlm']", "run.finetunes", "TFBertModel"),
        ("number of parameters: 124.44M", "model.parameters", 124440000),
        ("using world size: 16, data-parallel-size: 4, tensor-model-parallel size: 4", "world_size", 16),
        (">> padded vocab (size: 50257); vocab_size=50304, n_embd=768", "data.vocab_size", 50304),
        ("The number of items: 3,702", "data.items", 3702),
        ("INFO - num_classes: 12, image size 64", "data.classes", 12),
        ("Number of classes = 7", "data.classes", 7),
        ("Found 1240 images belonging to 5 classes.", "data.classes", 5),
        ("The number of items: 1,683", "data.items", 1683),
        ("#items: 3416", "data.items", 3416),
        ("INFO - Training for 60 epochs.", "run.epochs", 60),
        ("Training for up to 800 epochs (patience=12)...", "run.epochs", 800),
        ("Using 16bit Automatic Mixed Precision (AMP)", "precision", "fp16"),
        ("using torch.float16 for parameters ... using bfloat16", "precision", "bf16"),
        ("   \\\\   /|    Num examples = 1,000 | Num Epochs = 1 | Total steps = 60", "run.total_steps", 60),
        ("[Rank 0, World Size 8]: Epoch 0", "world_size", 8),
        ("[Rank 0, World Size 8]: Epoch 0", "run.framework", "hrm"),
        ("[2026-01-02 03:04:05,678] [INFO] [axolotl.cli] hello", "run.framework", "axolotl"),
    ],
)
def test_a_printed_number_becomes_a_canonical_fact(text: str, key: str, value: object, read: Any) -> None:
    assert read(text + "\n").facts["run", key].value == value


def test_parameters_that_are_not_trained_are_no_trainable_parameters(read: Any) -> None:
    assert ("run", "model.trainable_parameters") not in read("Non-trainable params: 0\n").facts


def test_versions_are_kept_by_package(read: Any) -> None:
    log = "PyTorch version: 2.4.0+cu121\nNCCL version 2.21.5+cuda12.4\nwandb: Tracking run with wandb version 0.31.0\n"
    facts = read(log).facts
    assert {key: fact.value for (scope, key), fact in facts.items() if scope == "version"} == {
        "torch": "2.4.0+cu121",
        "nccl": "2.21.5+cuda12.4",
        "wandb": "0.31.0",
    }


@pytest.mark.parametrize(
    "heading",
    [
        "Config",
        "config:",
        "---- Training configuration ----",
        "----------------- Options ---------------",
        "Hyper-Parameters:\r",
        "Training Hyper Parameters: ",
        "\x1b[1;38;5;214mModel config:\x1b[0m\x1b[39m",
        "arguments\x08\x08\x08\x08\x08\x08\x08\x08:" + "\0" * 60,
        "settings »»»»»",
    ],
)
def test_a_heading_is_known_whatever_signs_and_codes_stand_behind_it(heading: str, read: Any) -> None:
    assert ("config", "beta1") in read(f"{heading}\n  beta1: 0.9\n").facts


def test_a_word_of_headings_amid_a_line_opens_no_configuration(read: Any) -> None:
    assert read("config read from run_7\n  beta1: 0.9\n").facts == {}


def test_rows_below_a_configuration_heading_are_config_facts(read: Any) -> None:
    run = read(
        "INFO:__main__:Configuration:\nINFO:__main__:  beta1: 0.9\nINFO:__main__:  amp: false\nother\n  not_config: 3\n"
    )
    assert {key: fact.value for (_, key), fact in run.facts.items()} == {"beta1": 0.9, "amp": False}


def test_the_more_particular_framework_wins(read: Any) -> None:
    record = "{'loss': 0.1, 'epoch': 0.1}\n"
    assert read(record).facts["run", "run.framework"].value == "hf-trainer"
    trl = "{'loss': 0.1, 'frac_reward_zero_std': 0.5, 'epoch': 0.1}\n"
    assert read(record + trl + record).facts["run", "run.framework"].value == "trl"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("24", 24),
        ("True", True),
        ("None", None),
        ("'adamw'", "adamw"),
        ("1.2.3", "1.2.3"),
        ("", None),
    ],
)
def test_a_printed_word_stands_for_its_value(text: str, value: object) -> None:
    assert literal(text) == value


def test_one_folder_of_images_is_no_class(read: Any) -> None:
    assert ("run", "data.classes") not in read("Found 46384 files belonging to 1 classes.\nloss: 0.5\n").facts


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("Loading best model from ./out/checkpoint-750 (score: 0.31).", "run.best_step", 750),
        ("Best iteration: [12]", "run.best_step", 12),
        ("Restoring model weights from the end of the best epoch: 3.", "run.best_epoch", 3),
        (
            "Epoch 9: early stopping\nRestoring model weights from the end of the best epoch: 3.",
            "run.best_epoch",
            3,
        ),
    ],
)
def test_which_state_is_kept_is_known(read: Any, said: str, key: str, value: int) -> None:
    rows = "".join(f"epoch {n} loss: 0.{n}\n" for n in range(1, 5))
    assert read(f"{rows}{said}\n").facts["run", key].value == value


@pytest.mark.parametrize("said", ["Stopping. Best iteration:", "Early stopping, best iteration is:"])
def test_the_best_round_that_is_shown_again_is_no_new_point(read: Any, said: str) -> None:
    row = "[{0}]\ttrain-rmse:0.{0}\tvalid-rmse:0.5{0}\n"
    rows = "".join(map(row.format, range(12)))
    for best in (0, 7):
        run = read(f"{rows}{said}\n{row.format(best)}")
        assert run.facts["run", "run.best_step"].value == best
        assert [len(series.steps) for series in run.series.values()] == [12, 12]


@pytest.mark.parametrize(
    ("ends", "trained"),
    [(("Not Training.",) * 4, False), (("Training.",) * 4, True), (("Training.", "Not Training."), True)],
)
def test_a_summary_may_say_that_nothing_is_trained(read: Any, ends: tuple[str, ...], trained: bool) -> None:
    line = "[INFO] Hop. Step: {0}000. Time Elapsed: {0}.5 s. Mean Reward: 1.{0}. Std of Reward: 0.2. {1}\n"
    run = read("".join(line.format(n, end) for n, end in enumerate(ends, 1)))
    assert run.facts["run", "run.training"].value is trained
    assert len(next(iter(run.series.values())).steps) == len(ends)
