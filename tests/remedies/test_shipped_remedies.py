from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc import rulebook
from hrmdoc.examination.examine import Situation
from hrmdoc.remedies.planner import plan
from hrmdoc.remedies.prescribe import misfit

BOOK = rulebook.load()
HRM = """\
# sudoku
lr: 1e-4  # rate
lr_warmup_steps: 2000
global_batch_size: 768
epochs: 20000
arch:
  hidden_size: 512
  halt_max_steps: 16
"""
AXOLOTL = "base_model: x\nlearning_rate: 0.0002\nmicro_batch_size: 4\ntrl:\n  vllm_sync_interval: 20\n"
HF = '{\n  "learning_rate": 5e-05,\n  "fp16": true\n}\n'
LIGHTNING = "trainer:\n  precision: 16-mixed\nmodel:\n  init_args:\n    lr: 0.01\n"
DEEPSPEED = '{"fp16": {"enabled": true}, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}}'
GENERIC = "training:\n  batch_size: 32\n  learning_rate: 1e-4\n"


@pytest.mark.parametrize(
    ("framework", "name", "text", "remedy", "overrides"),
    [
        ("hrm", "config.yaml", HRM, "reduce-learning-rate", "lr=2e-5"),
        ("hrm", "config.yaml", HRM, "clip-gradients", "grad_clip=1.0"),
        ("axolotl", "c.yml", AXOLOTL, "reduce-learning-rate", "--learning_rate=0.00004"),
        ("hf-trainer", "args.json", HF, "use-bf16", "--fp16=false --bf16=true"),
        ("lightning", "c.yaml", LIGHTNING, "use-bf16", "--trainer.precision=bf16-mixed"),
        ("lightning", "c.yaml", LIGHTNING, "reduce-learning-rate", "--model.init_args.lr=0.002"),
        ("deepspeed", "ds.json", DEEPSPEED, "reduce-learning-rate", "optimizer.params.lr=2e-5"),
        ("generic", "c.yaml", GENERIC, "reduce-learning-rate", "training.learning_rate=2e-5"),
    ],
)
def test_shipped_remedies_patch_the_configs_of_shipped_frameworks(
    tmp_path: Path, framework: str, name: str, text: str, remedy: str, overrides: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert plan(BOOK.remedies[remedy], {}, BOOK.frameworks[framework], [path]).overrides == overrides


def test_weights_are_synchronised_more_often_not_more_rarely(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text(AXOLOTL)
    (change,) = plan(BOOK.remedies["sync-weights-often"], {}, BOOK.frameworks["axolotl"], [path]).changes
    assert change.key == "rl.vllm_sync_interval"
    assert isinstance(change.after, int)
    assert change.after < 20


def test_each_patch_is_verified_by_a_symptom_of_every_cause_that_offers_it() -> None:
    patches = ((cause, BOOK.remedies[name]) for cause in BOOK.causes.values() for name in cause.remedies)
    unproven = {
        (cause.id, remedy.id)
        for cause, remedy in patches
        if remedy.kind == "patch" and cause.produces.keys().isdisjoint(remedy.verify.gone)
    }
    assert unproven == {("memorization", "evaluate-often")}  # evaluating heals nothing, it shows when to stop


@pytest.mark.parametrize(("on", "why"), [(False, "evaluation is switched off"), (True, ""), (None, "")])
def test_evaluations_are_not_made_more_often_where_none_are_made(on: bool | None, why: str) -> None:
    situation = Situation(facts={} if on is None else {"eval.on": on}, framework="hf-trainer")
    assert misfit(BOOK.remedies["evaluate-often"], situation, {"eval-too-rare"}).startswith(why)
    assert bool(misfit(BOOK.remedies["evaluate-often"], situation, {"eval-too-rare"})) is bool(why)
