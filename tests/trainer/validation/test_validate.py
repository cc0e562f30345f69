import builtins
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hrmdoc.cli.main import main
from hrmdoc.trainer.validation import run as validation
from hrmdoc.trainer.validation import sizes
from hrmdoc.trainer.validation.budget import Budget

pytest.importorskip("transformers")

SMALLEST = (
    *("arch.hidden_size=8", "arch.num_heads=2", "arch.H_layers=1", "arch.L_layers=1", "arch.H_cycles=1"),
    *("arch.L_cycles=1", "arch.halt_max_steps=1", "arch.expansion=1", "global_batch_size=2"),
)
WORDS = ["--size", "tiny", "--samples", "3", "--k", "1,3", "--limit", "2", "--max-tokens", "3"]


@pytest.fixture(autouse=True)
def smallest(monkeypatch, tmp_path):
    tiny = sizes.SIZES["tiny"]
    monkeypatch.setitem(
        sizes.SIZES,
        "tiny",
        replace(tiny, hrm=(*tiny.hrm, *SMALLEST), layers=1, width=8, heads=2, flops=6e8),
    )
    monkeypatch.chdir(tmp_path)


def validate(capsys, *words):
    """The exit status, the JSON as text, and what was said."""
    status = main(["validate", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.slow
def test_the_same_command_gives_the_same_bytes_and_goes_on(capsys, monkeypatch):
    first = validate(capsys, "builtin:problems", *WORDS, "--out", "a")
    assert first[0] == 0
    report = json.loads(first[1])
    assert report["complete"]
    assert report["delta"] == report["hrm_pass@1"] - report["gpt2_pass@1"]
    assert report["determinism"]["repeatable"] == {"hrm": True, "gpt2": True}
    assert report["models"]["hrm"]["training"]["flops"] == pytest.approx(6e8, rel=0.3)
    assert report["models"]["gpt2"]["training"]["flops"] == pytest.approx(6e8, rel=0.3)
    assert "from scratch at equal compute" in report["models"]["gpt2"]["label"]
    assert sum(report["models"]["gpt2"]["ended"].values()) == 6
    assert first[1] == Path("a/report.json").read_text()

    assert validate(capsys, "builtin:problems", *WORDS, "--out", "b")[1] == first[1]

    # Cut short within the answers, and then gone on with: nothing is trained or asked again.
    lines = Path("b/answers.jsonl").read_text().splitlines(keepends=True)
    Path("b/answers.jsonl").write_text("".join(lines[:-1]) + lines[-1][:40])
    monkeypatch.setattr(validation.HrmSide, "cost", lambda _: pytest.fail("counted again"))
    assert validate(capsys, "builtin:problems", *WORDS, "--out", "b")[1] == first[1]

    status, _, said = validate(capsys, "builtin:problems", *WORDS, "--seed", "7", "--out", "b")
    assert status == 2
    assert "another validation is in this folder: it differs in" in said
    assert "seed" in said


@pytest.mark.slow
def test_a_spent_budget_ends_the_call_and_the_next_one_ends_the_work(capsys, monkeypatch):
    whole = validate(capsys, "builtin:problems", *WORDS, "--out", "a")[1]
    with monkeypatch.context() as spent:
        spent.setattr(Budget, "over", lambda *_: True)
        spent.setattr("hrmdoc.trainer.loop.inbox.POLL_S", 0.0)
        status, text, said = validate(capsys, "builtin:problems", *WORDS, "--out", "b", "--gate")
    assert status == 1
    report = json.loads(text)
    assert not report["complete"]
    assert "hrm_pass@1" not in report
    assert "the same command goes on from there" in said
    assert validate(capsys, "builtin:problems", *WORDS, "--out", "b")[1] == whole


def test_weights_in_a_folder_are_taken_as_they_are(capsys):
    from hrmdoc.trainer.validation.gpt2 import new

    torch.manual_seed(0)
    new(1, 8, 2).save_pretrained("gpt2")
    status, text, _ = validate(capsys, "builtin:problems", *WORDS, "--gpt2", "gpt2", "--limit", "1")
    assert status == 0
    report = json.loads(text)
    assert report["models"]["gpt2"]["label"].endswith("of gpt2, as given, whatever its training took")
    assert report["models"]["gpt2"]["training"]["flops"] is None
    assert not report["compute"]["equal"]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "gpt2/config.json: cannot be read"),
        ({"config.json": "{"}, "gpt2/config.json: is no JSON"),
        ({"config.json": '{"model_type": "llama"}'}, "is a 'llama' model, not GPT-2"),
        ({"config.json": '{"model_type": "gpt2", "vocab_size": 99}'}, "has a vocabulary of 99 tokens"),
        ({"config.json": '{"model_type": "gpt2"}'}, "gpt2: there are no weights here"),
        (
            {"config.json": '{"model_type": "gpt2"}', "model.safetensors": "torn"},
            "gpt2: its weights cannot be read",
        ),
        (
            {"config.json": '{"model_type": "gpt2"}', "pytorch_model.bin": "torn"},
            "gpt2: its weights cannot be read",
        ),
    ],
)
def test_a_folder_that_holds_no_gpt2_is_refused_by_name(capsys, files, says):
    Path("gpt2").mkdir()
    for name, text in files.items():
        Path("gpt2", name).write_text(text)
    status, text, said = validate(capsys, "builtin:problems", *WORDS, "--gpt2", "gpt2")
    assert (status, text) == (2, "")
    assert says in said


def test_without_transformers_one_line_names_the_extra(capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "transformers":
            raise ModuleNotFoundError("No module named 'transformers'", name="transformers")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    status, _, said = validate(capsys, "builtin:problems", *WORDS)
    assert status == 2
    assert "GPT-2 needs the package transformers" in said
    assert "pip install 'hrmdoc[validate]'" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "which problems?"),
        (["builtin:problems", "--samples", "5", "--k", "10"], "pass@10 needs that many"),
        (["builtin:problems", "--k", "0"], "no list of whole numbers"),
        (["builtin:problems", "--temperature", "0"], "the same program 100 times"),
        (["builtin:problems", "--budget", "0"], "--budget must be a number above 0"),
        (["builtin:problems", "--compute", "nan"], "--compute must be a number above 0"),
        (["builtin:problems", "--finetune"], "--finetune needs weights"),
        (["builtin:problems", "--hrm", "nowhere"], "there is no such run or checkpoint"),
        (["builtin:problems", "--gpt2", "nowhere"], "there is no such folder"),
        (["builtin:problems", "--size", "big"], "'big' is not one of"),
        (["nowhere.jsonl"], "no such file or folder"),
        (["builtin:problems", "--nothing"], "no such option"),
    ],
)
def test_wrong_words_are_refused(capsys, words, says):
    status, text, said = validate(capsys, *words)
    assert (status, text) == (2, "")
    assert says in said


def test_the_keys_of_the_document_are_taken_from_a_file(capsys):
    Path("v.yaml").write_text(
        "seed: 43\ntorch_deterministic: true\nnumpy_seed: 44\ncuda_deterministic: true\n"
    )
    status, text, _ = validate(capsys, "builtin:problems", *WORDS, "--config", "v.yaml", "--limit", "1")
    assert status == 0
    found = json.loads(text)["determinism"]
    assert (found["seed"], found["numpy_seed"], found["torch_deterministic"]) == (43, 44, True)
    Path("v.yaml").write_text("sead: 43\n")
    status, _, said = validate(capsys, "builtin:problems", "--config", "v.yaml")
    assert status == 2
    assert "v.yaml:1: there is no option 'sead'" in said
    Path("v.yaml").write_text("seed: much\n")
    assert (
        "v.yaml:1: seed is 'much': Expected int"
        in validate(capsys, "builtin:problems", "--config", "v.yaml")[2]
    )


def test_the_gate_of_an_earlier_report_is_asked_without_running_anything(capsys):
    report = {"commit": "abc", "seed": 42, "hrm_pass@1": 0.031, "gpt2_pass@1": 0.024, "delta": 0.007}
    Path("r.json").write_text(json.dumps(report))
    assert validate(capsys, "--gate", "r.json")[0] == 0
    Path("r.json").write_text(json.dumps({**report, "hrm_pass@1": 0.02, "delta": -0.004}))
    status, text, _ = validate(capsys, "--gate", "r.json")
    assert status == 1
    assert "0.0040 lower" in json.loads(text)["why"]


@pytest.mark.parametrize("words", [["torn.jsonl"], ["builtin:problems", "--gpt2", "nowhere"]])
def test_wrong_input_leaves_no_folder_and_keeps_what_was_there(capsys, words):
    Path("torn.jsonl").write_text('{"task_id": 1')
    Path("mine").mkdir()
    Path("mine/notes").write_text("of a person")
    for out in ("new", "mine"):
        status, _, said = validate(capsys, *words, "--size", "tiny", "--out", out)
        assert status == 2
        assert "all is kept" not in said
    assert not Path("new").exists()
    assert Path("mine/notes").read_text() == "of a person"


def test_a_pipe_is_no_data_and_the_option_of_the_folder_is_named(capsys):
    os.mkfifo("pipe")
    status, _, said = validate(capsys, "pipe", "--out", "new")
    assert (status, "pipe: is neither a file nor a folder" in said) == (2, True)
    Path("a-file").write_text("")
    status, _, said = validate(capsys, "builtin:problems", "--out", "a-file/new")
    assert (status, "choose another --out" in said) == (2, True)
