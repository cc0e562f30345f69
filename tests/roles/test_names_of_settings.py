"""The names that readers are handed."""

from __future__ import annotations

from hrmdoc import rulebook
from hrmdoc.roles.spelled import names_of_settings


def test_names_of_one_word_are_handed_on_but_for_those_that_are_logged() -> None:
    names = names_of_settings(rulebook.load())
    assert {"hidden_size", "nb_epochs", "samples_per_gpu", "gradient_accumulation_steps"} <= names
    assert names.isdisjoint({"lr", "learning_rate", "loss_scale", "training.lr", "r"})
