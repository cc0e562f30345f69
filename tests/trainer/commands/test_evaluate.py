from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hrmdoc.trainer.data import bpe
from hrmdoc.trainer.data.bpe import END, Encoding, _alphabet
from hrmdoc.trainer.data.text import build_text
from hrmdoc.trainer.evaluation import judging
from hrmdoc.trainer.main import main

TEXT = [
    *(
        "arch.causal=true",
        "arch.puzzle_emb_ndim=0",
        "arch.loss.loss_type=softmax_cross_entropy",
        "arch.halt_max_steps=1",
    ),
    *(
        "arch.H_layers=1",
        "arch.L_layers=1",
        "arch.H_cycles=1",
        "arch.L_cycles=1",
        "arch.hidden_size=8",
        "arch.num_heads=1",
    ),
    *("arch.expansion=1", "global_batch_size=2", "epochs=1", "max_steps=1", "threads=1"),
]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset of four tasks, in letters instead of GPT-2's pieces, of which two are for the test."""
    pairs = ("".join(pair) for pair in itertools.product(_alphabet(), repeat=2))
    words = Encoding(
        {piece: index for index, piece in enumerate([*_alphabet(), *itertools.islice(pairs, END - 256)])}, []
    )
    bpe.gpt2.cache_clear()
    monkeypatch.setattr(bpe, "gpt2", lambda: words)
    rows = [
        {
            "text": f"Add {n}.",
            "code": f"def f(x): return x + {n}",
            "task_id": n,
            "test_list": [f"assert f(1) == {n + 1}"],
        }
        for n in range(4)
    ]
    file = tmp_path / "p.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return build_text(file, tmp_path / "text", seq_len=80, test_every=2, encoding=words)


@pytest.fixture
def written(tmp_path: Path, text: Path) -> Path:
    """Programs for the two problems of the test: right, wrong, and leaving early."""
    file = tmp_path / "c.jsonl"
    programs = {
        1: ["def f(x): return x + 1", "import sys; sys.exit(0)"],
        3: ["def f(x): return 0", "while x"],
    }
    rows = [{"task_id": task, "completion": code} for task, codes in programs.items() for code in codes]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_a_model_of_text_writes_programs_and_is_reported_how_many_pass(
    text: Path, tmp_path: Path, capsys: Any
) -> None:
    run, saved = tmp_path / "run", tmp_path / "c.jsonl"
    assert main(["train", *TEXT, f"data_path={text}", f"run_dir={run}"]) == 0
    capsys.readouterr()
    words = [
        "evaluate",
        str(run),
        "evaluate.samples=2",
        "evaluate.max_tokens=4",
        f"--save-completions={saved}",
    ]
    assert main([*words, "--execute-code"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["all"]["unigram_loss"] < found["all"]["lm_loss"]  # one step teaches nothing
    code = found["code"]
    assert (code["problems"], code["programs"]) == (2, 4)
    assert code["pass@1"]["estimate"] == 0.0
    assert code["pass@1"]["high"] > 0.5
    assert "pass@10" not in code
    assert code["solutions"]["estimate"] == 1.0
    assert sum(code["ended"].values()) == 4
    rows = [json.loads(line) for line in saved.read_text().splitlines()]
    assert [row["task_id"] for row in rows] == [1, 1, 3, 3]
    assert all(row["status"] in ("failed", "error", "died") for row in rows)


def test_nothing_is_run_unless_the_command_line_says_so(
    text: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, saved = tmp_path / "run", tmp_path / "c.jsonl"
    assert main(["train", *TEXT, f"data_path={text}", f"run_dir={run}", "evaluate.execute_code=true"]) == 0
    monkeypatch.setattr(judging, "run", lambda *_: pytest.fail("a program was run"))
    capsys.readouterr()
    assert main(["evaluate", str(run), "evaluate.max_tokens=4", f"--save-completions={saved}"]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == {"programs": 2}
    assert "status" not in saved.read_text()
    assert main(["evaluate", str(run)]) == 0
    assert "code" not in json.loads(capsys.readouterr().out)


def test_programs_of_another_model_are_judged_the_same_way(
    text: Path, written: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "judged.jsonl"
    words = [
        "evaluate",
        "--completions",
        str(written),
        f"data_path={text}",
        "evaluate.k=1,2",
        "--save-completions",
        str(out),
    ]
    assert main([*words, "--execute-code"]) == 0
    code = json.loads(capsys.readouterr().out)["code"]
    assert code["pass@1"]["estimate"] == pytest.approx(0.25)
    assert code["pass@2"]["estimate"] == pytest.approx(0.5)
    assert code["ended"] == {"error": 2, "passed": 1, "failed": 1}
    assert code["errors"] == {"SystemExit": 1, "SyntaxError": 1}
    assert [json.loads(line)["status"] for line in out.read_text().splitlines()] == [
        "passed",
        "error",
        "failed",
        "error",
    ]


def test_two_models_are_compared_on_the_same_problems(
    text: Path, written: Path, tmp_path: Path, capsys: Any
) -> None:
    run = tmp_path / "run"
    assert main(["train", *TEXT, f"data_path={text}", f"run_dir={run}"]) == 0
    words = ["evaluate", str(run), "--completions", str(written), "evaluate.max_tokens=4"]
    capsys.readouterr()
    assert main(words) == 2
    assert "add --execute-code" in capsys.readouterr().err
    assert main([*words, "--execute-code"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["code"]["pass@1"]["estimate"] == 0.0
    assert found["other"]["pass@1"]["estimate"] == pytest.approx(0.25)
    gap = found["difference"]["pass@1"]
    assert gap["estimate"] == pytest.approx(-0.25)
    assert gap["low"] < -0.25 < gap["high"]
    assert (found["step"], found["seed"]) == (1, 0)
    written.write_text('{"task_id": 1, "completion": "no"}\n{"task_id": 3, "completion": "no"}')
    assert main([*words, "--execute-code"]) == 0


def test_problems_without_a_completion_are_left_out_and_told(text: Path, written: Path, capsys: Any) -> None:
    written.write_text(written.read_text().splitlines()[0])
    assert main(["evaluate", "--completions", str(written), f"data_path={text}", "--execute-code"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["code"]["problems"] == 1
    assert "1 of 2 problems have no completion" in printed.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["--execute-code", "evaluate.k=3"],
            "pass@3 needs that many programs; the fewest of a problem are 2",
        ),
        ([], "add --execute-code"),
        (["--execute-code", "evaluate.k=a"], "evaluate.k"),
        (["--execute-code", "nowhere"], "there is no such run or checkpoint"),
        (["--execute-code", "data_hash=0123"], "the dataset has changed"),
        (["--execute-cod"], "did you mean '--execute-code'?"),
    ],
)
def test_a_mistake_is_told(words: list[str], expected: str, text: Path, written: Path, capsys: Any) -> None:
    assert main(["evaluate", "--completions", str(written), f"data_path={text}", *words]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", ":1: is no JSON"),
        ('{"task_id": 1}', "is no object with"),
        ('\n{"task_id": 99, "completion": ""}', ":2: task_id 99 is no problem"),
        ("", "holds no completions"),
    ],
)
def test_completions_that_cannot_be_are_named(
    content: str, expected: str, text: Path, written: Path, capsys: Any
) -> None:
    written.write_text(content)
    assert main(["evaluate", "--completions", str(written), f"data_path={text}", "--execute-code"]) == 2
    assert expected in capsys.readouterr().err


def test_the_help_says_what_the_sandbox_does_not_protect_from(capsys: Any) -> None:
    assert main(["evaluate", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "NO GENERATED CODE IS RUN" in printed
    assert "does not protect from" in printed


@pytest.fixture
def trained(lab: Any, capsys: Any) -> Path:
    assert main(["train", *lab.words("max_steps=2")]) == 0
    capsys.readouterr()
    run: Path = lab.folder / "run"
    return run


def test_an_evaluation_draws_its_boards_and_says_what_lies_behind_the_means(
    trained: Path, lab: Any, capsys: Any
) -> None:
    drawn, saved = lab.folder / "b.svg", lab.folder / "p.npz"
    assert (
        main(["evaluate", str(trained), "--draw", str(drawn), f"--predictions={saved}", "--show", "2"]) == 0
    )
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (
        sum(row["count"] for row in found["breakdown"]["all"]["by_difficulty"]) == found["all"]["count"] == 6
    )
    assert drawn.read_text().startswith("<svg")
    assert len(np.load(saved)["all__predictions"]) == 6
    assert "puzzles wholly right" in printed.err
    assert printed.err.count("----+----    ------+------") == 2  # two boards, each beside its prediction


def test_a_run_is_scored_by_its_best_checkpoint_with_the_number_of_act_steps(lab: Any, capsys: Any) -> None:
    assert main(["train", *lab.words("max_steps=8", "checkpoint_interval=2", "checkpoint_keep=1")]) == 0
    run = lab.folder / "run"
    newest, older = run / "checkpoints" / "step_8", run / "checkpoints" / "step_2"
    shutil.copytree(newest, older)
    meta = json.loads((older / "meta.json").read_text())
    better = {"step": 2, "evaluated": {"exact_accuracy": 1.0, "lm_loss": 0.1}}
    (older / "meta.json").write_text(json.dumps(meta | better))
    capsys.readouterr()
    assert main(["evaluate", str(run)]) == 0
    chosen = "the best of 2 kept checkpoints (exact_accuracy 1.0000, lm_loss 0.1000) | ACT steps: 4"
    assert chosen in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--draw", "picture.png"], "--draw needs a .svg file"),
        (["--draw"], "--draw needs a .svg file"),
        (["--predictions=/nowhere/p.npz"], "in an existing folder"),
        (["--show", "x"], "number of boards"),
        (["--sho", "1"], "did you mean '--show'?"),
        (["other"], "evaluate takes one checkpoint"),
        (["--execute-code"], "it is not causal"),
        (["arch.hidden_size=32"], "does not fit its configuration or the dataset: size mismatch"),
        (["data_path=nowhere"], "there is no such dataset folder"),
        (["evaluate.samples=0"], "evaluate.samples"),
    ],
)
def test_a_mistake_ends_in_one_message(words: list[str], expected: str, trained: Path, capsys: Any) -> None:
    assert main(["evaluate", str(trained), *words]) == 2
    printed = capsys.readouterr()
    assert expected in printed.err
    assert printed.out == ""


def test_a_dataset_of_another_kind_or_a_damaged_one_is_told(
    trained: Path, text: Path, lab: Any, capsys: Any
) -> None:
    assert main(["evaluate", str(trained), f"data_path={text}"]) == 2
    assert "does not fit its configuration or the dataset" in capsys.readouterr().err
    (lab.data / "test" / "all__labels.npy").write_bytes(b"\x93NUMPY")
    assert main(["evaluate", str(trained)]) == 2
    assert "all__labels.npy: is no readable .npy file" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_told(trained: Path, capsys: Any) -> None:
    file = trained / "checkpoints" / "step_2" / "state.pt"
    file.write_bytes(file.read_bytes()[:1000])
    assert main(["evaluate", str(trained / "checkpoints" / "step_2")]) == 2
    assert "step_2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more", [[], ["arch.single_net=true", "arch.full_backprop=true", "arch.no_act_continue=true", "ema=true"]]
)
def test_a_checkpoint_goes_to_the_reference_and_comes_back(more: list[str], lab: Any, capsys: Any) -> None:
    assert main(["train", *lab.words("max_steps=3", *more)]) == 0
    capsys.readouterr()
    away = lab.folder / "away"
    assert main(["evaluate", str(lab.folder / "run"), "--export", str(away)]) == 0
    ours = json.loads(capsys.readouterr().out)
    assert sorted(file.name for file in away.iterdir()) == ["all_config.yaml", "step_3"]
    assert all(
        key.startswith("_orig_mod.model.inner.") for key in torch.load(away / "step_3", weights_only=True)
    )
    assert main(["evaluate", str(away / "step_3")]) == 0
    assert json.loads(capsys.readouterr().out)["all"] == pytest.approx(ours["all"], rel=1e-5)


def test_a_checkpoint_file_without_its_configuration_or_with_other_sizes_is_told(
    trained: Path, lab: Any, capsys: Any
) -> None:
    away = lab.folder / "away"
    assert main(["evaluate", str(trained), f"--export={away}"]) == 0
    assert main(["evaluate", str(away / "step_2"), "arch.L_layers=2"]) == 2
    assert "does not fit this architecture: it lacks L_level.layers.1" in capsys.readouterr().err
    (away / "all_config.yaml").unlink()
    assert main(["evaluate", str(away / "step_2")]) == 2
    assert "there is no all_config.yaml beside the checkpoint" in capsys.readouterr().err
