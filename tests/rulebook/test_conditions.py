"""Whatever file an expression stands in, what it calls is checked, and a mistake is named with its line."""

from __future__ import annotations

import pytest

from hrmdoc import rulebook
from hrmdoc.errors import RuleError
from hrmdoc.paths import data_dir

CHANGED = [
    (
        "symptoms/lr-zero-in-config.yaml",
        "id: {id}\ntitle: A\nplaybook: loss\nwhen: {{check: lst(train.loss) > 1}}\n",
        4,
        "there is no function 'lst' here; did you mean 'last'?",
    ),
    (
        "symptoms/lr-zero-in-config.yaml",
        "id: {id}\ntitle: A\nplaybook: loss\nwhen:\n  all:\n  - check: last(train.loss, 3) > 1\n",
        6,
        "last() does not take 2 arguments; see `hrmdoc explain last`",
    ),
    (
        "symptoms/lr-zero-in-config.yaml",
        "id: {id}\ntitle: A\nplaybook: loss\nwhen:\n  detector: level\n  role: lr\n  enter: =last(lr)\n",
        7,
        "there is no function 'last' here; known here: known",
    ),
    (
        "causes/learning-rate-too-high.yaml",
        "id: {id}\ntitle: A\nprior: 0.1\nproduces: {{}}\nplaybook: loss\n"
        "given:\n- {{check: seen('a'), odds: 2, text: a}}\n- {{check: last(lr) > 1, odds: 2, text: b}}\n",
        8,
        "there is no function 'last' here; known here: began, episodes, known, peak, present, seen",
    ),
    (
        "remedies/halve-batch.yaml",
        "id: {id}\ntitle: A\nkind: patch\nrisk: safe\nwhy: b\nverify: {{}}\n"
        "changes:\n- {{key: lr, op: set, value: =knwn(lr)}}\n",
        8,
        "there is no function 'knwn' here; did you mean 'known'?",
    ),
    (
        "typical/learning-rate.yaml",
        "id: {id}\ntables:\n- title: a\n  rows:\n"
        "  - {{sets: {{a: 1}}}}\n  - {{when: seen('a'), sets: {{a: 2}}}}\n",
        6,
        "there is no function 'seen' here; known here: known, named",
    ),
]


@pytest.mark.parametrize(
    ("file", "text", "line", "what"), CHANGED, ids=[f"{one[0]}:{one[2]}" for one in CHANGED]
)
def test_a_call_that_cannot_be_answered_where_it_stands_is_refused(
    file: str, text: str, line: int, what: str
) -> None:
    path = data_dir("rules") / file
    with pytest.raises(RuleError) as refused:
        rulebook.parse(path, text.format(id=path.stem).encode())
    assert (refused.value.file, refused.value.line, refused.value.what) == (str(path), line, what)
