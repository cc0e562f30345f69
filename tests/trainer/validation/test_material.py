import hashlib
import json

import pytest

from hrmdoc.errors import ConfigError, InputError
from hrmdoc.trainer.data.own_problems import own_problems
from hrmdoc.trainer.sandbox import run
from hrmdoc.trainer.validation.material import prepare, tokenizer_facts


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "mbpp" / "train.jsonl"
    file.parent.mkdir()
    file.write_text(own_problems())
    return file


def sum_of(file, kind="md5"):
    return hashlib.new(kind, file.read_bytes()).hexdigest()


def test_our_own_problems_are_solved_by_their_solutions_and_no_other():
    rows = [json.loads(line) for line in own_problems().splitlines()]
    assert len({row["task_id"] for row in rows}) == len(rows) == 60
    for row in rows[::13]:
        assert run(row["code"], "", row["test_list"]).status == "passed"
        assert run(rows[1]["code"], "", row["test_list"]).status != "passed"


def test_the_dataset_comes_with_its_hashes(data, tmp_path):
    found = prepare(str(data), tmp_path / "built", 3, None)
    assert found.facts["md5"] == sum_of(data)
    assert found.facts["sha256"] == sum_of(data, "sha256")
    assert (found.facts["train_problems"], found.facts["test_problems"]) == (48, 12)
    assert found.facts["verified"] is None
    assert len(found.problems) == 3


def test_mbpps_task_ids_get_its_authors_split(data, tmp_path):
    rows = [json.loads(line) for line in own_problems().splitlines()]
    for row in rows[:40]:
        row["task_id"] += 600
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = prepare(str(data), tmp_path / "built", None, None)
    assert (found.facts["train_problems"], found.facts["test_problems"]) == (40, 20)


def test_a_hash_beside_the_data_is_verified_as_md5sum_wrote_it(data, tmp_path):
    place = tmp_path / ".mbpp.md5"
    place.write_text(f"{sum_of(data)}  data/mbpp/train.jsonl\n")
    assert prepare(str(data), tmp_path / "built", None, None).facts["verified"] == ".mbpp.md5"
    data.write_text(own_problems() + "\n")
    with pytest.raises(InputError, match=r"the data have changed: their md5 is .* as .*\.mbpp\.md5 says"):
        prepare(str(data), tmp_path / "built", None, None)


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_a_hash_that_is_given_is_verified(data, tmp_path, kind):
    right = sum_of(data, kind)
    assert prepare(str(data), tmp_path / "built", None, right.upper()).facts["verified"] == "given"
    with pytest.raises(InputError, match="have changed"):
        prepare(str(data), tmp_path / "built", None, "0" * len(right))
    with pytest.raises(ConfigError, match="neither"):
        prepare(str(data), tmp_path / "built", None, "12ab")


def test_a_file_of_hashes_that_does_not_name_the_data_is_no_proof(data, tmp_path):
    file = tmp_path / "sums"
    file.write_text(f"{sum_of(data)}  other.jsonl\n")
    with pytest.raises(InputError, match=r"holds no md5 or sha256 of train\.jsonl"):
        prepare(str(data), tmp_path / "built", None, str(file))


def test_data_that_are_not_there_or_of_another_kind_are_refused(tmp_path, data):
    with pytest.raises(InputError, match="no such file"):
        prepare(str(tmp_path / "none.jsonl"), tmp_path / "built", None, None)
    with pytest.raises(ConfigError, match="no built-in problems"):
        prepare("builtin:problem", tmp_path / "built", None, None)
    data.write_text('{"task_id": 1}\n')
    with pytest.raises(InputError, match=r"train\.jsonl:1"):
        prepare(str(data), tmp_path / "built", None, None)


def test_another_vocabulary_beside_gpt2s_weights_is_refused(tmp_path):
    assert tokenizer_facts(tmp_path)["tokens"] == 50257
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    with pytest.raises(InputError, match=r"merges\.txt: is another vocabulary"):
        tokenizer_facts(tmp_path)
    (tmp_path / "vocab.json").write_text("{")
    with pytest.raises(InputError, match=r"vocab\.json: cannot be read"):
        tokenizer_facts(tmp_path)
