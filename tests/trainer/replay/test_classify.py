"""The text classifier of the zero-loss case: its data, its model, its run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from hrmdoc.trainer.replay import texts  # noqa: E402
from hrmdoc.trainer.replay.classify import EarlyStopping, Settings, main  # noqa: E402
from hrmdoc.trainer.replay.network import Classifier, Experts  # noqa: E402

SMALL = "d_model: 16\nn_layers: 1\nn_heads: 2\nff_dim: 32\nbatch_size: 4\ntrain_limit: 64\n"


def model(*, experts: bool) -> Classifier:
    one = Settings()
    sizes = {name: getattr(one, name) for name in ("d_model", "n_layers", "n_heads", "ff_dim", "dropout")}
    return Classifier(len(texts.vocabulary()) + 1, 4, texts.LENGTH, experts=experts, **sizes)


@pytest.mark.parametrize("experts", [False, True])
def test_both_models_have_the_2_8_million_parameters_of_the_case(*, experts: bool) -> None:
    count = sum(parameter.numel() for parameter in model(experts=experts).parameters())
    assert round(count / 1e6, 1) == 2.8


def test_every_word_goes_to_one_expert_and_an_even_use_costs_one() -> None:
    torch.manual_seed(0)
    layer = Experts(8, 16, 0.0).eval()
    words = torch.randn(2, 5, 8)
    gates = layer.router(words).softmax(-1)
    weight, chosen = gates.max(-1)
    expected = layer.experts[int(chosen[0, 0])](words[0, 0]) * weight[0, 0]
    assert torch.allclose(layer(words)[0, 0], expected, atol=1e-6)
    with torch.no_grad():
        layer.router.weight.zero_()
        layer.router.bias.zero_()
    layer(words)
    assert layer.imbalance.item() == pytest.approx(1.0)


def test_padding_does_not_change_the_answer() -> None:
    torch.manual_seed(0)
    network = model(experts=False).eval()
    short = texts.encode(["minister treaty"], texts.vocabulary())
    changed = network.words.weight[0].detach().clone()
    before = network(short)
    with torch.no_grad():
        network.words.weight[0] += 5
    assert torch.allclose(network(short), before, atol=1e-5)
    assert changed.abs().sum() == 0


def test_texts_of_others_use_words_that_no_training_text_has() -> None:
    own = {word for text in texts.make(500, 0).texts for word in text.split()}
    others = {word for text in texts.make(500, 1, unseen=True).texts for word in text.split()}
    assert {"strike", "genes"} <= others - own
    assert len(texts.make(3, 0).texts[0].split()) <= texts.LENGTH


def test_augmentation_keeps_the_topic_and_words_with_synonyms_are_not_always_replaced() -> None:
    pytest.importorskip("nlpaug")
    from hrmdoc.trainer.replay.augment import augmenter

    items = texts.make(100, 0)
    made = augmenter(texts.synonyms(), 0)(list(items.texts))
    assert len(made) == len(items.texts)
    assert made == augmenter(texts.synonyms(), 0)(list(items.texts))
    meaning = {word: group[0] for group in texts.synonyms() for word in group}
    for before, after in zip(items.texts, made, strict=True):
        assert {meaning[word] for word in after.split() if word in meaning} <= {
            meaning[word] for word in before.split() if word in meaning
        }
    usual = [word for text in made for word in text.split() if meaning.get(word) == word]
    others = [word for text in made for word in text.split() if meaning.get(word, word) != word]
    assert len(usual) > 50
    assert len(others) > 50


def test_training_stops_after_five_evaluations_without_improvement() -> None:
    enough = EarlyStopping(5)
    assert not any(enough(loss) for loss in (1.0, 0.5, 0.4995, 0.4995, 0.4995, 0.4995))
    assert enough(0.4995)
    assert not any(EarlyStopping(0)(1.0) for _ in range(9))


def test_a_run_leaves_a_run_directory_and_stops_when_told_to(tmp_path: Path) -> None:
    config, run = tmp_path / "c.yaml", tmp_path / "run"
    config.write_text(
        SMALL + "steps: 50\neval_every: 5\nexperts: true\nload_balance: 0.01\nwarmup_steps: 3\n"
    )
    (run / "control").mkdir(parents=True)
    (run / "control" / "1.json").write_text('{"id": "a", "action": "rollback"}')
    assert main([str(config), f"run_dir={run}"]) == 0
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [one["status"] for one in events if one["event"] == "action"] == ["refused"]
    assert max(one["step"] for one in events) == 50
    stopped = tmp_path / "stopped"
    (stopped / "control").mkdir(parents=True)
    (stopped / "control" / "1.json").write_text('{"id": "a", "action": "stop"}')
    assert main([str(config), f"run_dir={stopped}"]) == 0
    events = [json.loads(line) for line in (stopped / "events.jsonl").read_text().splitlines()]
    assert max(one["step"] for one in events) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("d_modell: 3\n", "no setting 'd_modell'"),
        ("steps: many\n", "steps"),
        ("batch_size: 0\n", "batch_size"),
        ("precision: fp12\n", "fp12"),
    ],
)
def test_a_wrong_config_is_an_error_that_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(text)
    assert main([str(config), f"run_dir={tmp_path / 'run'}"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "c.yaml" in err
    assert main([]) == 2


def test_a_training_that_raises_leaves_its_traceback_and_ends_as_crashed(tmp_path: Path) -> None:
    config, run = tmp_path / "c.yaml", tmp_path / "run"
    config.write_text(SMALL + "attn_implementation: flash_attention_2\n")
    assert main([str(config), f"run_dir={run}"]) == 1
    facts = json.loads((run / "run.json").read_text())
    assert facts["state"] == "crashed"
    assert facts["config_source"] == str(config)
    assert "No module named 'flash_attn'" in (run / "train.log").read_text()
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [one["event"] for one in events] == ["exception", "ended"]
