"""What is a config, and what is something else that was named for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.errors import InputError
from hrmdoc.remedies.own_config import config_facts


@pytest.mark.parametrize(
    ("name", "said"), [("train.log", "is a log, not a config"), ("data.csv", "is data, not a config")]
)
def test_logs_and_tables_are_refused_by_what_they_are(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("step,loss\n1,2\n")
    with pytest.raises(InputError, match=said):
        list(config_facts(tmp_path / name))


def test_a_config_that_cannot_be_read_is_refused_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: 1\nb: [\n")
    with pytest.raises(InputError) as refused:
        list(config_facts(tmp_path / "bad.yaml"))
    assert refused.value.file == str(tmp_path / "bad.yaml")
    assert refused.value.line == 3


def test_values_have_the_type_that_their_text_says_and_words_stay_words(tmp_path: Path) -> None:
    text = "int: 3\nfloat: 1e-4\nyes: true\nyaml_no: no\nshort: y\nname: adamw\nempty: {}\nnone: []\n"
    (tmp_path / "config.yaml").write_text(text)
    found = {fact.key: fact.value for fact in config_facts(tmp_path / "config.yaml")}
    assert found == {
        "int": 3,
        "float": 1e-4,
        "yes": True,
        "yaml_no": False,
        "short": "y",
        "name": "adamw",
        "empty": "{}",
        "none": "[]",
        "config.read": True,
    }
