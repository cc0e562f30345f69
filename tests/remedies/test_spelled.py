"""What a setting is now, and how the user's files spell it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hrmdoc.errors import PatchError, UnknownKeyError
from hrmdoc.remedies import files, store
from hrmdoc.remedies.places import Places
from hrmdoc.remedies.spelled import Spelled
from hrmdoc.rulebook import Change, ConfigKey, Framework
from tests.remedies.planning import LOWER, planned

FLASH = ConfigKey(("attn",), "bool", words={"flash_attention_2": True, "eager": False})
OWN = Framework(
    "own",
    "Own",
    config={
        "optimizer.lr": ConfigKey(("opt.lr", "lr")),
        "data.batch_size": ConfigKey(("batch",), "int", scale=10),
        "attention": FLASH,
        "precision": ConfigKey(("half_dtype",), "str"),
        "eval.early_stopping": ConfigKey(("stop",), "bool"),
    },
    defaults={"lr": 0.5, "batch": 3, "half_dtype": "float16", "schedule.warmup_steps": 7},
)
COMMON = Framework(
    "generic",
    "Any",
    config={
        "optimizer.lr": ConfigKey(("learning_rate",)),
        "optimizer.weight_decay": ConfigKey(("weight_decay",)),
        "optimizer.beta2": ConfigKey(("beta2",)),
    },
)


def spelled(folder: Path, text: str | None, facts: dict[str, Any] | None = None) -> tuple[Spelled, list[str]]:
    notes: list[str] = []
    sources = []
    if text is not None:
        (folder / "c.yaml").write_text(text)
        sources = [files.read(folder / "c.yaml")]
    return Spelled(facts or {}, OWN, COMMON, Places(sources), notes), notes


@pytest.mark.parametrize(
    ("text", "key", "keys"),
    [
        ("lr: 1\n", "optimizer.lr", ("opt.lr", "lr")),
        ("learning_rate: 1\n", "optimizer.lr", ("learning_rate",)),
        ("lr: 1\nlearning_rate: 1\n", "optimizer.lr", ("opt.lr", "lr")),
        ("model:\n  learning_rate: 1\n", "optimizer.lr", ("model.learning_rate",)),
        ("seed: 1\n", "optimizer.lr", ("opt.lr", "lr")),
        ("weight_decay: 1\n", "optimizer.weight_decay", ("weight_decay",)),
        ("seed: 1\n", "data.batch_size", ("batch",)),
    ],
)
def test_a_setting_is_spelled_in_own_words_then_in_common_ones_then_in_any_section(
    tmp_path: Path, text: str, key: str, keys: tuple[str, ...]
) -> None:
    assert spelled(tmp_path, text)[0].key(Change(key, "set", 1)).keys == keys


def test_a_setting_without_a_key_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    one, _ = spelled(tmp_path, "seed: 1\n")
    with pytest.raises(UnknownKeyError) as error:
        one.key(Change("optimizer.l", "set", 1))
    assert error.value.what == "Own has no key for optimizer.l"
    assert error.value.hint == "did you mean 'optimizer.lr'?"
    with pytest.raises(UnknownKeyError, match=r"Own has no key for optimizer\.weight_decay"):
        one.key(Change("optimizer.weight_decay", "set", 1))


@pytest.mark.parametrize(
    ("text", "facts", "key", "now"),
    [
        ("lr: 0.1\n", {"optimizer.lr": 0.1}, "optimizer.lr", (0.1, 0.1)),
        ("batch: 2\n", {}, "data.batch_size", (2, 20.0)),
        ("seed: 1\n", {"optimizer.lr": 0.2}, "optimizer.lr", (0.2, 0.2)),
        ("seed: 1\n", {"data.batch_size": 40}, "data.batch_size", (4, 40)),
        ("lr:\n", {"optimizer.lr": 0.2}, "optimizer.lr", (0.2, 0.2)),
        ("seed: 1\n", {}, "optimizer.lr", (0.5, 0.5)),
        ("seed: 1\n", {}, "data.batch_size", (3, 30.0)),
        ("seed: 1\n", {"eval.early_stopping": True}, "eval.early_stopping", (True, True)),
        ("seed: 1\n", {"eval.early_stopping": 5}, "eval.early_stopping", (None, 5)),
        (None, {}, "optimizer.lr", (None, None)),  # what a config that nobody read says is not known
        (None, {"optimizer.lr": 0.2}, "optimizer.lr", (0.2, 0.2)),
    ],
)
def test_a_value_is_that_of_the_file_else_of_the_run_else_the_default(
    tmp_path: Path, text: str | None, facts: dict[str, Any], key: str, now: tuple[Any, Any]
) -> None:
    one, notes = spelled(tmp_path, text, facts)
    assert one.now(key, OWN.config[key]) == now
    assert notes == []


def test_a_default_may_stand_under_the_canonical_key(tmp_path: Path) -> None:
    one, _ = spelled(tmp_path, "seed: 1\n")
    key = ConfigKey(("warm",), "int")
    assert one.now("schedule.warmup_steps", key) == (7, 7)
    assert one.now("run.epochs", key) == (None, None)


def test_a_run_that_did_not_take_the_value_of_its_file_is_noted(tmp_path: Path) -> None:
    one, notes = spelled(tmp_path, "lr: 0.1\nstop: 3\n", {"optimizer.lr": 0.2, "eval.early_stopping": False})
    assert one.now("optimizer.lr", OWN.config["optimizer.lr"]) == (0.1, 0.1)
    assert notes == [
        "the run used optimizer.lr = 0.2, c.yaml says lr = 0.1: an override on the command line wins"
    ]
    one.now("eval.early_stopping", ConfigKey(("stop",), "int"))
    assert len(notes) == 1, "a switch and a number of evaluations do not compare"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("attn: flash_attention_2\n", "str", True),
        ("attn: 'eager'\n", "str", True),
        ("attn: true\n", "bool", False),
        ("seed: 1\n", "str", True),
    ],
)
def test_a_word_stays_a_word_and_a_plain_switch_a_switch(
    tmp_path: Path, text: str, kind: str, words: bool
) -> None:
    found = spelled(tmp_path, text)[0].in_own_words(FLASH)
    assert (found.type, bool(found.words)) == (kind, words)
    plain = OWN.config["optimizer.lr"]
    assert spelled(tmp_path, text)[0].in_own_words(plain) == plain


def test_a_precision_is_spelled_as_the_file_or_the_default_spells_it(tmp_path: Path) -> None:
    key = OWN.config["precision"]
    assert spelled(tmp_path, "half_dtype: torch.bfloat16\n")[0].precision(key, "fp32") == "torch.float32"
    assert spelled(tmp_path, "half_dtype: bf16\n")[0].precision(key, "fp32") == "fp32"
    assert spelled(tmp_path, "seed: 1\n")[0].precision(key, "fp32") == "float32"


@pytest.mark.parametrize(
    ("text", "name"), [("opt:\n  lr: 1\n", "opt.lr"), ("batch: 1\n", "lr"), ("seed: 1\n", "opt.lr")]
)
def test_a_new_key_goes_where_most_keys_of_the_framework_are(tmp_path: Path, text: str, name: str) -> None:
    one, _ = spelled(tmp_path, text)
    place = Places([files.read(tmp_path / "c.yaml")]).all[0]
    assert one.spelling(place, OWN.config["optimizer.lr"]) == name


def test_what_was_undone_is_handed_back_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    patch = planned(tmp_path, "lr: 1e-4\n", LOWER)
    (written,) = store.write(patch)
    assert (written.remedy, written.file, written.undone) == ("r", str(tmp_path / "c.yaml"), False)
    assert store.history(tmp_path / "c.yaml") == (written,)
    assert store.undone(tmp_path / "c.yaml") == ()
    assert store.undo(tmp_path / "c.yaml") == written
    assert store.history(tmp_path / "c.yaml") == ()
    (back,) = store.undone(tmp_path / "c.yaml")
    assert (back.id, back.undone) == (written.id, True)
    with pytest.raises(PatchError, match="no patch is left to take back: r was taken back already"):
        store.undo(tmp_path / "c.yaml")
    with pytest.raises(PatchError) as error:
        store.undo(tmp_path / "other.yaml")
    assert error.value.what == "no patch of this file is known"
    assert error.value.hint == "only what hrmdoc wrote can be undone"
