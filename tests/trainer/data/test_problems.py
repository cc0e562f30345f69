import json

import pytest

from hrmdoc.errors import InputError
from hrmdoc.trainer.data.problems import Problem, load_problems, prompt_of, read_problems, write_problems


def test_both_editions_of_mbpp_are_read(tmp_path):
    lines, whole = tmp_path / "a.jsonl", tmp_path / "b.json"
    lines.write_text(
        json.dumps(
            {
                "text": "Add.",
                "code": "a\r\nb",
                "task_id": 7,
                "test_setup_code": "x = 1\r\n",
                "test_list": ["assert 1 "],
            }
        )
    )
    whole.write_text(
        json.dumps([{"prompt": "Add.", "code": "c", "test_imports": ["import math"], "test_list": []}])
    )
    assert read_problems(lines) == [
        Problem(7, prompt_of("Add.", ["assert 1"]), "a\nb", "x = 1\n", ("assert 1",))
    ]
    assert read_problems(whole) == [Problem(1, prompt_of("Add.", []), "c", "import math", ())]


def test_a_line_break_within_a_text_ends_no_line(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a\u2028b", "code": "c"}\n\n', encoding="utf-8")
    assert read_problems(file)[0].prompt == '"""a\u2028b\n\n"""\n'


def test_problems_are_kept_beside_the_rows(tmp_path):
    problems = [Problem(1, "a", "b", "", ("c", "d")), Problem("x", "é", "", "s", ())]
    write_problems(tmp_path, problems)
    assert load_problems(tmp_path) == problems


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]x", "[1]", '[{"task_id": 1}]', '[{"task_id":1,"prompt":2,"code":"","setup":"","tests":[]}]'],
)
def test_damaged_problems_are_an_input_error(content, tmp_path):
    (tmp_path / "problems.json").write_text(content)
    with pytest.raises(InputError, match="damaged"):
        load_problems(tmp_path)


def test_a_dataset_without_problems_says_how_to_get_one(tmp_path):
    with pytest.raises(InputError, match="hrmdoc dataset text"):
        load_problems(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no problems"),
        (b"\xff\xfe", "cannot be read"),
        (b"[1]", "entry 1 is no problem"),
        (b"[{", "no JSON"),
        (b'{"text": "a", "code": "b", "test_list": "assert"}', "is no problem"),
        (b'{"text": "a", "code": "b", "test_list": [1]}', "is no problem"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_problem_is_named(content, words, tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_problems(file)
