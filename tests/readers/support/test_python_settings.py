"""hrmdoc.readers.support.python_settings: values in Python source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.errors import InputError
from hrmdoc.readers.support import python_settings


def values(text: str) -> dict[str, object]:
    return {
        ".".join(map(str, route)): one.value
        for route, one in python_settings.read(text, "a.py").values.items()
    }


def test_a_config_gives_every_value_and_the_last_one_of_a_name() -> None:
    text = "lr = 1e-3\nmodel = dict(depth=2, heads=[4, 8])\nbatch = 5 * 8\nlr = 1e-4\nwarm = -batch\n"
    assert python_settings.read(text, "a.py").config
    assert values(text) == {
        "model.depth": 2,
        "model.heads.0": 4,
        "model.heads.1": 8,
        "batch": 40,
        "lr": 1e-4,
        "warm": -40,
    }


def test_offsets_point_at_the_text_of_a_value_also_behind_other_scripts_and_line_ends() -> None:
    text = "\ufefftitle = 'Größe'; lr = 1e-3\r\nwd = -0.1  # é\r\n"
    found = python_settings.read(text, "a.py").values
    assert [text[found[name,].start : found[name,].end] for name in ("title", "lr", "wd")] == [
        "'Größe'",
        "1e-3",
        "-0.1",
    ]


def test_a_program_tells_options_arguments_optimizers_and_fields() -> None:
    text = """
import argparse
LR = 3e-4
class Config:
    dropout: float = 0.1
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--resume")
args = TrainingArguments(learning_rate=LR, fp16=True, output_dir=path)
config.seed = 7
opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
"""
    assert not python_settings.read(text, "a.py").config
    assert values(text) == {
        "LR": 3e-4, "dropout": 0.1, "batch_size": 64, "learning_rate": 3e-4, "fp16": True, "seed": 7,
        "optimizer": "SGD", "lr": 0.1, "momentum": 0.9,
    }  # fmt: skip


def test_what_keras_is_told_where_it_fits_is_a_setting() -> None:
    text = 'm.compile(optimizer="adam", loss="mse")\nm.fit(x, y, epochs=20, batch_size=32, verbose=0)\n'
    assert values(text) == {"optimizer": "adam", "epochs": 20, "batch_size": 32}
    assert values("re.compile(p, flags=2)\nmodel.fit(x, y, sample_weight=3)\n") == {}


def test_what_a_program_sets_to_different_values_is_left_out() -> None:
    text = (
        "train = DataLoader(a, batch_size=32, shuffle=True)\nval = DataLoader(b, batch_size=32, "
        "shuffle=False)\n"
    )
    assert values(text) == {"batch_size": 32}


def test_nothing_is_run_and_nothing_large_is_computed() -> None:
    text = (
        "open('x', 'w')\na = __import__('os').getcwd()\nb = 9**9**9**9\nc = 1 / 0\nd = 'x' * 10**9\ne = "
        "2**-1\n"
    )
    assert values(text) == {"e": 0.5}


@pytest.mark.parametrize("text", ["x = (", "a = 1\nb = = 2", "x = \0"])
def test_no_python_is_told_with_its_place(text: str) -> None:
    with pytest.raises(InputError, match="is no valid Python"):
        python_settings.read(text, "a.py")


def test_deep_nesting_and_length_are_refused_or_cut() -> None:
    with pytest.raises(InputError):
        python_settings.read("x = " + "(" * 5000 + ")" * 5000, "a.py")
    with pytest.raises(InputError, match="too long"):
        python_settings.read("#" * (python_settings.BIGGEST + 1), "a.py")
    assert values("x = " + "-" * 300 + "1") in ({"x": 1}, {"x": -1})


@given(st.text(alphabet="abx=()[]{}',.:\n 0123456789-*+", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = python_settings.read(text, "a.py")
    except InputError:
        return
    for one in found.values.values():
        assert one.start == -1 or text[one.start : one.end].strip()
